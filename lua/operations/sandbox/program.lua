--- One running program: its process, the lines that it sends, and the calls that it makes. The process is not trusted:
--- each of its lines is checked as if a stranger had written it.
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local members = require("operations.base.members")
local report = require("operations.sandbox.report")
local task = require("operations.task")
local turn = require("operations.task.turn")
local utf8 = require("operations.base.utf8")

local program = {}

--- Bytes of a line beside its value.
program.LINE = 128 * 1024

local MAX_ARGUMENTS = 16
local MAX_ID = 200 -- bytes of a call's id in the report
local MOST_LINES = 2 ^ 31
local END = 128 -- bytes of a last line beside its result
local EXIT = 200 -- ms that a process has to end after its last line
local CUT = "(the output is cut here: %d bytes are allowed)\n"

---@class operations.SandboxProgram
---@field code string
---@field functions table<string, function>
---@field names string[]  of the functions
---@field language string
---@field limits table<string, integer>
---@field timeout number  ms

-- The state of a run: what the program printed and called so far.
local function new_state(child, of)
  return { child = child, functions = of.functions, names = of.names, language = of.language, limits = of.limits,
    calls = {}, tasks = {}, in_flight = 0, output = {}, printed = 0 }
end

-- The first lines of the host: sizes, configuration and program.
local function request(of)
  local most = of.limits
  local config = assert(json.encode({ names = of.names, calls = most.max_calls, at_once = most.at_once,
    value = most.max_value, output = most.max_output, result = most.max_result }))
  return ("%d %d %d %d %d\n%s%s"):format(most.max_memory, most.max_value + program.LINE, most.max_processor, #config,
    #of.code, config, of.code)
end

-- What a call answers, as a line; and the error that it is, which may be that it cannot be sent.

local function error_line(id, err)
  for _, details in ipairs({ { err.details }, {} }) do
    local text = json.encode({ reply = id, error = { code = err.code, message = err.message, details = details[1] } })
    if text and #text <= program.LINE then
      return text
    end
  end
  return ('{"reply":%d,"error":{"code":"UNKNOWN_ERROR","message":"an error that is no JSON"}}'):format(id)
end

local function reply(id, most, value, err)
  if value == nil and err ~= nil then
    return error_line(id, err), err
  end
  local text, flaw = json.encode({ reply = id, value = value })
  if text and #text > most then
    flaw = errors.new("EXECUTION_ERROR",
      ("its result has %d bytes as JSON, at most %d are allowed"):format(#text, most), { kind = "size" })
  end
  return flaw and error_line(id, flaw) or text, flaw
end

local function invoke(fn, arguments, count)
  local ok, value, err = pcall(fn, compat.unpack(arguments, 1, count))
  if not ok then
    return nil, (errors.from(value))
  elseif value == nil and err ~= nil then
    return nil, (errors.from(err))
  end
  return value
end

local function run_call(state, id, fn, arguments, count)
  local call, begun = state.calls[id], task.monotonic()
  local value, err = invoke(fn, arguments, count)
  if state.has_ended then
    return
  end
  local line, failed = reply(id, state.limits.max_value, value, err)
  call.duration, call.outcome = task.monotonic() - begun, failed and failed.code or "ok"
  state.last_failure = failed and { id = id, name = call.id or call.name, error = failed } or state.last_failure
  state.in_flight = state.in_flight - 1
  state.child:write(line .. "\n")
end

-- The lines of the program: each reader returns what is wrong with it, or nil and the outcome.
local readers = {}

local function is_count(value, most)
  return type(value) == "number" and value >= 0 and value <= most and value % 1 == 0
end

function readers.print(state, line)
  local text = line.print
  if type(text) ~= "string" or text == "" or #text + state.printed > state.limits.max_output then
    return "more output than it may print"
  end
  state.printed = state.printed + #text
  state.output[#state.output + 1] = text
end

function readers.cut(state)
  if state.is_cut then
    return "more output than it may print"
  end
  state.is_cut = true
  local last = state.output[#state.output] or ""
  state.output[#state.output + 1] = (last:sub(-1) == "\n" and "" or "\n") .. CUT:format(state.limits.max_output)
end

function readers.call(state, line)
  local fn, count, id = state.functions[line.name], line.n, #state.calls + 1
  if type(line.name) ~= "string" or not fn then
    return "a call of an unknown function"
  elseif line.call ~= id or id > state.limits.max_calls or state.in_flight >= state.limits.at_once then
    return "more calls than it may make"
  elseif not is_count(count, MAX_ARGUMENTS) or type(line.arguments) ~= "table" then
    return "a call with bad arguments"
  end
  local arguments = {}
  for i = 1, count do
    arguments[i] = line.arguments[tostring(i)]
  end
  local first = arguments[1]
  state.calls[id] = { name = line.name, id = type(first) == "string" and utf8.cut(first, MAX_ID) or nil,
    outcome = "unfinished", begun = task.monotonic() }
  state.in_flight = state.in_flight + 1
  state.tasks[id] = task.spawn(run_call, state, id, fn, arguments, count)
end

function readers.begun(state)
  if state.has_begun then
    return "a second beginning"
  end
  state.has_begun = true
end

-- The kinds of failure that a process may tell of itself, and the types of the other fields.
local own_kinds = members.set({ "syntax", "result", "raised", "memory", "processor" })
local field_types = { message = "string", line = "number", code = "string", used = "number" }

readers["end"] = function(state, line, size)
  local said = line["end"]
  if type(said) ~= "table" then
    return "an end that is no table"
  elseif size > (said.ok == true and state.limits.max_result + END or program.LINE) then
    return "a larger result than it may return"
  end
  local outcome = { said = true, ok = said.ok == true, value = said.value, details = said.details,
    kind = own_kinds[said.kind] and said.kind or "raised" }
  for name, kind in pairs(field_types) do
    outcome[name] = type(said[name]) == kind and said[name] or nil
  end
  outcome.line = is_count(outcome.line, MOST_LINES) and outcome.line or nil
  return nil, outcome
end

local function read(state, text)
  local line = json.decode(text)
  for kind, reader in pairs(type(line) == "table" and readers or {}) do
    if line[kind] ~= nil then
      return reader(state, line, #text)
    end
  end
  return "a line of another kind"
end

-- The end of a process that did not send it.
local function killed(child)
  local how, last = child:wait(), child:stderr()
  return { kind = "killed", signal = how.signal, message = last ~= "" and last or nil }
end

-- Reads lines until the program has ended.
local function follow(state)
  while true do
    local text, err = state.child:read_line()
    local flaw, outcome = err and err.message
    if text then
      flaw, outcome = read(state, text)
      local failure = turn.spend(state, math.max(#text, turn.PIECE))
      if failure then
        error(failure, 0)
      end
    elseif not err then
      outcome = killed(state.child)
    end
    if flaw then
      return { kind = "protocol", message = flaw }
    elseif outcome then
      return outcome
    end
  end
end

local function converse(state, of)
  state.child:write(request(of)) -- a process that does not read it has ended, which `follow` tells
  return follow(state)
end

-- `converse` within the time that there is.
local function outcome_of(state, of)
  local ok, outcome, err = pcall(task.within, of.timeout, converse, state, of)
  err = err or not ok and outcome or nil
  if errors.is_error(err) and err.code == "TIMEOUT" then
    return { kind = "wall" }
  elseif err ~= nil then
    error(err, 0)
  end
  return outcome
end

-- Ends the process, which ends by itself after its last line, and the calls.
local function clean_up(state, outcome)
  state.has_ended = true
  state.child:stop({ close = outcome and outcome.said and EXIT or 0, term = 0 })
  for id, each in pairs(state.tasks) do
    local call = state.calls[id]
    call.duration = call.duration or task.monotonic() - call.begun
    call.begun = nil
    each:cancel("the program has ended")
  end
end

--- Lets a started process run a program.
---@param child operations.Process
---@param of operations.SandboxProgram
---@return operations.SandboxResult?
---@return operations.Error? err  there is no sandbox here
function program.run(child, of)
  local state = new_state(child, of)
  local ok, outcome = pcall(outcome_of, state, of)
  clean_up(state, ok and outcome)
  if not ok then
    error(outcome, 0)
  elseif outcome.kind == "killed" and not state.has_begun then
    return nil, report.unavailable(outcome.message or "its process ended")
  end
  return report.result(state, outcome)
end

return program
