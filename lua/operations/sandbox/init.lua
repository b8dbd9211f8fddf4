--- Runs programs that a stranger wrote, as a language model does: each in a process of its own that can compute, call
--- the functions that it is given, and nothing else.
---
--- The process reads from one pipe and writes to another; the kernel ends it at any other system call (seccomp). It
--- cannot open a file, start a program, make a connection or send a signal. Where the system has no such filter, no
--- program runs.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local identity_key = require("operations.base.identity_key")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local process = require("operations.net.process")
local program = require("operations.sandbox.program")
local report = require("operations.sandbox.report")
local runtime = require("operations.base.runtime")
local system = require("operations.system")
local task = require("operations.task")

---@class operations.sandbox
local sandbox = {}

--- The language of programs: that of this program's Lua.
---@type "Lua 5.4"|"Lua 5.5"|"LuaJIT 2.1"
sandbox.language = rawget(_G, "jit") and "LuaJIT 2.1" or _VERSION

---@class operations.SandboxOptions
---@field interpreter? string  the program that runs programs, a path or a name in PATH: `lua5.4`, `lua5.5` or
---  `luajit`, as the modules of this library were built for; default: that of this process, else the one in PATH
---@field max_code? integer  bytes of a program, default 64 KiB
---@field max_calls? integer  default 50
---@field at_once? integer  calls at the same time, default 8
---@field max_value? integer  bytes of JSON of the arguments of one call, or of its result, default 4 MiB
---@field max_memory? integer  bytes, default 128 MiB
---@field max_processor? integer  ms of processor time, default 5000; calls take none of it
---@field max_output? integer  bytes that are printed, default 64 KiB; the rest is dropped
---@field max_result? integer  bytes of JSON of the returned value, default 256 KiB
---@field max_programs? integer  programs at the same time, default 16; more are BUSY
---@field max_identity_programs? integer  of one identity, default 4
---@field timeout? number  ms from the start to the end of the program, calls included; default 1 h

---@class operations.SandboxCall
---@field name string  of the function
---@field id? string  its first argument, where that is a string
---@field duration number  ms
---@field outcome string  "ok", the code of an error, or "unfinished"

---@class operations.SandboxError: operations.Error
---@field line? integer  of the program
---@field hint? string

---@class operations.SandboxResult
---@field ok boolean  did the program return?
---@field value any  what it returned, a JSON value; nil when nothing
---@field error? operations.SandboxError  code VALIDATION_ERROR: it does not compile, or its result is no JSON;
---  EXECUTION_ERROR; TIMEOUT; or that of an error of a call that it raised or returned after nil. `details.kind` is
---  "syntax", "result", "raised", "memory", "processor", "wall", "killed" or "protocol"
---@field output string  what it printed
---@field calls operations.SandboxCall[]  in the order of their start
---@field processor? number  ms of processor time
---@field interpreter string

local kinds = { interpreter = "string", max_code = "number", max_calls = "number", at_once = "number",
  max_value = "number", max_memory = "number", max_processor = "number", max_output = "number", max_result = "number",
  max_programs = "number", max_identity_programs = "number", timeout = "number" }

-- Globals of programs that are no functions of the host.
local own_names = members.set({ "_G", "_VERSION", "array", "assert", "bit", "collectgarbage", "coroutine", "error",
  "getmetatable", "ipairs", "json", "load", "loadstring", "map", "math", "next", "null", "object", "os", "pairs",
  "pcall", "print", "rawequal", "rawget", "rawlen", "rawset", "select", "setmetatable", "string", "table", "tonumber",
  "tostring", "type", "unpack", "utf8", "xpcall" })

local MOST = 2 ^ 40

local function limit(options, name)
  local value = options[name] or limits["sandbox_" .. name]
  if value ~= value or value < 1 or value > MOST then
    error(("bad option '%s' to 'run' (a number from 1 to 2^40 expected, got %s)"):format(name,
      number_text.of(value)), 4)
  end
  return math.floor(value)
end

local numbers = { "max_code", "max_calls", "at_once", "max_value", "max_memory", "max_processor", "max_output",
  "max_result", "max_programs", "max_identity_programs", "timeout" }

local function limits_of(options)
  local all = {}
  for _, name in ipairs(numbers) do
    all[name] = limit(options, name)
  end
  return all
end

local function check_functions(functions)
  local names = {}
  for name, fn in pairs(functions) do
    if type(name) ~= "string" or not name:find("^[%a_][%w_]*$") or own_names[name] then
      error(("bad argument #2 to 'run' ('%s' is not a name for a function of programs)"):format(tostring(name)), 3)
    elseif type(fn) ~= "function" then
      error(("bad argument #2 to 'run' (%s: function expected, got %s)"):format(name, type(fn)), 3)
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return setmetatable(names, json.array_mt)
end

-- Running programs: of all, and by identity.
local running, running_of = 0, {}

local function busy(of, most)
  local err = errors.new("BUSY", ("%d programs are running%s: the limit"):format(most, of))
  err.retryable, err.mayHaveRun = true, false
  return nil, err
end

-- Takes a place for a program; returns what gives it back.
local function take_place(identity, most)
  local key = identity and identity_key.of(identity) or false
  local count = running_of[key] or 0
  if running >= most.max_programs then
    return busy("", most.max_programs)
  elseif key and count >= most.max_identity_programs then
    return busy(" for this identity", most.max_identity_programs)
  end
  running, running_of[key] = running + 1, count + 1
  return function()
    running = running - 1
    running_of[key] = running_of[key] > 1 and running_of[key] - 1 or nil
  end
end

local ESCAPED = 6 -- the most bytes of JSON for a byte of text

-- The path of inside.lua: where Lua finds modules, else beside this file (Neovim has its own search).
local function find_inside()
  local path = package.searchpath("operations/sandbox/inside", package.path) -- luacheck: ignore 143
  local here = debug.getinfo(1, "S").source:match("^@(/.*)init%.lua$")
  return system.real_path(path or here and here .. "inside.lua" or "operations/sandbox/inside.lua")
end

local files

-- The C module of the child and the file that it runs, found once.
local function find_files()
  if not files then
    local loaded, child = runtime.optional("operations.sandbox_child")
    local flaw = loaded and child.cannot_confine() or not loaded and child
    local inside, missing = find_inside()
    if flaw or not inside then
      return nil, report.unavailable(flaw or missing)
    end
    files = { module = system.real_path(child.path()), inside = inside }
  end
  return files
end

-- The interpreter of this process, if it runs in one; else a name for PATH.
local function own_interpreter()
  local name, own = runtime.interpreter, system.real_path("/proc/self/exe")
  local base = own and own:match("[^/]*$") or ""
  return base:sub(1, #name) == name and own or name
end

-- Is there such a program?
local function is_installed(interpreter)
  if interpreter:find("/", 1, true) then
    return system.kind(interpreter) == "file"
  end
  for directory in (os.getenv("PATH") or "/usr/local/bin:/usr/bin:/bin"):gmatch("[^:]+") do
    if system.kind(directory .. "/" .. interpreter) == "file" then
      return true
    end
  end
  return false
end

local function no_interpreter(interpreter)
  return nil, report.unavailable(("the interpreter %s does not start: install it, or name one by the option "
    .. "`interpreter`"):format(interpreter))
end

--- Can programs run here? Runs none.
---@param options? { interpreter?: string }
---@return string? interpreter  that would run them
---@return operations.Error? err  UNAVAILABLE: no filter of system calls, no C module, no interpreter
function sandbox.available(options)
  argument.optional(options, "table", 1, "available")
  argument.options(options or {}, { interpreter = "string" }, "available")
  local found, err = find_files()
  if not found then
    return nil, err
  end
  local interpreter = options and options.interpreter or own_interpreter()
  if not is_installed(interpreter) then
    return no_interpreter(interpreter)
  end
  return interpreter
end

-- What the interpreter runs: the C module serves the program.
local script = [[
local ok, why = pcall(function()
  assert(package.loadlib(%q, "luaopen_operations_sandbox_child"))().serve(%q)
end)
io.stderr:write(why)]]

local function start(interpreter, found, most)
  local child, err = process.spawn({ interpreter, "-e", script:format(found.module, found.inside),
    env = { TZ = "UTC0" }, env_allow = { "PATH", "LD_*" }, stderr_lines = 1,
    max_line = math.max(most.max_value, most.max_result, ESCAPED * most.max_output) + program.LINE })
  if not child and err.details and err.details.kind == "command" then
    return no_interpreter(interpreter)
  end
  return child, err
end

-- ms until the program must have ended.
local function time_left(most, context)
  local left = math.min(most.timeout, context.timeout or math.huge)
  return context.deadline and math.min(left, context.deadline - task.now()) or left
end

--- Runs a program and waits for its end.
---
--- The program is a Lua chunk; the value that it returns is the result. Each of `functions` is a global function in it;
--- the others that it finds are on the page about the sandbox. A call of the program runs its function here, as a task
--- of its own, which may wait and is cancelled when the program ends. The program gets what it returns: a value, or nil
--- and an error object, also in place of an error that it raises.
---
--- A program that fails is a result too, which says what ran before. The process ends when the task of the caller is
--- cancelled.
---@param code string  text, never bytecode
---@param functions table<string, fun(...: any): any, operations.Error?>
---@param options? operations.SandboxOptions
---@param context? operations.Context|{ identity?: operations.Identity, deadline?: integer, timeout?: integer }
---@return operations.SandboxResult?
---@return operations.Error? err  nothing ran. BUSY; UNAVAILABLE: there is no sandbox here; VALIDATION_ERROR: the
---  program is larger than allowed; ACCESS_DENIED: `process.allow` was not called in nginx
function sandbox.run(code, functions, options, context)
  argument.expect(code, "string", 1, "run")
  argument.expect(functions, "table", 2, "run")
  argument.optional(options, "table", 3, "run")
  argument.optional(context, "table", 4, "run")
  options, context = options or {}, context or {}
  if context.identity ~= nil and type(context.identity) ~= "table" then
    error("bad argument 'context' (identity: table expected, got " .. type(context.identity) .. ")", 2)
  end
  for _, name in ipairs({ "deadline", "timeout" }) do
    local value = context[name]
    if value ~= nil and (type(value) ~= "number" or value ~= value) then
      error(("bad argument 'context' (%s: number expected, got %s)"):format(name,
        type(value) == "number" and "NaN" or type(value)), 2)
    end
  end
  argument.options(options, kinds, "run")
  local names, most = check_functions(functions), limits_of(options)
  if #code > most.max_code then
    return nil, errors.new("VALIDATION_ERROR", ("the program has %d bytes, at most %d are allowed"):format(#code,
      most.max_code))
  end
  local found, err = find_files()
  if not found then
    return nil, err
  end
  local release
  release, err = take_place(context.identity, most)
  if not release then
    return nil, err
  end
  local interpreter = options.interpreter or own_interpreter()
  local ok, result, failed = pcall(function()
    local child, flaw = start(interpreter, found, most)
    if not child then
      return nil, flaw
    end
    return program.run(child, { code = code, functions = functions, names = names, limits = most,
      language = sandbox.language, timeout = time_left(most, context) })
  end)
  release()
  if not ok then
    error(result, 0)
  end
  if result then
    result.interpreter = interpreter
  end
  return result, failed
end

return sandbox
