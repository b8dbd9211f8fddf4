--- What comes from a server by itself: its requests, answered while calls are under way, and its notifications.
local answers = require("operations.mcp.client.answers")
local limits = require("operations.base.limits")
local message = require("operations.mcp.protocol.message")
local task = require("operations.task")

local incoming = {}

---@class operations.mcp.Incoming
---@field _running table<operations.mcp.Id, operations.Task>
---@field _count integer
---@field reports table<string, table|false>  of progress, by the tokens of tasks: the last one that nobody has read
local Incoming = {}
Incoming.__index = Incoming

--- One for a session.
---@param notified fun(method: string, params: table)  told of what is no request's own
---@return operations.mcp.Incoming
function incoming.new(notified)
  return setmetatable({ _notified = notified, _running = {}, _count = 0, reports = {} }, Incoming)
end

-- No longer under way; nil when it was not.
local function forget(self, id)
  local running = self._running[id]
  if running then
    self._running[id] = nil
    self._count = self._count - 1
  end
  return running
end

-- What is sent for a result or a failure: what JSON cannot say is a failure, too.
local function reply_of(config, request, result, failure)
  local reply = result and message.result(request.id, result)
    or message.failure(request.id, failure.code, failure.message, failure.data)
  local text, err = message.encode(reply)
  if text then
    return reply
  end
  config.log("error", ("%s: the program's answer cannot be sent: %s"):format(request.method, err.message))
  return message.failure(request.id, message.codes.INTERNAL_ERROR, request.method .. ": the client's answer is no JSON")
end

local function answer(self, request, link, client)
  local running = task.current()
  local config = client._config
  local result, failure = answers.to(config, request.method, request.params or {},
    { client = client, requestId = request.id })
  if self._running[request.id] == running then -- else it was called off
    forget(self, request.id)
    link:send(reply_of(config, request, result, failure))
  end
end

--- Takes a request of the server; what the program's functions take their time for does not hold anything up.
---@param request operations.mcp.Message
---@param link table
---@param client operations.mcp.Client
function Incoming:request(request, link, client)
  if self._count >= limits.mcp_server_requests or self._running[request.id] then
    link:send(message.failure(request.id, message.codes.INTERNAL_ERROR, "too many requests at once"))
    return
  end
  self._count = self._count + 1
  self._running[request.id] = task.detach(answer, self, request, link, client)
end

--- Takes a notification of the server.
---@param notification operations.mcp.Message
---@param link table
function Incoming:notification(notification, link)
  local method, params = notification.method, notification.params or {}
  if method == "notifications/progress" then
    local token = params.progressToken
    if not link:progress(token, params) and self.reports[token] ~= nil then
      self.reports[token] = params
    end
  elseif method == "notifications/cancelled" then
    local running = params.requestId ~= nil and forget(self, params.requestId)
    if running then
      running:cancel("the server called its request off")
    end
  else
    self._notified(method, params)
  end
end

--- Calls off what is under way.
function Incoming:close()
  for id, running in pairs(self._running) do
    forget(self, id)
    running:cancel("the client was closed")
  end
end

return incoming
