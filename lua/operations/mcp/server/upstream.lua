--- Resources and prompts of MCP servers behind this one. URIs are unchanged, as results of tools name them; names of
--- prompts and resources get the client's name as a prefix. Callers' credentials are not forwarded.
local argument = require("operations.base.argument")
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

--- Offers the resources and prompts of a client's server.
---@param server operations.McpServer
---@param client operations.mcp.Client
function upstream.add(server, client)
  argument.object(client, "request", "MCP client", 1, "offer")
  local self = setmetatable({ client = client, prefix = client.name:gsub("[^%w_-]", "_") .. "_", _server = server,
    _log = server.options.log }, Upstream)
  table.insert(server.providers, self)
  server.relayed[client.name], server._offer_revision = true, nil
  client:on_notification(function(method, params)
    local kind = method:match("^notifications/(%a+)/list_changed$")
    if kind == "resources" or kind == "prompts" then
      server.changes:changed(kind)
    elseif method == "notifications/resources/updated" and type(params.uri) == "string" then
      server.changes:updated(params.uri)
    end
  end)
end

function Upstream:has(kind)
  return self.client:has(kind)
end

-- The items of a list; empty if the server has none, or does not answer.
local function list(self, capability, method, key)
  if self.client.state ~= "connected" or not self.client:has(capability) then
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

function Upstream:resources()
  return prefixed(self, list(self, "resources", "resources/list", "resources"))
end

function Upstream:templates()
  return prefixed(self, list(self, "resources", "resources/templates/list", "resourceTemplates"))
end

function Upstream:prompts()
  return prefixed(self, list(self, "prompts", "prompts/list", "prompts"))
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
  if not self.client:has("resources") then
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
  local own = self.client:has("prompts") and own_name(self, name)
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
  if not self.client:has("completions") then
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
  if self.client:has("resources") then
    self.client:subscribe(uri, nothing)
  end
end

function Upstream:unwatch(uri)
  if self.client:has("resources") then
    self.client:unsubscribe(uri)
  end
end

return upstream
