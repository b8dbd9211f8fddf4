--- The waits of a connection of the HTTP server and their time limits: for bytes, for room to send. Callbacks for
--- callers that leave. One timer serves all connections.
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local pool = require("operations.server.pool")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")

local waiting = {}

---@type table<operations.HttpConnection, operations.HttpConnection>
local watched = {}

--- The message handler of `xpcall`: adds a traceback.
---@param raised any
---@return string
function waiting.traced(raised)
  return debug.traceback(errors.text(raised), 2)
end

--- Logs an error.
---@param self operations.HttpConnection
---@param message string
function waiting.report(self, message)
  self._options.log("error", message)
end

local deadlines = waiters.deadlines(watched, function(self)
  watched[self], self.limit = nil, false
  self._on_limit(self)
end)

--- Resumes a connection that waits for bytes.
---@param self operations.HttpConnection
---@return boolean waited  false: it is served, or ready to be
function waiting.go_on(self)
  if self._waiting then
    waiters.settle(self._wait)
    return true
  elseif self._asleep then
    self._asleep = false
    pool.add(self)
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

--- Sets the time limit of what the connection waits for.
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

--- Removes the time limit.
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

--- The caller has left, or the request is to end: calls the registered functions.
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

--- Registers a function that is called then; at once if that has happened.
---@param self operations.HttpConnection
---@param fn fun(reason: "left"|"draining")
function waiting.register(self, fn)
  if self._left then
    return fn(self._left)
  end
  self._leaving = self._leaving or {}
  table.insert(self._leaving, fn)
end

--- Makes the function that takes the bytes of the stream, and nil at its end. While a request is handled, bytes are
--- kept for the next one, up to the window; the end of the stream then means that the caller has left.
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
    if not waiting.go_on(self) and self._ended then
      waiting.leave(self, "left")
    end
    if not self._ended and #self._bytes >= window then -- also while it waits: one turn may bring many bytes
      self._paused = true
      self._stream:pause()
    end
  end
end

-- Reads on after a pause.
local function read_on(self)
  self._paused = false
  self._stream:each_chunk(self._take)
end

--- Waits for bytes of the next request, without a task: a worker continues when they come, when the connection ends or
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
