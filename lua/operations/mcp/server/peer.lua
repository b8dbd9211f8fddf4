--- The server's state of one client: a process at the other end of stdio, or a legacy session over HTTP. Both sides
--- have running requests at the same time, with ids of their own.
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local message = require("operations.mcp.protocol.message")
local task = require("operations.task")

local peer = {}

---@class operations.mcp.Peer
---@field server operations.McpServer
---@field identity? operations.Identity
---@field version? string  agreed on by `initialize`; nil until then
---@field capabilities table  the client's, in the legacy era
---@field client? table  its `clientInfo`
---@field connection table  empty; handlers know the client by it. Each session has its own
---@field log_level? string  the lowest level of messages that it wants
---@field running table<operations.mcp.Id, operations.mcp.ServerCall>  its requests
---@field send fun(value: operations.mcp.Message)  sends messages that belong to no request
---@field _asked table<integer, fun(answer: operations.mcp.Message)>  our requests that wait for an answer
local Peer = {}
Peer.__index = Peer

--- A client that has sent nothing yet.
---@param server operations.McpServer
---@param send fun(value: operations.mcp.Message)
---@param identity? operations.Identity
---@return operations.mcp.Peer
function peer.new(server, send, identity)
  return setmetatable({ server = server, send = send, identity = identity, capabilities = {}, running = {},
    connection = {}, _asked = {}, _last = 0, _waiting = 0 }, Peer)
end

--- Sends a request to the client and waits for its answer (legacy era).
---@param method string
---@param params table
---@param send fun(value: operations.mcp.Message)  for the stream that it belongs to
---@return table? result
---@return { code: integer, message: string, data: any }|operations.Error|nil failure  BUSY: too many requests wait;
---  UNAVAILABLE: the client has no stream for it
function Peer:request(method, params, send)
  if self._waiting >= limits.mcp_server_requests then
    return nil, errors.new("BUSY", ("%d requests wait for the client"):format(self._waiting))
  end
  local id = self._last + 1
  self._last, self._waiting = id, self._waiting + 1
  local ok, answer = pcall(task.await, function(wake)
    self._asked[id] = wake
    if send({ jsonrpc = "2.0", id = id, method = method, params = params }) == false then
      wake({ error = errors.new("UNAVAILABLE", method .. ": the client has no stream open for it") })
    end
    return function()
      send(message.notification("notifications/cancelled", { requestId = id, reason = "the call has ended" }))
    end
  end)
  self._asked[id], self._waiting = nil, self._waiting - 1
  if not ok then
    error(answer, 0)
  end
  return answer.result, answer.error
end

--- Begins a session. The client of a process may begin another one: it has connected again, or a bridge serves several.
--- Running calls continue, unless the new session uses its id.
---@param params table  of `initialize`
---@param version string
function Peer:begin(params, version)
  local changes = self.server.changes
  if self.version then
    changes:leave(self)
    self.connection, self.log_level = {}, nil
  end
  self.version = version
  self.capabilities = type(params.capabilities) == "table" and params.capabilities or {}
  self.client = type(params.clientInfo) == "table" and params.clientInfo or nil
  changes:join(self)
end

--- Is a request with this id running? One of an earlier session is cancelled.
---@param id operations.mcp.Id
---@return boolean
function Peer:runs(id)
  local running = self.running[id]
  if running and running.connection ~= self.connection then
    running:cancel("a new session uses the id of the request")
    return false
  end
  return running ~= nil
end

--- Handles a possible answer to a request of ours.
---@param value operations.mcp.Message
function Peer:answered(value)
  local wake = self._asked[message.id_of(value.id)]
  if wake then
    wake(value)
  end
end

--- Handles a notification.
---@param value operations.mcp.Message
function Peer:notified(value)
  local params = value.params or {}
  if value.method == "notifications/cancelled" then
    local call = self.running[params.requestId]
    if call then
      call:cancel(type(params.reason) == "string" and params.reason or "the client cancelled the request")
    end
  end
end

--- Cancels everything that runs for the client.
---@param reason string
function Peer:cancel_all(reason)
  local running = {}
  for _, call in pairs(self.running) do
    running[#running + 1] = call
  end
  for _, call in ipairs(running) do
    call:cancel(reason)
  end
end

return peer
