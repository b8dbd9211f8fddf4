--- The other processes on this Redis: what each serves, which of our requests it runs, and which of its we run. Sends
--- and receives nothing.
local members = require("operations.base.members")

local redis_nodes = {}

---@class operations.RedisNode
---@field id string
---@field silence integer  checks since it was last heard
---@field version integer  of its offers; -1: unknown
---@field offers table<string, boolean>  operation ids
---@field requests table<string, table>  the payloads of our requests that it runs, by id
---@field load integer  the number of our requests that it runs
---@field serving table<string, boolean>  its requests that we run, by id
---@field peer? operations.Peer  the peer of its requests

---@class operations.RedisNodes
---@field by_id table<string, operations.RedisNode>
local Nodes = {}
Nodes.__index = Nodes

---@return operations.RedisNodes
function redis_nodes.new()
  return setmetatable({ by_id = {}, _of_request = {} }, Nodes)
end

--- Records an announcement of a process.
---@param id string
---@param version? integer
---@param offers? string[]
---@return operations.RedisNode
---@return boolean changed  its offers are others than those known before
function Nodes:hear(id, version, offers)
  local node = self.by_id[id]
  if not node then
    node = { id = id, version = -1, offers = {}, requests = {}, load = 0, serving = {} }
    self.by_id[id] = node
  end
  node.silence = 0
  local changed = version ~= nil and node.version ~= version
  if offers then
    node.version, node.offers = version or -1, {}
    for _, offered in ipairs(offers) do
      if type(offered) == "string" then
        node.offers[offered] = true
      end
    end
  end
  return node, changed
end

--- A process that serves an operation: the less loaded one of two random ones.
---@param operation string
---@return operations.RedisNode?
function Nodes:pick(operation)
  local able = {}
  for _, node in pairs(self.by_id) do
    if node.offers[operation] then
      able[#able + 1] = node
    end
  end
  if #able < 2 then
    return able[1]
  end
  local i = math.random(#able)
  local j = math.random(#able - 1)
  j = j >= i and j + 1 or j
  return able[i].load <= able[j].load and able[i] or able[j]
end

--- The ids of all served operations, sorted.
---@return string[]
function Nodes:offered()
  local offers = {}
  for _, node in pairs(self.by_id) do
    for id in pairs(node.offers) do
      offers[id] = true
    end
  end
  return members.names(offers)
end

--- Records that a request of ours is sent to a node.
---@param payload table  of the request
---@param node operations.RedisNode
function Nodes:assign(payload, node)
  local id = payload.requestId
  self._of_request[id] = node
  if not node.requests[id] then
    node.requests[id], node.load = payload, node.load + 1
  end
end

--- Is it a running subscription of ours?
---@param request_id string
---@return boolean
function Nodes:streams(request_id)
  local node = self._of_request[request_id]
  return node ~= nil and node.requests[request_id].credit ~= nil
end

--- The node that runs a request of ours.
---@return operations.RedisNode?
function Nodes:of(request_id)
  return self._of_request[request_id]
end

--- Records that a request of ours has ended, or is sent to another node.
---@param request_id string
---@return table? payload
function Nodes:release(request_id)
  local node = self._of_request[request_id]
  if node then
    local payload = node.requests[request_id]
    self._of_request[request_id] = nil
    node.requests[request_id], node.load = nil, node.load - 1
    return payload
  end
end

--- Removes a node; its requests end.
---@param node operations.RedisNode
---@return table[] ours  the payloads of our requests that it ran
---@return string[] its  its requests that we run
function Nodes:forget(node)
  local ours = {}
  self.by_id[node.id] = nil
  for i, id in ipairs(members.names(node.requests)) do
    ours[i] = self:release(id)
  end
  return ours, members.names(node.serving)
end

--- The ids of the requests that we run for others.
---@return string[]
function Nodes:serving()
  local ids = {}
  for _, node in pairs(self.by_id) do
    for id in pairs(node.serving) do
      ids[#ids + 1] = id
    end
  end
  return ids
end

return redis_nodes
