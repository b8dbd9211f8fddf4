--- The methods by which programs add resources, prompts and completions to a server.
local argument = require("operations.base.argument")
local changes = require("operations.mcp.server.changes")
local content = require("operations.mcp.server.content")
local prompts = require("operations.mcp.server.prompts")
local resources = require("operations.mcp.server.resources")

local additions = {}

--- Prepares a server.
---@param server operations.McpServer
function additions.init(server)
  server.changes, server.content = changes.new(server), content.new(server)
  server.providers, server.relayed = { server.content }, {}
  if server.options.resources then
    server.providers[2] = require("operations.mcp.server.queries").new(server, server.options.resources)
  end
  for _, client in ipairs(server.options.clients or {}) do
    require("operations.mcp.server.upstream").add(server, client)
  end
  server.changes.unfollow = server.registry:on_revision(function()
    server.changes:changed("tools")
    if server.options.resources then
      server.changes:changed("resources")
    end
  end)
end

---@class operations.McpServer
local methods = {}
additions.methods = methods

--- Offers a resource, or with `uriTemplate` all resources that match it.
---@param given operations.McpResource
function methods:resource(given)
  resources.add(self.content, given)
  self.changes:changed("resources")
end

--- Offers a prompt.
---@param given operations.McpPrompt
function methods:prompt(given)
  prompts.add(self.content, given)
  self.changes:changed("prompts")
end

--- Offers the resources and prompts of a client of another server; names get the client's name as a prefix. Its tools
--- are offered by registering them.
---@param client operations.mcp.Client
function methods:offer(client)
  argument.object(client, "request", "MCP client", 1, "offer")
  require("operations.mcp.server.upstream").add(self, client)
  self.changes:changed("resources")
  self.changes:changed("prompts")
end

local lists = { tools = true, resources = true, prompts = true }

--- Tells clients that a list has changed in a way the server cannot see, for example who may see what.
---@param kind "tools"|"resources"|"prompts"
function methods:changed(kind)
  if not lists[kind] then
    error(('bad argument #1 to \'changed\' ("tools", "resources" or "prompts" expected, got %s)'):format(
      tostring(kind)), 2)
  end
  self.changes:changed(kind)
end

--- Tells subscribers of a resource that it has changed.
---@param uri string
function methods:updated(uri)
  argument.expect(uri, "string", 1, "updated")
  self.changes:updated(uri)
end

return additions
