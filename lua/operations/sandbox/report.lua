--- Results of programs: the value, or the error with its line and a hint.
local errors = require("operations.base.error")
local members = require("operations.base.members")
local suggestion = require("operations.base.suggestion")

local report = {}

local SIGKILL, SIGSEGV, SIGXCPU, SIGSYS = 9, 11, 24, 31

-- The messages of outcomes that have none of their own.
local messages = {}

function messages.memory(state)
  return ("the program needs more memory than the %d bytes that are allowed"):format(state.limits.max_memory)
end

function messages.processor(state)
  return ("the program computes for longer than the %d ms that are allowed"):format(state.limits.max_processor)
end

function messages.wall()
  return "the time of the program is over"
end

function messages.protocol(_, outcome)
  return "the program's process sent what no program sends: " .. outcome.message
end

function messages.killed(_, outcome)
  local signal = outcome.signal
  if signal == SIGSYS then
    return "the program was killed: it made a system call that is not allowed"
  elseif signal == SIGSEGV then
    return "the program was killed: it recursed too deeply, or broke its interpreter"
  elseif signal == SIGKILL then
    return "the program was killed: the system may have run out of memory"
  elseif signal then
    return ("the program was killed by signal %d"):format(signal)
  end
  return "the program's process ended early" .. (outcome.message and ": " .. outcome.message or "")
end

local codes = { wall = "TIMEOUT", syntax = "VALIDATION_ERROR", result = "VALIDATION_ERROR" }

-- What the program can do about it.

local MOST = 300 -- bytes of a call's error in a hint
local library = { "array", "json", "map", "null", "object", "print" }

local hints = {}

function hints.syntax(state)
  return "programs are " .. state.language .. (state.language == "LuaJIT 2.1"
    and ": Lua 5.1 with goto and bit; // and & and <close> of later versions do not exist" or "")
end

function hints.memory()
  return "keep less at once: take pages instead of whole lists, and set large tables that are done to nil"
end

function hints.processor(_, line)
  return line and "a loop may not end; calls take no processor time"
    or "one function of the language takes this long, such as string.find with a pattern that has many repetitions"
end

function hints.wall()
  return "make fewer calls, or more at once by map(list, fn)"
end

function hints.result()
  return "return numbers, strings, booleans, null and tables of these; a smaller table, or parts of it"
end

-- Functions of Lua's libraries that are missing.
local missing = members.set({ "dump", "execute", "exit", "getenv", "remove", "rename", "setlocale", "tmpname" })

-- The name of the nil value that a message is about, as Lua and LuaJIT write it.
local function name_in(message, kind)
  return message:match("nil value %(" .. kind .. " '([^']+)'%)") or message:match(kind .. " '([^']+)' %(a nil value%)")
end

function hints.raised(state, _, message)
  local failure, name = state.last_failure, name_in(message, "global")
  if missing[name_in(message, "field")] then
    return "of os there are time, clock, date and difftime; there are no files, processes and variables of the system"
  elseif name then
    local names = members.joined(state.names, library)
    return ("there is no %s here%s; there are %s, and the language without files, processes and modules"):format(name,
      suggestion.behind(name, names), table.concat(names, ", "))
  elseif failure and message:find("nil", 1, true) then
    return ("call %d (%s) had failed with %s; a failed call gives nil, err"):format(failure.id, failure.name,
      tostring(failure.error):sub(1, MOST))
  end
end

local function error_of(state, outcome)
  local kind, line = outcome.signal == SIGXCPU and "processor" or outcome.kind, outcome.line
  local message = messages[kind] and messages[kind](state, outcome) or outcome.message or "its library failed"
  local code, details = outcome.code, outcome.details
  if not code then
    code, details = codes[kind] or "EXECUTION_ERROR", { kind = kind, line = line }
  end
  local err = errors.new(code, message, details)
  err.line, err.hint = line, hints[kind] and hints[kind](state, line, message)
  return err
end

--- The result of a program that began.
---@param state table
---@param outcome table  of its last line, or of its end without one
---@return operations.SandboxResult
function report.result(state, outcome)
  local result = { ok = outcome.ok == true, output = table.concat(state.output), calls = state.calls,
    processor = outcome.used }
  if result.ok then
    result.value = outcome.value
  else
    result.error = error_of(state, outcome)
  end
  return result
end

--- The error where no program can run.
---@param why string
---@return operations.Error
function report.unavailable(why)
  local err = errors.new("UNAVAILABLE", "there is no sandbox: " .. why)
  err.retryable, err.mayHaveRun = false, false
  return err
end

return report
