--- Child processes in direct style: reading, writing and waiting suspend the running task. No shell is involved; a
--- process leads its own group, and gets only the descriptors of its standard streams and the given variables.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local number_text = require("operations.base.number_text")
local process_child = require("operations.net.process.child")
local reactor = require("operations.reactor")
local scheduler = require("operations.task.scheduler")
local scope = require("operations.task.scope")
local task_tree = require("operations.task.tree")
local task_wait = require("operations.task.wait")

---@class operations.process
local process = {}

-- The environment variables that a program inherits; a star matches any end.
local inherited = { "PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "SHELL", "TERM" }
process.inherited = inherited

scope.used = true

-- Hosts that are servers: programs can only be started there after `process.allow`.
local guarded = { openresty = true }
local allowed

---@class operations.ProcessOptions
---@field [integer] string  the command, then its arguments; a command without "/" is searched in the process's PATH
---@field env? table<string, string|number>  added to the inherited variables
---@field env_allow? string[]  names of inherited variables, "LC_*" for all with this prefix; default
---  `process.inherited`
---@field cwd? string
---@field max_line? integer  bytes; a longer line of stdout is an error
---@field window? integer  unread bytes of stdout at which the process is held back
---@field queue? integer  unread bytes at which `write` waits
---@field stderr_lines? integer  the number of lines kept
---@field on_stderr? fun(line: string)  called with every line
---@field shared? boolean  outlives the call and the task that started it
---@field whole_group? boolean  kills the rest of its process group when it ends

local kinds = {
  env = "table", env_allow = "table", cwd = "string", max_line = "number", window = "number", queue = "number",
  stderr_lines = "number", on_stderr = "function", shared = "boolean",
  whole_group = "boolean", no_pidfd = "boolean",
}

-- The level is as for `error`: the message names the program's line.
local function fail(level, text, ...)
  error(("bad argument #1 to 'spawn' (" .. text .. ")"):format(...), level + 1)
end

local function check_text(value, place, level)
  if type(value) ~= "string" then
    fail(level + 1, "%s: string expected, got %s", place, type(value))
  elseif value:find("\0", 1, true) then
    fail(level + 1, "%s: contains a NUL", place)
  end
  return value
end

local function check_kinds(options)
  if type(options) ~= "table" then
    fail(4, "table expected, got %s", type(options))
  end
  local count = 0
  for name, value in pairs(options) do
    if type(name) == "number" then
      count = count + 1
    elseif not kinds[name] then
      fail(4, "unknown option '%s'", tostring(name))
    elseif type(value) ~= kinds[name] then
      fail(4, "%s: %s expected, got %s", name, kinds[name], type(value))
    elseif kinds[name] == "number" and (value ~= value or value < (name == "stderr_lines" and 0 or 1)) then
      fail(4, "%s: %s is too small", name, number_text.of(value))
    end
  end
  for i = 1, count do -- a missing one would hide those after it
    check_text(options[i], ("[%d]"):format(i), 4)
  end
  if check_text(options[1], "[1]", 4) == "" then
    fail(4, "[1]: the command is empty")
  end
end

-- Adds the inherited variables to `env`.
local function inherit(env, patterns)
  local names, prefixes = {}, {}
  for i, name in ipairs(patterns) do
    local prefix = check_text(name, ("env_allow[%d]"):format(i), 5):match("^(.*)%*$")
    if prefix then
      prefixes[#prefixes + 1] = prefix
    end
    names[name] = true
  end
  for _, entry in ipairs(reactor.environment()) do
    local name, value = entry:match("^([^=]+)=(.*)$")
    local allow = names[name]
    for i = 1, name and #prefixes or 0 do
      allow = allow or name:sub(1, #prefixes[i]) == prefixes[i]
    end
    if allow then
      env[name] = value
    end
  end
end

local function environment(options)
  local env, list = {}, {}
  inherit(env, options.env_allow or inherited)
  for name, value in pairs(options.env or {}) do
    if type(name) ~= "string" or name == "" or name:find("[=%z]") then
      fail(4, "env: '%s' is not a valid name of a variable", tostring(name))
    end
    env[name] = check_text(type(value) == "number" and number_text.of(value) or value, "env." .. name, 4)
  end
  for name, value in pairs(env) do
    list[#list + 1] = name .. "=" .. value
  end
  table.sort(list)
  return list, env.PATH
end

-- The files that a command may mean: itself if it has a directory, else those in the process's own PATH.
local function candidates(command, path)
  if command:find("/", 1, true) then
    return { command }
  end
  local files = {}
  for directory in ((path or "/usr/local/bin:/usr/bin:/bin") .. ":"):gmatch("([^:]*):") do
    files[#files + 1] = (directory == "" and "." or directory) .. "/" .. command
  end
  return files
end

-- Checks the options and makes those for the reactor. Raises at the caller of `spawn`.
local function prepare(options)
  check_kinds(options)
  local arguments = {}
  for i = 1, #options do
    arguments[i] = options[i]
  end
  local env, path = environment(options)
  return {
    files = candidates(options[1], path),
    arguments = arguments,
    environment = env,
    cwd = options.cwd and check_text(options.cwd, "cwd", 3),
    window = options.window or limits.window,
    max_line = options.max_line or limits.line,
    queue = options.queue or limits.window,
    no_pidfd = options.no_pidfd,
  }
end

-- Longer lines are cut into pieces of this many bytes.
local PIECE = 8192

--- The last lines that a process wrote to its stderr.
---@class operations.ProcessLog
---@field _lines string[]  a ring
---@field _count integer  of lines so far
---@field _rest string  the incomplete line
local Log = {}
Log.__index = Log

local function add_line(self, line)
  if self._limit > 0 then
    self._lines[self._count % self._limit + 1] = line
  end
  self._count = self._count + 1
  if self._on_line then
    self._on_line(line)
  end
end

-- Adds the pieces of a text; returns the remaining text.
local function add_pieces(self, text)
  while #text > PIECE do
    add_line(self, text:sub(1, PIECE))
    text = text:sub(PIECE + 1)
  end
  return text
end

---@param bytes string
function Log:add(bytes)
  local text, from = self._rest .. bytes, 1
  self._rest = ""
  local stop = text:find("\n", 1, true)
  while stop do
    add_line(self, add_pieces(self, text:sub(from, stop - 1)))
    from = stop + 1
    stop = text:find("\n", from, true)
  end
  self._rest = add_pieces(self, text:sub(from))
end

--- The kept lines, oldest first, joined by "\n".
---@return string
function Log:text()
  local list = {}
  for i = math.max(self._count - self._limit, 0), self._count - 1 do
    list[#list + 1] = self._lines[i % self._limit + 1]
  end
  if self._rest ~= "" then
    list[#list + 1] = self._rest
  end
  return table.concat(list, "\n")
end

local function log_of(options)
  local on_line = options.on_stderr
  local function tell(line)
    local ok, raised = xpcall(on_line, errors.traced, line)
    if not ok then
      task_wait.on_error(raised, raised)
    end
  end
  return setmetatable({
    _lines = {}, _count = 0, _rest = "", _limit = options.stderr_lines or limits.stderr_lines,
    _on_line = on_line and tell,
  }, Log)
end

local function refusal(host, command)
  if not host.start then
    return "the host '" .. host.name .. "' has no processes"
  elseif not allowed and (allowed == false or guarded[host.name]) then
    return ("starting '%s' is not allowed: call process.allow(true) first"):format(command)
  end
end

-- Steps whose failure may be temporary.
local passing = { fork = true, descriptors = true, memory = true }

--- Starts a program. It ends when its handle is dropped (SIGKILL), and when the call of an operation in which it was
--- started ends or its task is cancelled (SIGTERM, then SIGKILL).
---@param options operations.ProcessOptions  `{ "cat", "-n", cwd = "/tmp" }`
---@return operations.Process?
---@return operations.Error? err  `details.kind`: "command", "cwd", "fork", "descriptors", "memory"
function process.spawn(options)
  local request = prepare(options)
  local host, command = scheduler.host(), options[1]
  local refused = refusal(host, command)
  if refused then
    local err = errors.new("ACCESS_DENIED", refused)
    err.retryable, err.mayHaveRun = false, false
    return nil, err
  end
  local self = process_child.new(command, log_of(options))
  local step, why
  self._handle, step, why = host.start("process", request, function(...)
    process_child.on_event(self, ...)
  end)
  if not self._handle then
    local what = step == "cwd" and options.cwd or step
    local err = process_child.failure(self, step, ("cannot start (%s): %s"):format(what, why))
    err.retryable, err.mayHaveRun = passing[step] == true, false
    return nil, err
  end
  self.pid = self._handle:pid()
  if options.whole_group then
    self._handle:finish(0)
  end
  if not options.shared then
    local strand = scheduler.here()
    scope.tie(strand, self)
    if strand.task then
      task_tree.tie(strand.task, self)
    end
  end
  return self
end

--- Sets whether programs may be started: in nginx they may not until this is called.
---@param allow boolean
function process.allow(allow)
  argument.expect(allow, "boolean", 1, "allow")
  allowed = allow
end

return process
