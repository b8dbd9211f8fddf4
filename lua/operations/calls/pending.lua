--- Requests made here that wait for answers. The map passes the events that arrive.
local call_event = require("operations.calls.event")
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local task_loops = require("operations.task.loops")
local task_wait = require("operations.task.wait")
local weight = require("operations.base.weight")

local enter = task.enter

local call_pending = {}

---@class operations.Pending
---@field payload table  of its call.requested: id, operation, deadline
---@field map operations.CallMap
---@field ended? boolean  its terminal event came, or it was cancelled
---@field err? operations.Error
---@field notify fun(self)  wakes the task that waits for the next event
---@field limit? integer  of a waiting call: when `expire` is called
---@field on_progress? fun(done: number, total?: number, message?: string)
---@field waiting? integer  of a call: how many wait for it
---@field joined? (fun()|false)[]  of a call: wakes those that joined it
local Pending = {}
Pending.__index = Pending

local function finish(self, err)
  if not self.ended then
    self.ended, self.err = true, err
    local pending, id = self.map._pending, self.payload.requestId
    if pending[id] == self then
      pending[id] = nil
    end
    self:notify()
    if self.joined then
      task_wait.wake(self.joined)
    end
  end
end

--- Ends the request with a failure.
---@param err operations.Error
function Pending:fail(err)
  finish(self, err)
end

--- Ends the request from this side, and tells the other side.
---@param err operations.Error
function Pending:give_up(err)
  if not self.ended then
    finish(self, err)
    self.map:_stop(self.payload.requestId, tostring(err))
  end
end

local function timed_out(self)
  return call_event.late(self.payload.operationId, self.payload.deadline)
end

local unset = nil -- reserves a field in a constructor; LuaJIT reserves none for a literal `nil`
-- A call is its own `operations.Wait`.
local Call = setmetatable({}, { __index = Pending })
Call.__index = Call
Call.fail, Call.give_up = Pending.fail, Pending.give_up -- found without the metatable

--- A call, which ends at its first response.
---@param map operations.CallMap
---@param payload table  of its call.requested
function call_pending.call(map, payload)
  return setmetatable({
    payload = payload, map = map, waiting = 1, joined = unset,
    done = false, n = 0, task = unset, failure = unset, -- fields of a wait
    limit = unset, ended = unset, envelope = unset, err = unset, on_progress = unset, -- reserves the fields set later
  }, Call)
end

function Call:notify()
  if not self.done then
    task_wait.settle(self)
  end
end

function Call:respond(payload)
  self.envelope = payload.output
  finish(self)
  if payload.seq then -- an event of a subscription: more may follow
    self.map:_stop(self.payload.requestId, "called once")
  end
end

function Call:complete()
  finish(self, errors.new("EXECUTION_ERROR", self.payload.operationId .. " completed without a response"))
end

--- Called when the deadline has passed.
function Call:expire()
  self:give_up(timed_out(self))
end

-- A caller gives up: the call ends with its last caller.
local function leave(self, err)
  self.waiting = self.waiting - 1
  if self.waiting == 0 then
    self:give_up(err)
  end
  return self.envelope, self.err or not self.ended and err or nil
end

--- Waits for a call that another task of this program has made.
---@param deadline? number  ms since the epoch
---@return operations.Envelope?
---@return operations.Error?
function Call:join(deadline)
  self.joined, self.waiting = self.joined or {}, self.waiting + 1
  local previous = deadline and scheduler.deadline(deadline)
  local failure = scheduler.try_await(function(wake)
    return task_wait.add(self.joined, wake)
  end)
  if deadline then
    scheduler.deadline(previous)
  end
  if failure ~= nil then
    return leave(self, errors.from(failure))
  end
  return self.envelope, self.err
end

---@return operations.Envelope?
---@return operations.Error?
function Call:wait()
  if not self.ended then
    local deadline = self.payload.deadline
    if deadline then
      self.map._deadlines:watch(self, deadline)
    end
    local failure = scheduler.wait(self)
    if failure ~= nil then
      if errors.is_error(failure) and failure.code == "TIMEOUT" and deadline then
        failure = timed_out(self)
      end
      return leave(self, errors.from(failure))
    end
  end
  return self.envelope, self.err
end

---@class operations.PendingHere  a call that runs in the coroutine that makes it
---@field task operations.Task  that of its handler
---@field map operations.CallMap
---@field executor operations.Executor
---@field id any  its key in the map
---@field operation? string  with `deadline`: its id
---@field deadline? number  ms since the epoch
---@field err operations.Error|false  by which it was aborted, once it has ended
local Here = {}
Here.__index = Here

--- Begins a call that runs in the coroutine that makes it.
---@param map operations.CallMap
---@param executor operations.Executor
---@return operations.PendingHere
function call_pending.here(map, executor)
  return setmetatable({ task = enter(), map = map, executor = executor,
    id = unset, operation = unset, deadline = unset, err = false }, Here)
end

function Here:fail(err)
  self.task:cancel(err)
end

Here.give_up = Here.fail

local Stream = setmetatable({}, { __index = Pending })
Stream.__index = Stream

-- Lets the transport receive again.
local function release(self)
  if self.held then
    self.held = nil
    if self.watch then
      self.watch()
      self.watch = nil
    end
    self.map._transport:release(self)
  end
end

-- Events of other requests on the connection must not wait forever: the consumer must make progress.
local function expect_progress(self)
  self.progress = false
  if self.consumer_timeout == math.huge then
    return
  end
  self.watch = scheduler.host().timer(self.consumer_timeout, function()
    if self.progress then
      return expect_progress(self)
    end
    self:give_up(errors.new("EXECUTION_ERROR", ("%s: nothing was consumed for %d ms while %d bytes of events from a "
      .. "peer without credits held up the connection"):format(
      self.payload.operationId, self.consumer_timeout, self.kept)))
  end)
end

-- Counts an event from a peer without credits, which cannot be told to wait. With too many bytes, stops reading from
-- the transport if possible.
local function keep(self, envelope)
  local transport, bytes = self.map._transport, weight.of(envelope)
  if not transport.hold and self.kept > 0 and self.kept + bytes > self.unconsumed_bytes then
    return self:give_up(errors.new("EXECUTION_ERROR", ("%s: more than %d bytes of events from a peer without credits "
      .. "are unconsumed (unconsumed_bytes)"):format(self.payload.operationId, self.unconsumed_bytes)))
  end
  self.kept, self.weights[self.last + 1] = self.kept + bytes, bytes
  if not self.held and self.kept > self.unconsumed_bytes then
    self.held = true
    transport:hold(self)
    expect_progress(self)
  end
end

function Stream:notify()
  if self.ended then
    release(self)
  end
  local waiting = self.wake
  if waiting then
    self.wake = nil
    waiting()
  end
end

local function arm(waker, self)
  self.wake = waker
end

-- Waits for the next event, until `limit` at most; the task may have an earlier deadline.
---@return any failure
---@return boolean own  it is the end of `limit`
local function await(self, limit)
  local previous, own = nil, false
  if limit then
    previous = scheduler.deadline(limit)
    own = not previous or limit <= previous
    if not own then
      scheduler.deadline(previous)
    end
  end
  local failure = scheduler.try_await(arm, self)
  if limit then
    scheduler.deadline(previous)
  end
  self.wake = nil
  return failure, own and errors.is_error(failure) and failure.code == "TIMEOUT"
end

--- A subscription, which ends at its `call.completed` or its failure.
---@param map operations.CallMap
---@param payload table
---@param options? operations.CallOptions
function call_pending.subscription(map, payload, options)
  return setmetatable({
    payload = payload, resubscribe = options and options.resubscribe,
    unconsumed_bytes = options and options.unconsumed_bytes or limits.unconsumed_bytes,
    consumer_timeout = options and options.consumer_timeout or limits.consumer_timeout,
    map = map, window = payload.credit,
    first = 1, last = 0, -- of the queue in the array part
    consumed = 0, -- events since credit was last granted
    seq = 0,
    announced = false, -- the other side numbers events, so it accepts credits
    weights = {}, kept = 0, -- bytes of each event without a number, and of all unconsumed ones
  }, Stream)
end

function Stream:respond(payload)
  local seq = payload.seq
  if seq and seq <= self.seq then
    return self.map:_count("duplicate")
  elseif seq and seq > self.seq + 1 then
    return self:give_up(errors.new("TRANSPORT_LOST", ("%s: event %d follows event %d"):format(
      self.payload.operationId, seq, self.seq), { seq = seq, expected = self.seq + 1 }))
  elseif seq and self.last - self.first + 1 >= self.window then
    return self:give_up(errors.new("EXECUTION_ERROR",
      ("%s: the other side sent more than the allowed %d events"):format(self.payload.operationId, self.window)))
  end
  self.ran = true
  if seq then
    self.seq, self.announced = seq, true
  else
    keep(self, payload.output)
    if self.ended then
      return
    end
  end
  self.last = self.last + 1
  self[self.last] = payload.output
  self:notify()
end

Stream.complete = finish

--- Called after a reconnection: sends the request again. Events received so far can still be read.
---@return table payload
function Stream:restart()
  local payload = self.payload
  release(self)
  self.seq, self.consumed, self.announced = 0, 0, false
  payload.requestId = core.random_id()
  payload.credit = math.max(1, self.window - (self.last - self.first + 1))
  payload.ttl = call_event.ttl(payload.deadline)
  return payload
end

-- Grants credit for half a window at a time: few messages, and the producer rarely waits.
local function take(self)
  local envelope = self[self.first]
  self[self.first] = nil
  local bytes = self.weights[self.first]
  if bytes then
    self.weights[self.first], self.kept, self.progress = nil, self.kept - bytes, true
    if self.kept <= self.unconsumed_bytes then
      release(self)
    end
  end
  self.first, self.consumed = self.first + 1, self.consumed + 1
  if self.announced and not self.ended and self.consumed * 2 >= self.window then
    local n = self.consumed
    self.consumed = 0
    self.map._transport:send("call.credit", { requestId = self.payload.requestId, n = n })
  end
  return envelope
end

local function await_event(self)
  local idle, deadline = self.payload.idleTimeout, self.payload.deadline
  local limit = idle and core.now() + idle
  local failure, own = await(self, limit and deadline and math.min(limit, deadline) or limit or deadline)
  if own and deadline and (not limit or deadline <= limit) then
    failure = timed_out(self)
  elseif own then
    failure = call_event.error({ code = "TIMEOUT", mayHaveRun = true, details = { idleTimeout = idle },
      message = ("%s: no event for %d ms"):format(self.payload.operationId, idle) })
  end
  if failure ~= nil then
    self:give_up(errors.from(failure))
  end
end

---@class operations.RemoteSubscription : operations.Subscription
local Handle = {}
Handle.__index = Handle

--- The consumer's handle; dropping it aborts the subscription.
---@return operations.RemoteSubscription
function call_pending.handle(stream)
  return setmetatable({
    _stream = stream,
    _sentinel = scheduler.finalizer(function()
      if not stream.ended then
        task.begin(stream.give_up, stream, errors.new("ABORTED", "the subscription was dropped"))
      end
    end),
  }, Handle)
end

--- The next event; waits for it.
---@return operations.Envelope?  nil at the end
---@return operations.Error? err  nil at a normal end
function Handle:next()
  local stream = self._stream
  if stream.wake then
    error("subscription:next() is already waiting", 2)
  end
  while stream.first > stream.last and not stream.ended do
    await_event(stream) -- not a tail call: the waiting frame keeps the handle alive
  end
  if stream.first <= stream.last then
    return take(stream)
  end
  local err = stream.err
  stream.err = nil -- returned once
  return nil, err
end

--- Aborts the subscription on both sides. Closing twice does nothing.
function Handle:close()
  local stream = self._stream
  stream:give_up(errors.new("ABORTED", stream.payload.operationId .. " was closed"))
  if not stream.wake then
    stream.err = nil
  end
  for i = stream.first, stream.last do
    stream[i] = nil
  end
  stream.first, stream.weights = stream.last + 1, {}
end

--- `for envelope in subscription do`: raises the error object when it failed.
function Handle:__call(_, first)
  if first == task_loops.OWNED then
    task_loops.began(self)
  end
  local envelope, err = self:next()
  if err ~= nil then
    error(err, 0)
  end
  return envelope
end

Handle.__close = Handle.close

return call_pending
