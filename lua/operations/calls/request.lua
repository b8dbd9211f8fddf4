--- Requests: the options of a call, the event made from them, and requests that arrived with the way back to their
--- caller.
local argument = require("operations.base.argument")
local call_event = require("operations.calls.event")
local contexts = require("operations.registry.context")
local core = require("operations.core")
local errors = require("operations.base.error")
local job = require("operations.registry.job")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")
local schemas = require("operations.calls.schemas")
local turn = require("operations.task.turn")

local call_request = {}

local random_id = core.random_id
local none = {}

---@class operations.CallOptions
---@field requestId? string  default: a random UUID. Over a reliable transport, a second call with the same id is the
---  same call
---@field parentRequestId? string
---@field deadline? integer  ms since the epoch
---@field timeout? integer  ms; the earlier deadline counts. Default over a wire: 60 s for calls
---@field idleTimeout? integer  subscriptions: the longest time between events, in ms
---@field window? integer  subscriptions: unconsumed events, default 64
---@field unconsumed_bytes? integer  subscriptions to a peer without credits: bytes of unconsumed events, approximately,
---  default 4 MiB. With more, a WebSocket is not read until some are consumed; where the peer cannot be held back, the
---  subscription ends with EXECUTION_ERROR
---@field consumer_timeout? integer  ms, default 20,000: if nothing is consumed for this long while the connection is
---  not read, the subscription ends with EXECUTION_ERROR and the connection is read again
---@field resubscribe? boolean  subscriptions: start again, from the beginning, after a reconnection
---@field identity? operations.Identity
---@field metadata? table
---@field traceparent? string  W3C Trace Context
---@field on_progress? fun(done: number, total?: number, message?: string)  called with what the handler reports

local kinds = {
  requestId = "string", parentRequestId = "string", deadline = "number", timeout = "number", idleTimeout = "number",
  window = "number", unconsumed_bytes = "number", consumer_timeout = "number",
  identity = "table", metadata = "table", traceparent = "string",
  resubscribe = "boolean", on_progress = "function",
}

local whole = { window = true, unconsumed_bytes = true, consumer_timeout = true }

local function fits(key, value)
  if key == "requestId" then
    return call_event.is_id(value), "1 to 256 characters"
  elseif whole[key] then -- without limit: math.huge
    return value >= 1 and (value % 1 == 0 or value == math.huge), "a whole number from 1 on"
  elseif kinds[key] == "number" then -- NaN would end all waits
    return value > -math.huge, "a number"
  end
  return true
end

-- The earliest of this call's deadlines and those of its surrounding calls.
local function deadline_of(options, default, now)
  local deadline = scheduler.deadline_of(scheduler.here())
  local given = options.deadline
  local timeout = options.timeout or not given and default or nil
  if given and (not deadline or given < deadline) then
    deadline = given
  end
  if timeout and (not deadline or now + timeout < deadline) then
    deadline = now + timeout
  end
  return deadline ~= math.huge and deadline or nil -- none, also over a wire
end

--- The earliest deadline of a call that runs in this program.
---@param options operations.CallOptions
---@return number?  ms since the epoch
function call_request.deadline(options)
  return deadline_of(options, nil, core.now())
end

local function metadata_of(options)
  if not options.traceparent then
    return options.metadata
  end
  return members.merged({ traceparent = options.traceparent }, options.metadata)
end

--- The payload of the `call.requested` event.
---@param id string
---@param input any  default: an empty object
---@param options? operations.CallOptions
---@param default? integer  timeout, ms
---@return table
function call_request.payload(id, input, options, default)
  local now = core.now()
  local deadline = deadline_of(options or none, default, now)
  local payload = {
    requestId = options and options.requestId or random_id(), operationId = id, input = input,
    deadline = deadline, ttl = deadline and math.max(0, deadline - now),
  }
  if input == nil then
    payload.input = {}
  end
  if options then
    payload.parentRequestId = options.parentRequestId
    payload.idleTimeout = options.idleTimeout ~= math.huge and options.idleTimeout or nil
    payload.identity = marked.value(options.identity, schemas.identity, schemas.identity)
    payload.metadata = metadata_of(options)
    payload.progress = options.on_progress and true or nil
  end
  return payload
end

--- The context of a call that runs in this program.
---@param options? operations.CallOptions
---@return table
function call_request.context(options)
  if not options then
    return { requestId = random_id() }
  end
  return { requestId = options.requestId or random_id(), parentRequestId = options.parentRequestId,
    identity = options.identity, deadline = options.deadline, timeout = options.timeout, metadata = options.metadata,
    traceparent = options.traceparent, on_progress = options.on_progress }
end

--- Raises at the caller of the public function when the arguments have wrong types.
---@param id any
---@param options any
---@param name string  of the public function
function call_request.check(id, options, name)
  if type(id) ~= "string" then
    error(("bad argument #1 to '%s' (string expected, got %s)"):format(name, type(id)), 3)
  elseif options ~= nil and type(options) ~= "table" then
    error(("bad argument #3 to '%s' (table expected, got %s)"):format(name, type(options)), 3)
  end
  argument.options(options or none, kinds, name, 4)
  for key, value in pairs(options or none) do
    local ok, expected = fits(key, value)
    if not ok then
      error(("bad option '%s' to '%s' (%s expected, got %s)"):format(key, name, expected, number_text.of(value)), 3)
    end
  end
end

---@class operations.Request
---@field id string
---@field operationId string
---@field input any
---@field requestId string  equals `id`; the operation's context is made from the request
---@field parentRequestId? string
---@field identity? operations.Identity  the one that the transport authenticated, or that of the event if the transport
---  vouches for it
---@field deadline? number  ms since the epoch
---@field metadata? table
---@field traceparent? string
---@field attempt? integer  counted by the transport
---@field on_progress? fun(done: number, total?: number, message?: string)  sends progress to a caller that wants it
---@field peer operations.Peer
---@field streams? boolean  set by the serving side: a response does not end it
---@field credit? integer  events that may still be sent; nil: only the transport holds them back
---@field plain boolean  its peer announced nothing: it gets only the five events and their fields
---@field ended? boolean
---@field on_abort? fun(err: operations.Error, request: operations.Request)  set by the serving side
---@field worker? operations.Task  the task that runs it, set by the serving side
local Request = contexts.adapter({}) -- the context of its call, too
Request.__index = Request

-- The time left at sending counts beside the absolute deadline: a caller whose clock is ahead gets no extra time, and a
-- receiver that was stopped for long starts nothing whose caller has given up.
local function due_of(payload)
  local deadline, ttl = payload.deadline, payload.ttl
  local limit = ttl and core.now() + ttl
  return limit and (not deadline or limit < deadline) and limit or deadline
end

---@param map operations.CallMap
---@param payload table  of a checked call.requested
---@param peer operations.Peer
---@return operations.Request
function call_request.new(map, payload, peer)
  local metadata = payload.metadata
  local self = setmetatable({
    id = payload.requestId,
    requestId = payload.requestId,
    operationId = payload.operationId,
    input = payload.input,
    identity = peer.identity or peer.vouches and payload.identity or nil,
    deadline = due_of(payload),
    attempt = peer.attempt,
    peer = peer,
    credit = payload.credit,
    seq = 0,
    map = map,
    plain = not (peer.announced or call_event.announces(payload)),
    parentRequestId = payload.parentRequestId,
    metadata = metadata,
    traceparent = metadata and type(metadata.traceparent) == "string" and metadata.traceparent or nil,
    streams = nil, on_abort = nil, ended = nil, worker = nil, on_progress = nil, -- reserves the fields set later
  }, Request)
  if payload.progress then
    self.on_progress = function(done, total, message)
      if not self.ended and type(done) == "number" then
        self:send("call.progress", { requestId = self.id, done = done, total = tonumber(total),
          message = message ~= nil and tostring(message) or nil })
      end
    end
  end
  if peer.changed and payload.capabilities then
    peer.asking = job.asking(self, payload.capabilities, peer.changed)
  end
  peer.announced = not self.plain
  return self
end

--- Sends an event to the caller.
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

local UNCREDITED = 64 -- events between two turns of the loop

local function arm_turn(wake)
  return scheduler.host().timer(0, wake)
end

-- Lets other tasks run, and sent events leave.
local function pause(self)
  local transport = self.map._transport
  if transport.settle then
    return transport:settle()
  end
  return scheduler.try_await(arm_turn)
end

-- Waits until the consumer has room. A consumer without credits that reads as fast as a handler sends would otherwise
-- keep this side from reading: its abort and other calls would not arrive.
local function await_room(self)
  if self.credit then
    return await_credit(self)
  elseif self.seq % UNCREDITED == UNCREDITED - 1 then
    return pause(self)
  end
end

local function event(self, envelope)
  local failure = await_room(self)
  if failure ~= nil then
    return nil, errors.from(failure)
  elseif self.ended then
    return ended(self)
  end
  self.seq = self.seq + 1
  local payload = { requestId = self.id, output = envelope, seq = not self.plain and self.seq or nil }
  self.credit = self.credit and self.credit - 1
  local ok, err = self:send("call.responded", payload)
  failure = turn.spend(self, turn.PIECE)
  if failure ~= nil then
    return nil, errors.from(failure)
  end
  return ok, err
end

--- Sends a response: the answer of a call, or one event of a subscription; waits while the consumer has no room.
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
  if not ok and err.code == "VALIDATION_ERROR" then -- it cannot be encoded: the caller gets that error
    finish(self)
    self:send("call.error", call_event.failure(self.id, errors.new("EXECUTION_ERROR",
      ("%s: the result cannot be sent: %s"):format(self.operationId, err.message)), self.plain))
  end
  return ok, err
end

-- Fields removed, one after the other, from an error that cannot be sent: the caller must get the failure.
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

--- Ends the request with an error.
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

--- The caller cancelled the request or is gone: tells its handler to stop.
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
