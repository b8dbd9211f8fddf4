--- Notifications of changed lists and updated resources. Legacy clients are notified directly, about resources that
--- they subscribed to; modern ones (2026-07-28) keep a request open that names what they want (`subscriptions/listen`).
local core = require("operations.core")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local message = require("operations.mcp.protocol.message")
local task = require("operations.task")
local tasks = require("operations.mcp.server.tasks")

local changes = { methods = {} }

local INVALID_PARAMS = message.codes.INVALID_PARAMS
local SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

-- The lists, in the order of notification.
local kinds = { "tools", "prompts", "resources" }

-- Changes within this time, in seconds, are reported as one.
local PAUSE = 0.01

---@class operations.mcp.ListChanges
---@field _peers table<operations.mcp.Peer, true>  legacy clients
---@field _listeners table<table, true>  { call, notifications, stop } of modern clients
---@field unfollow fun()  stops following the registry
local Changes = {}
Changes.__index = Changes

--- Starts without listeners.
---@param server operations.McpServer
---@return operations.mcp.ListChanges
function changes.new(server)
  return setmetatable({ _server = server, _peers = setmetatable({}, { __mode = "k" }), _listeners = {}, _pending = {},
    _watched = {} }, Changes)
end

--- Adds a legacy client.
---@param peer operations.mcp.Peer
function Changes:join(peer)
  self._peers[peer] = true
end

--- Removes a legacy client.
---@param peer operations.mcp.Peer
function Changes:leave(peer)
  self._peers[peer] = nil
  for uri in pairs(peer.watched or {}) do
    self:_unwatch(uri)
  end
  peer.watched = nil
end

-- Sends a notification to those that want it.
local function announce(self, method, params, wants_peer, wants_listener)
  for peer in pairs(self._peers) do
    if wants_peer(peer) then
      peer.send(message.notification(method, params))
    end
  end
  for listener in pairs(self._listeners) do
    if wants_listener(listener.notifications) then
      local stamped = { uri = params and params.uri, _meta = { [SUBSCRIPTION] = listener.call.id } }
      listener.call.send(message.notification(method, stamped))
    end
  end
end

local function always()
  return true
end

local function announce_pending(self)
  task.sleep(PAUSE)
  local pending = self._pending
  self._pending = {}
  for _, kind in ipairs(kinds) do
    if pending[kind] then
      announce(self, ("notifications/%s/list_changed"):format(kind), nil, always, function(wanted)
        return wanted[kind .. "ListChanged"]
      end)
    end
  end
end

--- A list has changed: notifies clients, once for several changes.
---@param kind "tools"|"prompts"|"resources"
function Changes:changed(kind)
  if next(self._peers) == nil and next(self._listeners) == nil then
    return
  end
  local waits = next(self._pending) ~= nil
  self._pending[kind] = true
  if not waits then
    task.detach(announce_pending, self)
  end
end

--- A resource has changed: notifies its subscribers.
---@param uri string
function Changes:updated(uri)
  announce(self, "notifications/resources/updated", { uri = uri }, function(peer)
    return peer.watched and peer.watched[uri]
  end, function(wanted)
    return wanted.uris[uri]
  end)
end

-- Tells the provider of a resource once that it has a subscriber.
function Changes:_watch(uri)
  self._watched[uri] = (self._watched[uri] or 0) + 1
  for _, provider in ipairs(self._watched[uri] == 1 and self._server.providers or {}) do
    if provider.watch then
      provider:watch(uri)
    end
  end
end

function Changes:_unwatch(uri)
  local left = self._watched[uri] - 1
  self._watched[uri] = left > 0 and left or nil
  for _, provider in ipairs(left == 0 and self._server.providers or {}) do
    if provider.unwatch then
      provider:unwatch(uri)
    end
  end
end

--- Ends all listeners.
function Changes:close()
  self.unfollow()
  for listener in pairs(self._listeners) do
    listener.stop()
  end
end

-- The changes that a client subscribes to and that exist here; or nil and the reason.
local function filter_of(wanted)
  if core.kind(wanted) ~= "object" then
    return nil, "notifications: object expected"
  end
  local filter, told = { uris = {} }, marks.object()
  for _, kind in ipairs(kinds) do
    local name = kind .. "ListChanged"
    if wanted[name] == true then
      filter[name], told[name] = true, true
    end
  end
  local uris = message.present(wanted.resourceSubscriptions)
  if uris ~= nil and core.kind(uris) ~= "array" or uris and #uris > limits.mcp_watched then
    return nil, ("notifications: resourceSubscriptions: at most %d strings expected"):format(limits.mcp_watched)
  end
  for _, uri in ipairs(uris or {}) do
    if type(uri) ~= "string" then
      return nil, "notifications: resourceSubscriptions: strings expected"
    end
    filter.uris[uri] = true
  end
  told.resourceSubscriptions = next(filter.uris) ~= nil and uris or nil
  return filter, told
end

-- Runs until the client or the server ends it.
local function listen(self, listener)
  self._listeners[listener] = true
  for uri in pairs(listener.notifications.uris) do
    self:_watch(uri)
  end
  local ok, raised = pcall(task.await, function(wake)
    listener.stop = wake
  end)
  self._listeners[listener] = nil
  for uri in pairs(listener.notifications.uris) do
    self:_unwatch(uri)
  end
  if not ok then
    error(raised, 0)
  end
end

changes.methods["subscriptions/listen"] = { era = "modern", run = function(call)
  local filter, told = filter_of(call.params.notifications)
  local missing = filter and message.present(call.params.notifications.taskIds) ~= nil and tasks.undeclared(call)
  if missing then
    return nil, missing
  elseif not filter then
    return nil, { code = INVALID_PARAMS, message = "subscriptions/listen: " .. told, status = 400 }
  elseif call.takes_events == false then
    return nil, { code = message.codes.INVALID_REQUEST, status = 406,
      message = "subscriptions/listen: Accept has to list text/event-stream" }
  end
  local stamp = { [SUBSCRIPTION] = call.id }
  call.send(message.notification("notifications/subscriptions/acknowledged", { notifications = told, _meta = stamp }))
  if next(told) ~= nil then
    listen(call.server.changes, { call = call, notifications = filter })
  end
  return { _meta = stamp }
end }

local function uri_of(call)
  local uri = call.params.uri
  if type(uri) == "string" then
    return uri
  end
  return nil, { code = INVALID_PARAMS, message = call.method .. ": uri: string expected" }
end

changes.methods["resources/subscribe"] = { era = "legacy", run = function(call)
  local uri, failure = uri_of(call)
  local peer = call.peer
  peer.watched = peer.watched or {}
  local count = 0
  for _ in pairs(peer.watched) do
    count = count + 1
  end
  if not uri then
    return nil, failure
  elseif count >= limits.mcp_watched then
    return nil, { code = message.codes.INTERNAL_ERROR, message = ("resources/subscribe: at most %d"):format(count) }
  elseif not peer.watched[uri] then
    peer.watched[uri] = true
    call.server.changes:_watch(uri)
  end
  return marks.object()
end }

changes.methods["resources/unsubscribe"] = { era = "legacy", run = function(call)
  local uri, failure = uri_of(call)
  local watched = call.peer.watched
  if not uri then
    return nil, failure
  elseif watched and watched[uri] then
    watched[uri] = nil
    call.server.changes:_unwatch(uri)
  end
  return marks.object()
end }

return changes
