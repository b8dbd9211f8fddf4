--- A request that arrived and is being served: the way back to who made it.
local core = require("operations.core")
local errors = require("operations.base.error")
local call_event = require("operations.calls.event")
local scheduler = require("operations.task.scheduler")

local call_request = {}

---@class operations.Request
---@field id string
---@field operationId string
---@field input any
---@field requestId string  the same as `id`: a request is what its operation's context is made of, too
---@field parentRequestId? string
---@field identity? operations.Identity  whom the transport authenticated, or whom the event names where the transport
---  vouches for it
---@field deadline? number  ms since the epoch
---@field metadata? table
---@field traceparent? string
---@field attempt? integer  as the transport counts
---@field peer operations.Peer
---@field streams? boolean  set by who serves it: a response does not end it
---@field credit? integer  how many events may still be sent; nil: the transport alone holds them back
---@field plain boolean  its peer announced nothing: it gets the five events, and no further fields
---@field ended? boolean
---@field on_abort? fun(err: operations.Error, request: operations.Request)  set by who serves it
---@field worker? operations.Task  which runs it, set by who serves it
local Request = {}
Request.__index = Request

-- What is left when it was sent counts beside the absolute deadline: a caller's clock that is ahead gives no more time,
-- and a receiver that stood still for long starts nothing that nobody waits for.
local function deadline_of(payload)
  local deadline, ttl = payload.deadline, payload.ttl
  local limit = ttl and core.now() + ttl
  return limit and (not deadline or limit < deadline) and limit or deadline
end

---@param map operations.CallMap
---@param payload table  of a checked call.requested
---@param peer operations.Peer
---@return operations.Request
function call_request.new(map, payload, peer)
  local id, metadata = payload.requestId, payload.metadata
  local self = setmetatable({
    id = id,
    requestId = id,
    operationId = payload.operationId,
    input = payload.input,
    identity = peer.identity or peer.vouches and payload.identity or nil,
    deadline = deadline_of(payload),
    attempt = peer.attempt,
    peer = peer,
    credit = payload.credit,
    seq = 0,
    map = map,
    plain = not (peer.announced or call_event.announces(payload)),
    streams = nil, on_abort = nil, ended = nil, worker = nil, parentRequestId = nil, -- room for what comes
  }, Request)
  peer.announced = not self.plain
  self.parentRequestId = payload.parentRequestId
  if metadata then
    self.metadata = metadata
    self.traceparent = type(metadata.traceparent) == "string" and metadata.traceparent or nil
  end
  return self
end

--- Sends an event to who made the request.
---@param name string
---@param payload table
---@return boolean? ok
---@return operations.Error? err
function Request:send(name, payload)
  return self.map._transport:send(name, payload, self.peer)
end

local function finish(self)
  self.ended = true
  if self.map._requests[self.id] == self then
    self.map._requests[self.id] = nil
  end
end

local function ended(self)
  return nil, errors.new("ABORTED", ("request %s has ended"):format(self.id))
end

-- Waits until the consumer has room.
local function await_credit(self)
  while self.credit and self.credit <= 0 and not self.ended do
    local failure = scheduler.try_await(function(wake)
      self.wake = wake
    end)
    self.wake = nil
    if failure ~= nil then
      return failure
    end
  end
end

local function event(self, envelope)
  local failure = await_credit(self)
  if failure ~= nil then
    return nil, errors.from(failure)
  elseif self.ended then
    return ended(self)
  end
  local payload = { requestId = self.id, output = envelope }
  if not self.plain then
    self.seq = self.seq + 1
    payload.seq = self.seq
  end
  self.credit = self.credit and self.credit - 1
  return self:send("call.responded", payload)
end

--- Sends a response: the answer of a call, one event of a subscription, for which it waits while the consumer has no
--- room.
---@param envelope operations.Envelope
---@return boolean? ok
---@return operations.Error? err
function Request:respond(envelope)
  if self.ended then
    return ended(self)
  end
  local ok, err
  if self.streams then
    ok, err = event(self, envelope)
  else
    finish(self)
    ok, err = self:send("call.responded", { requestId = self.id, output = envelope })
  end
  if not ok and err.code == "VALIDATION_ERROR" then -- it cannot be encoded: the caller must hear of it
    finish(self)
    self:send("call.error", call_event.failure(self.id, errors.new("EXECUTION_ERROR",
      ("%s: the result cannot be sent: %s"):format(self.operationId, err.message)), self.plain))
  end
  return ok, err
end

-- What is left out of an error that cannot be sent, one thing after the other: the caller must hear that it failed.
local without = {
  function(payload)
    payload.details = nil
  end,
  function(payload, self, problem)
    payload.message = ("%s: the error cannot be sent: %s"):format(self.operationId, problem.message)
  end,
  function(payload)
    payload.code = "EXECUTION_ERROR"
  end,
}

--- Ends it with an error.
---@param err operations.Error
---@return boolean? ok
---@return operations.Error? err
function Request:fail(err)
  if self.ended then
    return ended(self)
  end
  finish(self)
  local payload = call_event.failure(self.id, err, self.plain)
  local ok, problem = self:send("call.error", payload)
  for _, plainer in ipairs(without) do
    if ok or problem.code ~= "VALIDATION_ERROR" then
      break
    end
    plainer(payload, self, problem)
    ok, problem = self:send("call.error", payload)
  end
  return ok, problem
end

--- Ends a subscription.
---@return boolean? ok
---@return operations.Error? err
function Request:complete()
  if self.ended then
    return ended(self)
  end
  finish(self)
  return self:send("call.completed", { requestId = self.id })
end

--- The consumer took `n` events.
---@param n integer
function Request:grant(n)
  self.credit = (self.credit or 0) + n
  local wake = self.wake
  if wake then
    self.wake = nil
    wake()
  end
end

--- Who made it wants it no more, or is gone: whatever works on it is told to stop.
---@param err operations.Error
function Request:abort(err)
  if not self.ended then
    finish(self)
    if self.on_abort then
      self.on_abort(err, self)
    end
    if self.wake then
      self.wake()
    end
  end
end

return call_request
