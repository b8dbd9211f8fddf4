--- The waits of a connection of the HTTP server and their time limits: for bytes, for room to send. Callbacks for
--- callers that leave. One timer serves all connections.
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local pool = require("operations.server.pool")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")

local waiting = {}

--- What a connection waits for, and until when.
---@class operations.ConnectionWaits
---@field connection operations.HttpConnection
---@field limit number|false  ms since the epoch: until then it must have happened
---@field on_limit fun(self: operations.HttpConnection)
---@field expired boolean  the limit has passed
---@field now number|false  ms since the epoch, when nothing was waited for since
---@field wait operations.Wait  the same for every wait for bytes of a body
---@field awaited boolean  a task waits for them
---@field asleep boolean  no task: it waits for bytes of the next request

--- The bytes that a connection gets.
---@class operations.ConnectionInput
---@field bytes string  came and were not read, from `from` on
---@field from integer
---@field take fun(bytes: string?)  takes those of the stream, and nil at its end
---@field begun boolean  some of the next request have come
---@field paused boolean  the stream is not read
---@field ended boolean  the other side sends no more, or the connection is closed

---@type table<operations.ConnectionWaits, operations.ConnectionWaits>
local watched = {}

--- Logs an error.
---@param self operations.HttpConnection
---@param message string
function waiting.report(self, message)
  self._options.log("error", message)
end

local deadlines = waiters.deadlines(watched, function(waits)
  watched[waits], waits.limit = nil, false
  waits.on_limit(waits.connection)
end)

--- Resumes a connection that waits for bytes.
---@param self operations.HttpConnection
---@return boolean waited  false: it is served, or ready to be
function waiting.go_on(self)
  local waits = self._waits
  if waits.awaited then
    waiters.settle(waits.wait)
    return true
  elseif waits.asleep then
    waits.asleep = false
    pool.add(self)
    return true
  end
  return false
end

--- The limit of a wait has passed.
---@param self operations.HttpConnection
function waiting.wake(self)
  self._waits.expired = true
  waiting.go_on(self)
end

--- Sets the time limit of what the connection waits for.
---@param self operations.HttpConnection
---@param ms number
---@param on_limit? fun(self: operations.HttpConnection)  default: the wait ends, and `expired` is true
---@param now? number  ms since the epoch, if the caller knows
---@return number now
function waiting.watch(self, ms, on_limit, now)
  local waits = self._waits
  now = now or scheduler.now()
  waits.on_limit, waits.expired, watched[waits] = on_limit or waiting.wake, false, waits
  deadlines:watch(waits, now + ms)
  return now
end

--- Removes the time limit.
---@param self operations.HttpConnection
function waiting.unwatch(self)
  self._waits.limit = false
end

--- The connection has ended.
---@param self operations.HttpConnection
function waiting.forget(self)
  local waits = self._waits
  watched[waits], waits.limit = nil, false
  if next(watched) == nil then
    deadlines:stop()
  end
end

--- The caller of the current request has left, or the request is to end: calls the registered functions.
---@param self operations.HttpConnection
---@param reason "left"|"draining"
function waiting.leave(self, reason)
  local current = self._current
  if not current then
    return
  end
  local list = current.leaving
  current.left, current.leaving = current.left or reason, nil
  for _, fn in ipairs(list or {}) do
    local ok, message = xpcall(fn, errors.traced, reason)
    if not ok then
      waiting.report(self, "what runs when a caller leaves failed: " .. message)
    end
  end
end

--- Registers a function that is called then; at once if that has happened.
---@param self operations.HttpConnection
---@param fn fun(reason: "left"|"draining")
function waiting.register(self, fn)
  local current = self._current
  if not current then
    return -- it is answered
  elseif current.left then
    return fn(current.left)
  end
  current.leaving = current.leaving or {}
  table.insert(current.leaving, fn)
end

--- Makes the function that takes the bytes of the stream. While a request is handled, bytes are kept for the next one,
--- up to the window; the end of the stream then means that the caller has left.
---@param self operations.HttpConnection
---@return fun(bytes: string?)
function waiting.taker(self)
  local window = limits.window
  return function(bytes)
    local input = self._input
    if bytes == nil then
      input.ended = true
    elseif input.from > #input.bytes then
      input.bytes, input.from = bytes, 1
    else
      input.bytes, input.from = input.bytes:sub(input.from) .. bytes, 1
    end
    if not waiting.go_on(self) and input.ended then
      waiting.leave(self, "left")
    end
    if not input.ended and #input.bytes >= window then -- also while it waits: one turn may bring many bytes
      input.paused = true
      self._stream:pause()
    end
  end
end

-- Reads on after a pause.
local function read_on(self)
  self._input.paused = false
  self._stream:each_chunk(self._input.take)
end

--- Waits for bytes of the next request, without a task: the pool continues when they come, when the connection ends or
--- when the limit passes.
---@param self operations.HttpConnection
---@param ms? number  sets the limit; the connection is idle then
---@param on_limit? fun(self: operations.HttpConnection)
function waiting.sleep(self, ms, on_limit)
  self._waits.asleep = true
  if ms then
    self.idle = waiting.watch(self, ms, on_limit, self._waits.now)
  end
  if self._input.paused then
    read_on(self)
  end
end

--- Waits until something came, the connection ended or the limit passed.
---@param self operations.HttpConnection
---@return operations.Error? failure  the task was cancelled
function waiting.await(self)
  local waits = self._waits
  local wait, failure = waits.wait, nil
  wait.done, wait.failure, wait.n, wait.task = false, nil, 0, nil
  waits.awaited = true
  if self._input.paused then
    read_on(self)
  end
  if not wait.done then
    failure = scheduler.wait(wait)
  end
  waits.awaited = false
  return failure
end

--- Ends the connection at once.
---@param self operations.HttpConnection
function waiting.abort(self)
  self._input.ended, self.idle = true, false
  self._stream:close()
  if not waiting.go_on(self) then
    waiting.leave(self, "left")
  end
end

return waiting
