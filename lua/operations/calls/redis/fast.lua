--- Mode `fast`: a request is published to one process that serves the operation, at most once; its events are published
--- to the caller. Events of one turn for the same process are sent as one message, which is cheaper.
local call_event = require("operations.calls.event")
local core = require("operations.core")
local errors = require("operations.base.error")
local presences = require("operations.calls.redis.presence")
local task = require("operations.task")

local MOST = 4096 -- bytes gathered in one message

local redis_fast = {
  slack = 2 * MOST, -- bytes by which a message of several events may exceed an event
}

-- Events for a node, as JSON.
---@class operations.RedisMessage
---@field node operations.RedisNode
---@field bytes integer
---@field requests? table[]  the payloads of the requests among them

-- A request that a node did not begin, while no other node is known.
---@class operations.RedisUnbegun
---@field payload table
---@field failure table  the payload of its `call.error` if none is found
---@field stop number  ms, when it fails

---@class operations.RedisFast
---@field _unbegun table<string, operations.RedisUnbegun>  by the request's id
local Fast = {}
Fast.__index = Fast

local ends = { ["call.completed"] = true, ["call.error"] = true, ["call.aborted"] = true }

-- `streams`: it is known to be a subscription, even if its events are not numbered.
local function is_end(name, payload, streams)
  return ends[name] or name == "call.responded" and payload.seq == nil and not streams
end

local function peer_of(self, node)
  local peer = node.peer
  if not peer then
    peer = { node = node, vouches = self._shared.vouches }
    node.peer = peer
  end
  peer.announced = peer.announced or node.version >= 0 -- known from its announcement
  return peer
end

local function encode(shared, name, payload)
  if not shared.link.connected then
    return nil, shared.link:unconnected()
  end
  return shared.presence:encode(name, payload, shared.max_message)
end

-- A request for a spec goes to a process that serves the operation.
local function operation_of(payload)
  local id, input = payload.operationId, payload.input
  if id == "services.schema" and type(input) == "table" and type(input.operationId) == "string" then
    return input.operationId
  end
  return id
end

local function nothing() end

local function publish(self, message)
  local shared = self._shared
  local channel = shared.presence:channel(message.node.id)
  for i = 1, shared.signature.secret and #message or 0 do -- messages are numbered in the order of sending
    message[i] = shared.signature:seal(channel, message[i], true)
  end
  shared.link:publish(channel, table.concat(message, "\n"),
    message.requests and self._published or nothing, message)
end

--- Sends the gathered events.
function Fast:flush()
  local gathered = self._gathered
  self._gathered = {}
  for _, message in pairs(gathered) do
    publish(self, message)
  end
end

-- Adds an event to the message for a node, which is sent when all ready tasks have run.
local function gather(self, node, text, request)
  local gathered = self._gathered
  local message = gathered[node]
  if not message then
    if next(gathered) == nil then
      task.detach(Fast.flush, self)
    end
    message = { nil, nil, nil, nil, node = node, bytes = 0, requests = nil } -- the events, as JSON
    gathered[node] = message
  end
  message[#message + 1], message.bytes = text, message.bytes + #text
  if request then
    local requests = message.requests or {}
    message.requests, requests[#requests + 1] = requests, request
  end
  if message.bytes >= MOST then
    gathered[node] = nil
    publish(self, message)
  end
end

local function assign(self, node, payload, text)
  self._shared.presence.nodes:assign(payload, node)
  gather(self, node, text, payload)
end

-- Sends a request if a node is known that serves the operation.
local function is_sent(self, payload)
  local node = self._shared.presence.nodes:pick(operation_of(payload))
  payload.ttl = call_event.ttl(payload.deadline)
  local text = node and encode(self._shared, "call.requested", payload)
  if text then
    assign(self, node, payload, text)
  end
  return text ~= nil
end

-- For a request that has not ended.
local function attempt(self, unbegun)
  local payload, now = unbegun.payload, core.now()
  local id = payload.requestId
  local late = payload.deadline and now >= payload.deadline
  if not late and is_sent(self, payload) then
    self._unbegun[id] = nil
  elseif now < unbegun.stop then
    self._shared.presence:seek(function()
      if self._unbegun[id] == unbegun then
        attempt(self, unbegun)
      end
    end)
  else
    self._unbegun[id] = nil
    self._shared.receiver.deliver("call.error",
      late and presences.too_late(operation_of(payload), id) or unbegun.failure, {})
  end
end

--- Sends a request that a node did not begin to another one that serves the operation; waits a moment for one.
---@param payload table
---@param failure table  the payload of its `call.error` if none is found
function Fast:send_on(payload, failure)
  local unbegun = { payload = payload, failure = failure, stop = presences.search_end(payload.deadline) }
  self._unbegun[payload.requestId] = unbegun
  attempt(self, unbegun)
end

--- Requests that wait for a node have ended: the connection was lost, or is closed.
function Fast:forget()
  self._unbegun = {}
end

-- Sends a node no more requests until it announces what it serves.
local function avoid(node)
  node.offers, node.version = {}, -1
end

-- No process received these requests.
local function reassign(self, message)
  local nodes, node = self._shared.presence.nodes, message.node
  for _, payload in ipairs(message.requests) do
    if nodes:of(payload.requestId) == node then
      nodes:release(payload.requestId)
      avoid(node)
      self:send_on(payload, { requestId = payload.requestId, code = "UNAVAILABLE", retryable = true,
        mayHaveRun = false,
        message = ("no process on this Redis serves '%s' any more"):format(operation_of(payload)) })
    end
  end
end

---@param shared operations.RedisShared
---@return operations.RedisFast
function redis_fast.new(shared)
  local self = setmetatable({ _shared = shared, _gathered = {}, _unbegun = {} }, Fast)
  function self._published(receivers, _, message)
    if receivers == 0 then
      reassign(self, message)
    end
  end
  return self
end

-- Has a stopping node refused a request?
local function is_refused(event, payload)
  return event.type == "call.error" and payload.code == "DRAINING" and payload.mayHaveRun == false
    and call_event.check(event) ~= nil
end

-- Only running requests may be aborted, and only by their callers.
local function take_request(self, event, node, id)
  local before = node.serving[id]
  node.serving[id] = true
  if self._shared.receiver.event(event, peer_of(self, node)) == false then
    node.serving[id] = before
  end
end

-- Why an answer is dropped: its peer did not get the call, or the call has ended.
local function late(name, id)
  return errors.new("VALIDATION_ERROR", ("a late %s: request %s has ended, or another process has it"):format(
    tostring(name), id))
end

--- Takes an event that arrived.
---@param event table
---@param payload table
function Fast:take(event, payload)
  local nodes = self._shared.presence.nodes
  local node, id = nodes:hear(event.from), payload.requestId
  if type(id) == "string" then
    if event.type == "call.requested" then
      return take_request(self, event, node, id)
    elseif event.type == "call.aborted" and node.serving[id] then
      node.serving[id] = nil
    elseif nodes:of(id) ~= node and event.type ~= "call.credit" then
      return self._shared.receiver.event(false, {}, late(event.type, id))
    elseif is_refused(event, payload) then
      avoid(node)
      return self:send_on(nodes:release(id), payload)
    elseif is_end(event.type, payload, nodes:streams(id)) then
      nodes:release(id)
    end
  end
  self._shared.receiver.event(event, peer_of(self, node))
end

--- Makes a request; waits a moment for a process that serves the operation.
---@param payload table
---@return boolean? ok
---@return operations.Error? err
function Fast:request(payload)
  local operation = operation_of(payload)
  local text, err = encode(self._shared, "call.requested", payload)
  if not text then
    return nil, err
  end
  local node, failure = self._shared.presence:find(operation, payload.deadline)
  if failure then
    return nil, failure
  elseif not node and not self._shared.subscriber.connected then
    return nil, self._shared.subscriber:unconnected()
  elseif not node then
    return nil, call_event.error({ code = "UNAVAILABLE", retryable = true, mayHaveRun = false,
      message = ("no process on this Redis serves '%s'%s"):format(operation, self._shared.signature:remark()) })
  end
  assign(self, node, payload, text)
  return true
end

--- Sends an event of a running request.
---@param name string
---@param payload table
---@param peer? operations.Peer  its caller; nil: this process
---@return boolean? ok
---@return operations.Error? err
function Fast:send(name, payload, peer)
  local id = payload.requestId
  if not peer and name == "call.aborted" then
    self._unbegun[id] = nil
  end
  local node = peer and peer.node or self._shared.presence.nodes:of(id)
  if not node then
    return nil, errors.new("TRANSPORT_LOST", "the other side is gone", { kind = "gone" })
  end
  local text, err = encode(self._shared, name, payload)
  if not text then
    return nil, err
  end
  gather(self, node, text)
  if peer and is_end(name, payload) then
    node.serving[id] = nil
  elseif not peer and name == "call.aborted" then
    self._shared.presence.nodes:release(id)
  end
  return true
end

return redis_fast
