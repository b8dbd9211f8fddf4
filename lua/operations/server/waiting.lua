--- The waits of a connection of the HTTP server, and their limits: bytes, room to send, a caller that leaves. One
--- timer watches over all connections.
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")
local workers = require("operations.server.workers")

local waiting = {}

---@type table<operations.HttpConnection, operations.HttpConnection>
local watched = {}

--- The handler of `xpcall` here: the message and where it was raised.
---@param raised any
---@return string
function waiting.traced(raised)
  return debug.traceback(errors.text(raised), 2)
end

--- Tells whoever runs the server what went wrong.
---@param self operations.HttpConnection
---@param message string
function waiting.report(self, message)
  self._options.log("error", message)
end

local deadlines = waiters.deadlines(watched, function(self)
  watched[self], self.limit = nil, false
  self._on_limit(self)
end)

--- Goes on with a connection that waits for bytes.
---@param self operations.HttpConnection
---@return boolean waited  false: it is served, or ready to be
function waiting.go_on(self)
  if self._waiting then
    waiters.settle(self._wait)
    return true
  elseif self._asleep then
    self._asleep = false
    workers.add(self)
    return true
  end
  return false
end

--- The limit of a wait has passed.
---@param self operations.HttpConnection
function waiting.wake(self)
  self._expired = true
  waiting.go_on(self)
end

--- From here on the connection waits for something, for `ms` at most.
---@param self operations.HttpConnection
---@param ms number
---@param on_limit? fun(self: operations.HttpConnection)  default: the wait ends, and `_expired` is true
---@param now? number  ms since the epoch, if the caller knows
---@return number now
function waiting.watch(self, ms, on_limit, now)
  now = now or scheduler.host().now()
  self._on_limit, self._expired, watched[self] = on_limit or waiting.wake, false, self
  deadlines:watch(self, now + ms)
  return now
end

--- It waits for nothing that has a limit.
---@param self operations.HttpConnection
function waiting.unwatch(self)
  self.limit = false
end

--- The connection has ended.
---@param self operations.HttpConnection
function waiting.forget(self)
  watched[self], self.limit = nil, false
  if next(watched) == nil then
    deadlines:stop()
  end
end

--- The caller is gone, or is to go: what was registered for that runs.
---@param self operations.HttpConnection
---@param reason "left"|"draining"
function waiting.leave(self, reason)
  local list = self._leaving
  self._left, self._leaving = self._left or reason, false
  for _, fn in ipairs(list or {}) do
    local ok, message = xpcall(fn, waiting.traced, reason)
    if not ok then
      waiting.report(self, "what runs when a caller leaves failed: " .. message)
    end
  end
end

--- Registers what runs then.
---@param self operations.HttpConnection
---@param fn fun(reason: "left"|"draining")
function waiting.register(self, fn)
  if self._left then
    return fn(self._left)
  end
  self._leaving = self._leaving or {}
  table.insert(self._leaving, fn)
end

--- The function that takes bytes, or the end. While a request is handled it keeps them for the next one, up to the
--- window; the end is then a caller that leaves.
---@param self operations.HttpConnection
---@return fun(bytes: string?)
function waiting.taker(self)
  local window = limits.window
  return function(bytes)
    if bytes == nil then
      self._ended = true
    elseif self._from > #self._bytes then
      self._bytes, self._from = bytes, 1
    else
      self._bytes, self._from = self._bytes:sub(self._from) .. bytes, 1
    end
    if self._asleep then
      self._asleep = false
      workers.add(self)
    elseif not waiting.go_on(self) and self._ended then
      waiting.leave(self, "left")
    end
    if not self._ended and #self._bytes >= window then -- also while it waits: much may come in one turn
      self._paused = true
      self._stream:pause()
    end
  end
end

-- Has the sender go on that was held back.
local function read_on(self)
  self._paused = false
  self._stream:each_chunk(self._take)
end

--- Waits for bytes of the next request, without a task: a worker goes on when they come, when the connection ends or
--- when the limit passes.
---@param self operations.HttpConnection
function waiting.sleep(self)
  self._asleep = true
  if self._paused then
    read_on(self)
  end
end

--- Waits until something came, the connection ended or the limit passed.
---@param self operations.HttpConnection
---@return operations.Error? failure  the task was cancelled
function waiting.await(self)
  local wait, failure = self._wait, nil
  wait.done, wait.failure, wait.n, wait.task = false, nil, 0, nil
  self._waiting = true
  if self._paused then
    read_on(self)
  end
  if not wait.done then
    failure = scheduler.wait(wait)
  end
  self._waiting = false
  return failure
end

--- Ends the connection at once.
---@param self operations.HttpConnection
function waiting.abort(self)
  self._ended, self.idle = true, false
  self._stream:close()
  if not waiting.go_on(self) and self._request then
    waiting.leave(self, "left")
  end
end

return waiting
