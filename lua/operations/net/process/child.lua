--- A running child process: its streams and its end. `process.spawn` makes them.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")

local process_child = {}

local SIGKILL, SIGTERM = 9, 15

-- The longest time until the end of a killed process, ms.
local KILL_GRACE = 5000

---@class operations.ProcessEnd
---@field code? integer  exit code
---@field signal? integer  the signal that killed it
---@field unknown? boolean  other code in this program (nginx) reaped it, or the process was dropped

---@class operations.Process
---@field pid integer
local Process = {}
Process.__index = Process
Process.__name = "operations.process"

local function failure(self, kind, text)
  return errors.new("EXECUTION_ERROR", self._command .. ": " .. text, { kind = kind, command = self._command })
end

-- Waits.

local function wake_all(self, event)
  local waiting = self._waiting[event]
  self._waiting[event] = {}
  waiters.wake(waiting)
end

local function queue_up(self, event, wake)
  return waiters.add(self._waiting[event], wake)
end

-- Waits for an event; raises what interrupts.
local function wait_for(self, event)
  scheduler.await(function(wake)
    return queue_up(self, event, wake)
  end)
end

local function on_exit(self, kind, value)
  self._end = { [kind] = kind == "unknown" or value }
  if self._stop_killer then
    self._stop_killer()
  end
  wake_all(self, "exit")
end

-- A finalizer may ask about a process whose handle was collected in the same cycle: it was killed, and its end is not
-- reported.
local function has_ended(self)
  if not self._end and self._handle:cancelled() then
    on_exit(self, "unknown")
  end
  return self._end ~= nil
end

-- Waits up to `ms` for the end, ignoring the task's cancellation.
local function ends_within(self, ms)
  if not has_ended(self) then
    local stop
    scheduler.await(function(wake)
      stop = scheduler.host().timer(ms, wake)
      return queue_up(self, "exit", wake)
    end, true)
    stop()
  end
  return has_ended(self)
end

-- Passes on the available stdout; false once, at its end.
local function hand_over(self)
  local on_chunk, handle = self._on_chunk, self._handle
  local text, what = handle:chunk()
  while text do
    on_chunk(text)
    if not what then
      return -- nothing more for now
    end
    text, what = handle:chunk()
  end
  if what == "over" and self._on_chunk then
    self._on_chunk = nil
    on_chunk(nil)
  end
end

local function on_event(self, event, a, b)
  if event == "data" and self._on_chunk then
    hand_over(self)
  elseif event == "log" then
    self._log:add(a)
  elseif event == "exit" then
    on_exit(self, a, b)
  else
    wake_all(self, event)
    if event == "drain" and a then
      wake_all(self, "lost")
    end
  end
end

--- A process that is not started yet; `_handle` is set later.
---@param command string  for messages
---@param log operations.ProcessLog
---@return operations.Process
function process_child.new(command, log)
  local waiting = { data = {}, drain = {}, lost = {}, exit = {} }
  return setmetatable({ _command = command, _log = log, _waiting = waiting }, Process)
end

process_child.on_event = on_event
process_child.failure = failure

-- Streams.

local function read_by(self, method)
  if #self._waiting.data > 0 then
    error("another task is reading from this process already", 3)
  end
  while true do
    local text, why = self._handle[method](self._handle)
    if text then
      return text
    elseif why == "over" then
      return nil
    elseif why == "too long" then
      return nil, failure(self, "size", "a line of its stdout is longer than allowed")
    end
    wait_for(self, "data")
  end
end

--- The unread stdout of the process, as soon as there is some. As every wait for a process, raises ABORTED or TIMEOUT
--- when the task is cancelled or its deadline passes: nil is the end of what the process wrote, never a part of it.
---@return string? bytes  never empty; nil at the end
function Process:read()
  return read_by(self, "chunk")
end

--- The next line of its stdout, without the end ("\n" or "\r\n"); the last one may have none.
---@return string? line  nil at the end
---@return operations.Error? err  kind "size" for a line that is too long, at every call
function Process:read_line()
  return read_by(self, "line")
end

-- An iterator that raises what ended it early.
local function each(self, method)
  return function()
    local text, err = read_by(self, method)
    return text or err and error(err, 0) or nil
  end
end

--- Iterates over its stdout in pieces; raises ABORTED or TIMEOUT when that is cut off.
---@return fun(): string?
function Process:chunks()
  return each(self, "chunk")
end

--- Iterates over the lines of its stdout, as `read_line`; raises ABORTED or TIMEOUT when that is cut off.
---@return fun(): string?
function Process:lines()
  return each(self, "line")
end

--- Passes stdout to a function in pieces as it arrives, and nil at its end, instead of `read`: for protocols that
--- answer from the loop. The function must not wait or raise.
---@param on_chunk fun(bytes: string?)
function Process:each_chunk(on_chunk)
  argument.expect(on_chunk, "function", 1, "each_chunk")
  self._on_chunk = on_chunk
  hand_over(self)
end

--- Calls a function once at the process's end. It must not wait or raise.
---@param fn fun(how: operations.ProcessEnd)
function Process:on_exit(fn)
  argument.expect(fn, "function", 1, "on_exit")
  if self._end then
    return fn(self._end)
  end
  queue_up(self, "exit", function()
    fn(self._end)
  end)
end

--- Calls a function once when written bytes will not be read: the process closed its stdin. The function must not wait
--- or raise.
---@param fn fun()
function Process:on_unread(fn)
  argument.expect(fn, "function", 1, "on_unread")
  queue_up(self, "lost", fn)
end

--- Queues bytes for its stdin if there is room, all or none; never waits.
---@param bytes string
---@param more? string  after `bytes`
---@return boolean sent
---@return "full"|"closed"|nil why
function Process:offer(bytes, more)
  argument.expect(bytes, "string", 1, "offer")
  local sent = self._handle:send(bytes, more)
  if sent == "sent" then
    return true
  end
  return false, sent
end

--- Queues bytes for its stdin, all or none; waits while the queue is full. Small writes of several tasks are sent
--- together once all tasks wait.
---@param bytes string
---@return true?
---@return operations.Error? err  kind "closed" when the process does not read what was written
function Process:write(bytes)
  argument.expect(bytes, "string", 1, "write")
  while true do
    local sent = self._handle:send(bytes)
    if sent == "sent" then
      return true
    elseif sent == "closed" then
      return nil, failure(self, sent, "its stdin is closed")
    end
    wait_for(self, "drain")
  end
end

--- Closes its stdin after everything written was read.
function Process:close_stdin()
  self._handle:close_input()
  wake_all(self, "drain")
end

--- The last lines of its stderr.
---@return string
function Process:stderr()
  return self._log:text()
end

-- End.

--- Waits for the end of the process; its stdout may still have unread bytes.
---@return operations.ProcessEnd
function Process:wait()
  while not has_ended(self) do
    wait_for(self, "exit")
  end
  return self._end
end

local stop_options = { close = "number", term = "number" }

--- Ends the process: closes its stdin, sends SIGTERM to its group, then SIGKILL, with time in between. Waits for the
--- end, even in a cancelled task. The rest of the group ends with the process.
---@param options? { close?: number, term?: number }  ms
---@return operations.ProcessEnd?
---@return operations.Error? err  it does not end, even when killed
function Process:stop(options)
  argument.optional(options, "table", 1, "stop")
  options = options or {}
  argument.options(options, stop_options, "stop")
  for name, ms in pairs(options) do
    if ms ~= ms then
      error(("bad option '%s' to 'stop' (number of ms expected, got NaN)"):format(name), 2)
    end
  end
  if not self._end then
    self:close_stdin()
    self._handle:finish(0)
  end
  if not ends_within(self, options.close or limits.close_grace) then
    self._handle:finish(SIGTERM)
    if not ends_within(self, options.term or limits.term_grace) then
      self._handle:finish(SIGKILL)
    end
  end
  if ends_within(self, KILL_GRACE) then
    return self._end
  end
  return nil, failure(self, "killed", "does not end")
end

--- Ends the process without waiting: closes its stdin, sends SIGTERM to its group, and SIGKILL 2 s later. Called when
--- the call that started it has ended, or its task is cancelled.
function Process:abort()
  if self._end or self._stop_killer then
    return
  end
  local handle = self._handle
  self:close_stdin()
  handle:finish(SIGTERM)
  self._stop_killer = scheduler.host().timer(limits.term_grace, function()
    handle:finish(SIGKILL)
  end)
end

return process_child
