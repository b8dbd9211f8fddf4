--- Resources and prompts of MCP servers behind this one. URIs are unchanged, as results of tools name them; names of
--- prompts and resources get the client's name as a prefix. Callers' credentials are not forwarded.
local argument = require("operations.base.argument")
local hosts = require("operations.hosts")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local results = require("operations.mcp.protocol.result")
local told = require("operations.mcp.server.told")

local upstream = {}

---@class operations.mcp.Upstream : operations.mcp.Provider
---@field client operations.mcp.Client
---@field prefix string
local Upstream = {}
Upstream.__index = Upstream

local function add(server, client, is_guarded)
  local self = setmetatable({ client = client, prefix = client.name:gsub("[^%w_-]", "_") .. "_", _server = server,
    _log = server.options.log, _is_guarded = is_guarded }, Upstream)
  table.insert(server.providers, self)
  server.relayed[client.name], server._offer_revision = true, nil
  client:on_state(function(state)
    if state == "connected" then -- only now it is known what the server has
      server.changes:changed("resources")
      server.changes:changed("prompts")
    end
  end)
  client:on_notification(function(method, params)
    local kind = method:match("^notifications/(%a+)/list_changed$")
    if kind == "resources" or kind == "prompts" then
      server.changes:changed(kind)
    elseif method == "notifications/resources/updated" and type(params.uri) == "string" then
      server.changes:updated(params.uri)
    end
  end)
end

-- Offers the clients of many servers as they are made.
local function follow(server, servers, is_guarded)
  local known = {}
  local function add_new()
    for _, name in ipairs(servers.names) do
      local client = servers.clients[name]
      if client and not known[client] then
        known[client] = true
        add(server, client, is_guarded)
      end
    end
  end
  add_new()
  servers:on_state(add_new)
end

--- Offers the resources and prompts of a client's server, or of many servers.
---@param server operations.McpServer
---@param given operations.mcp.Client|operations.mcp.Servers  may still be connecting
---@param is_guarded? boolean  to those callers only who see the operations for them, as NAME.resources.read
function upstream.add(server, given, is_guarded)
  local is_many = type(given) == "table" and type(given.clients) == "table"
  if is_many then
    follow(server, given, is_guarded)
  else
    argument.object(given, "request", "MCP client or servers", 1, "offer", 4)
    add(server, given, is_guarded)
  end
  server.awaited = server.awaited or {}
  table.insert(server.awaited, given)
end

--- Waits for the servers that are connecting, at most until `options.wait` has passed since the first such wait.
---@param server operations.McpServer
---@param fresh? boolean  tools known of earlier lists are not enough
function upstream.settle(server, fresh)
  local now = hosts.current().now
  server.settled_at = server.settled_at or now() + server.options.wait
  for _, awaited in ipairs(server.awaited) do
    local left = server.settled_at - now()
    if left <= 0 then
      return
    end
    awaited:wait(left, fresh)
  end
end

-- Has the server introduced itself, and does it have this?
local function answers(self, capability)
  return self.client.version ~= nil and self.client:has(capability)
end

function Upstream:has(kind)
  return answers(self, kind)
end

-- May the caller use an operation of the server, such as "resources.read"?
local function is_open(self, call, name)
  local client, server = self.client, self._server
  for _, definition in ipairs(self._is_guarded and client.operations or {}) do
    if definition.name == name and not (definition._meta or {}).tool then
      return server.registry:visible(definition.namespace .. "." .. name, call.identity, server.options.filter) == "yes"
    end
  end
  return not self._is_guarded
end

-- The items of a list; empty if the server has none, or does not answer.
local function list(self, call, capability, method, key)
  if self.client.state ~= "connected" or not self.client:has(capability)
    or not is_open(self, call, method == "resources/templates/list" and "resources.templates"
      or capability .. ".list") then
    return {}
  end
  local items, err, problem = results.collect(key, function(cursor)
    return self.client:request(method, { cursor = cursor })
  end)
  if problem or err then
    self._log("warn", ("%s: %s: %s"):format(self.client.name, method, problem or tostring(err)))
  end
  return items or {}
end

local function prefixed(self, items)
  for i, item in ipairs(items) do
    items[i] = members.merged(item, { name = self.prefix .. tostring(item.name) })
  end
  return items
end

function Upstream:resources(call)
  return prefixed(self, list(self, call, "resources", "resources/list", "resources"))
end

function Upstream:templates(call)
  return prefixed(self, list(self, call, "resources", "resources/templates/list", "resourceTemplates"))
end

function Upstream:prompts(call)
  return prefixed(self, list(self, call, "prompts", "prompts/list", "prompts"))
end

-- A result without the members that each server adds to its own.
local function passed_on(value)
  local copy = members.copy(value)
  copy.resultType, copy.ttlMs, copy.cacheScope = nil, nil, nil
  if type(copy._meta) == "table" then
    copy._meta = members.copy(copy._meta)
    copy._meta[message.PREFIX .. "serverInfo"] = nil
    copy._meta = next(copy._meta) ~= nil and copy._meta or nil
  end
  return copy
end

local missing = { [-32002] = true, [-32602] = true }

-- A failure of the server behind.
local function failure_of(self, call, err)
  local passed = told.passed(call, err)
  if not passed then
    told.read(call, err, self.client.name) -- for the log
  end
  return passed or { code = message.codes.INTERNAL_ERROR, message = "a server behind this one failed" }
end

function Upstream:read(call, uri)
  if not answers(self, "resources") or not is_open(self, call, "resources.read") then
    return nil
  end
  local value, err = self.client:request("resources/read", { uri = uri })
  if value then
    return passed_on(value)
  end
  if missing[type(err.details) == "table" and err.details.rpcCode] then
    return nil -- another one may have it
  end
  return nil, failure_of(self, call, err)
end

-- The server's own name of a prompt.
local function own_name(self, name)
  return name:sub(1, #self.prefix) == self.prefix and name:sub(#self.prefix + 1) or nil
end

function Upstream:get(call, name, given)
  local own = answers(self, "prompts") and is_open(self, call, "prompts.get") and own_name(self, name)
  if not own then
    return nil
  end
  local value, err = self.client:request("prompts/get", { name = own, arguments = given })
  if value then
    return passed_on(value)
  end
  return nil, failure_of(self, call, err)
end

function Upstream:complete(call, params)
  local ref = params.ref
  if not answers(self, "completions")
    or not is_open(self, call, ref.type == "ref/prompt" and "prompts.get" or "resources.read") then
    return nil
  elseif ref.type == "ref/prompt" then
    local own = own_name(self, ref.name)
    ref = own and { type = "ref/prompt", name = own }
  end
  if not ref then
    return nil
  end
  local value, err = self.client:request("completion/complete", { ref = ref, argument = params.argument,
    context = params.context })
  if value then
    return passed_on(value)
  end
  return nil, ref.type == "ref/prompt" and failure_of(self, call, err) or nil
end

-- Clients are notified through `on_notification`.
local function nothing() end

function Upstream:watch(uri)
  if answers(self, "resources") then
    self.client:subscribe(uri, nothing)
  end
end

function Upstream:unwatch(uri)
  if answers(self, "resources") then
    self.client:unsubscribe(uri)
  end
end

return upstream
