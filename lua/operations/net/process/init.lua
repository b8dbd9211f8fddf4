--- Child processes in direct style: reading, writing and waiting suspend the running task. No shell is involved; a
--- process leads a group of its own, sees only the descriptors of its standard streams and the variables it is given.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local process_child = require("operations.net.process.child")
local process_log = require("operations.net.process.log")
local process_options = require("operations.net.process.options")
local scheduler = require("operations.task.scheduler")
local task_tree = require("operations.task.tree")
local task_wait = require("operations.task.wait")

---@class operations.process
local process = { inherited = process_options.inherited }

-- Hosts that serve others: programs are started there only when ours says so.
local guarded = { openresty = true }
local allowed

---@class operations.ProcessOptions
---@field [integer] string  the command, then its arguments; a command without "/" is looked for in the process's PATH
---@field env? table<string, string|number>  added to what is inherited
---@field env_allow? string[]  names that are inherited, "LC_*" for all that start so; default `process.inherited`
---@field cwd? string
---@field max_line? integer  bytes; a longer line of stdout is an error
---@field window? integer  unread bytes of stdout at which the process is held back
---@field queue? integer  bytes not yet taken by the process at which `write` waits
---@field stderr_lines? integer  how many are kept
---@field on_stderr? fun(line: string)  told of every line as it comes
---@field shared? boolean  goes on when the task that started it is cancelled
---@field whole_group? boolean  what it has started and left behind is killed when it ends, however that comes

local function log_of(options)
  local on_line = options.on_stderr
  return process_log.new(options.stderr_lines or limits.stderr_lines, on_line and function(line)
    local ok, raised = xpcall(on_line, debug.traceback, line)
    if not ok then
      task_wait.on_error(raised, raised)
    end
  end)
end

local function refusal(host, command)
  if not host.start then
    return "the host '" .. host.name .. "' has no processes"
  elseif not allowed and (allowed == false or guarded[host.name]) then
    return ("starting '%s' is not allowed: call process.allow(true) first"):format(command)
  end
end

--- Starts a program. It ends when it is dropped (SIGKILL), and when the task that started it is cancelled (SIGTERM,
--- then SIGKILL).
---@param options operations.ProcessOptions  `{ "cat", "-n", cwd = "/tmp" }`
---@return operations.Process?
---@return operations.Error? err  `details.kind`: "command", "cwd", "fork", "descriptors", "memory"
function process.spawn(options)
  local request = process_options.prepare(options)
  local host, command = scheduler.host(), options[1]
  local refused = refusal(host, command)
  if refused then
    return nil, errors.new("ACCESS_DENIED", refused)
  end
  local self = process_child.new(command, log_of(options))
  local step, why
  self._handle, step, why = host.start("process", request, function(...)
    process_child.on_event(self, ...)
  end)
  if not self._handle then
    local what = step == "cwd" and options.cwd or step
    return nil, process_child.failure(self, step, ("cannot start (%s): %s"):format(what, why))
  end
  self.pid = self._handle:pid()
  if options.whole_group then
    self._handle:finish(0)
  end
  local owner = scheduler.here().task
  if owner and not options.shared then
    task_tree.tie(owner, self)
  end
  return self
end

--- Says whether programs may be started: in nginx they may not until this is called.
---@param allow boolean
function process.allow(allow)
  argument.expect(allow, "boolean", 1, "allow")
  allowed = allow
end

return process
