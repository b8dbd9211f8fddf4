--- Mode `fast`: a request is published to one of those who serve the operation, at most once; its events are published
--- to who made it.
local core = require("operations.core")
local errors = require("operations.error")
local json = require("operations.json")

local redis_fast = {}

---@class operations.RedisFast
local Fast = {}
Fast.__index = Fast

---@param options { link: operations.RedisLink, presence: operations.RedisPresence, receiver: operations.Receiver,
---  vouches?: boolean }
---@return operations.RedisFast
function redis_fast.new(options)
  return setmetatable({
    _link = options.link, _presence = options.presence, _receiver = options.receiver, _vouches = options.vouches,
  }, Fast)
end

local ends = { ["call.completed"] = true, ["call.error"] = true, ["call.aborted"] = true }

local function is_end(name, payload)
  return ends[name] or name == "call.responded" and payload.seq == nil
end

--- Takes an event that came.
---@param event table
---@param payload table
function Fast:take(event, payload)
  local nodes = self._presence.nodes
  local node, id = nodes:hear(event.from, core.now()), payload.requestId
  if type(id) == "string" then
    if event.type == "call.requested" then
      node.serving[id] = true
    elseif event.type == "call.aborted" and node.serving[id] then
      node.serving[id] = nil
    elseif nodes:of(id) ~= node and event.type ~= "call.credit" then
      return self._receiver.event(false, {}) -- an answer from somebody who was not asked
    elseif is_end(event.type, payload) then
      nodes:release(id)
    end
  end
  self._receiver.event(event, { node = node, vouches = self._vouches })
end

local function encode(self, name, payload)
  if not self._link.connected then
    local err = errors.new("TRANSPORT_LOST", "not connected to Redis", { kind = "connect" })
    err.retryable, err.mayHaveRun = true, false
    return nil, err
  end
  return json.encode({ type = name, payload = payload, from = self._presence.id })
end

-- Sends a request to a node. When nobody heard of it, somebody else may.
local function assign(self, node, id, operation, text)
  local nodes = self._presence.nodes
  nodes:assign(id, node)
  self._link:post(function(receivers)
    if receivers ~= 0 or nodes:of(id) ~= node then
      return
    end
    nodes:release(id)
    node.offers, node.version = {}, -1
    local other = nodes:pick(operation)
    if other then
      return assign(self, other, id, operation, text)
    end
    self._receiver.deliver("call.error", { requestId = id, code = "UNAVAILABLE", retryable = true, mayHaveRun = false,
      message = ("nobody on this Redis serves '%s' any more"):format(operation) }, {})
  end, "PUBLISH", self._presence:channel(node.id), text)
end

-- Of the operation whose spec somebody asks for, one that serves it is asked.
local function operation_of(payload)
  local id, input = payload.operationId, payload.input
  if id == "services.schema" and type(input) == "table" and type(input.operationId) == "string" then
    return input.operationId
  end
  return id
end

--- Makes a request; waits a moment for somebody who serves the operation.
---@param payload table
---@return boolean? ok
---@return operations.Error? err
function Fast:request(payload)
  local operation = operation_of(payload)
  local text, err = encode(self, "call.requested", payload)
  if not text then
    return nil, err
  end
  local node, failure = self._presence:find(operation)
  if failure then
    return nil, failure
  elseif not node then
    err = errors.new("UNAVAILABLE", ("nobody on this Redis serves '%s'"):format(operation))
    err.retryable, err.mayHaveRun = true, false
    return nil, err
  end
  assign(self, node, payload.requestId, operation, text)
  return true
end

--- Sends an event of a request that is under way.
---@param name string
---@param payload table
---@param peer? operations.Peer  who made it; else it is ours
---@return boolean? ok
---@return operations.Error? err
function Fast:send(name, payload, peer)
  local id = payload.requestId
  local node = peer and peer.node or self._presence.nodes:of(id)
  if not node then
    return nil, errors.new("TRANSPORT_LOST", "the other side is gone", { kind = "gone" })
  end
  local text, err = encode(self, name, payload)
  if not text then
    return nil, err
  end
  self._link:post(function() end, "PUBLISH", self._presence:channel(node.id), text)
  if peer and is_end(name, payload) then
    node.serving[id] = nil
  elseif not peer and name == "call.aborted" then
    self._presence.nodes:release(id)
  end
  return true
end

return redis_fast
