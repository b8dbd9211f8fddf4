--- Who is there: the processes that share a Redis, what each of them serves, and how many of our requests it works on.
--- Knows no connection.
local redis_nodes = {}

---@class operations.RedisNode
---@field id string
---@field silence integer  how often it was looked after since it last said something
---@field version integer  of what it offers; -1: not known yet
---@field offers table<string, boolean>  operation ids
---@field requests table<string, "call"|"stream">  of ours that it works on, by id
---@field load integer  how many
---@field serving table<string, boolean>  of its that we work on, by id
---@field peer? operations.Peer  who makes its requests

---@class operations.RedisNodes
---@field by_id table<string, operations.RedisNode>
local Nodes = {}
Nodes.__index = Nodes

---@return operations.RedisNodes
function redis_nodes.new()
  return setmetatable({ by_id = {}, _of_request = {} }, Nodes)
end

--- Takes note of what a process says of itself.
---@param id string
---@param version? integer
---@param offers? string[]
---@return operations.RedisNode
---@return boolean outdated  what it offers has changed, and it did not say what it is
function Nodes:hear(id, version, offers)
  local node = self.by_id[id]
  if not node then
    node = { id = id, version = -1, offers = {}, requests = {}, load = 0, serving = {} }
    self.by_id[id] = node
  end
  node.silence = 0
  if offers then
    node.version, node.offers = version, {}
    for _, offered in ipairs(offers) do
      if type(offered) == "string" then
        node.offers[offered] = true
      end
    end
  end
  return node, version ~= nil and node.version ~= version
end

--- One that serves an operation: the less loaded of two that chance picks.
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

--- The ids of all that somebody serves, in order.
---@return string[]
function Nodes:offered()
  local ids, seen = {}, {}
  for _, node in pairs(self.by_id) do
    for id in pairs(node.offers) do
      if not seen[id] then
        seen[id], ids[#ids + 1] = true, id
      end
    end
  end
  table.sort(ids)
  return ids
end

--- A request of ours is on its way to a node.
---@param request_id string
---@param node operations.RedisNode
---@param streams? boolean  it is a subscription
function Nodes:assign(request_id, node, streams)
  self._of_request[request_id] = node
  if not node.requests[request_id] then
    node.requests[request_id], node.load = streams and "stream" or "call", node.load + 1
  end
end

--- Is it a subscription of ours that is under way?
---@param request_id string
---@return boolean
function Nodes:streams(request_id)
  local node = self._of_request[request_id]
  return node ~= nil and node.requests[request_id] == "stream"
end

--- The node that works on a request of ours.
---@return operations.RedisNode?
function Nodes:of(request_id)
  return self._of_request[request_id]
end

--- A request of ours has ended.
function Nodes:release(request_id)
  local node = self._of_request[request_id]
  if node then
    self._of_request[request_id] = nil
    node.requests[request_id], node.load = nil, node.load - 1
  end
end

--- Forgets a node: whose requests end with it.
---@param node operations.RedisNode
---@return string[] ours  requests that it worked on
---@return string[] its  requests that we work on for it
function Nodes:forget(node)
  local ours, its = {}, {}
  self.by_id[node.id] = nil
  for id in pairs(node.requests) do
    ours[#ours + 1] = id
  end
  for id in pairs(node.serving) do
    its[#its + 1] = id
  end
  for _, id in ipairs(ours) do
    self:release(id)
  end
  return ours, its
end

return redis_nodes
