--- One registry as a server of the Model Context Protocol, of both its eras: the legacy one (until 2025-11-25) with
--- sessions, the modern one (2026-07-28) without, over stdio and Streamable HTTP.
---
--- | files                                        | what they are about                                            |
--- |----------------------------------------------|----------------------------------------------------------------|
--- | dispatch, features, peer                     | one request; all methods; what is known of one client          |
--- | lifecycle, tools, ...                        | one feature each: its methods and its capability               |
--- | definition, tool_result, many                | operations as tools, envelopes as results; thousands of them   |
--- | additions, content, queries, upstream        | resources and prompts: who gives them                          |
--- | interaction, question, state                 | what handlers tell and ask while they run                      |
--- | stdio, http, session                         | how messages come and go                                       |
local additions = require("operations.mcp.server.additions")
local argument = require("operations.base.argument")
local core = require("operations.core")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local members = require("operations.base.members")
local state = require("operations.mcp.server.state")
local stdio = require("operations.mcp.server.stdio")
local version = require("operations.base.version")

local mcp_server = {}

---@class operations.McpOptions
---@field name? string  of the server, for clients; default "operations"
---@field version? string
---@field title? string
---@field search? "auto"|boolean  tools are searched instead of listed: where the caller sees more than 64 ("auto", the
---  default), always, never
---@field pinned? string[]  ids of operations that are listed all the same; or `_meta.tool = { pinned = true }`
---@field schema_bytes? integer  of all outputSchemas of a list of tools; above, they are left out; default 64 KiB
---@field resources? true|operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  queries
---  that are resources, too
---@field clients? operations.mcp.Client[]  of servers whose resources and prompts are offered
---@field instructions? string  for the model: what the server is good for
---@field authorize? fun(request: operations.ServerRequest): operations.Identity?, string?  as of to_http
---@field anonymous? boolean  as of to_http
---@field hide_denied? boolean  operations that the caller may not call are unknown to it
---@field identity? operations.Identity  who calls over stdio
---@field origins? string[]  as of to_http
---@field hosts? string[]  as of to_http
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  what is offered
---@field timeout? integer  ms of a call, default 600,000: people may be asked meanwhile
---@field max_body? integer  bytes of a message, default 16 MiB
---@field max_requests? integer  under way at once, default 1,024
---@field expose_errors? boolean  models read the messages of unexpected errors
---@field ttl? integer  ms that lists may be kept (revision 2026-07-28), default 0
---@field state_secret? string  signs what clients keep between the rounds of a call; default: random, so that no other
---  process, and not this one after a restart, knows it
---@field state_ttl? integer  ms until such a state expires, default 3,600,000
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr

local option_kinds = {
  name = "string", version = "string", title = "string", instructions = "string", authorize = "function or false",
  anonymous = "boolean", hide_denied = "boolean", identity = "table", origins = "table", hosts = "table",
  filter = "table or function", timeout = "number", max_body = "number", max_requests = "number",
  search = "string or boolean", pinned = "table", schema_bytes = "number", resources = "boolean or table or function",
  clients = "table", expose_errors = "boolean", ttl = "number", state_secret = "string", state_ttl = "number",
  log = "function",
}

---@class operations.McpServer
---@field registry operations.Registry
---@field options operations.McpOptions
---@field info table  `Implementation`
---@field sign fun(text: string): string
---@field links table<operations.mcp.StdioLink, true>
local McpServer = {}
McpServer.__index = McpServer

for name, method in pairs(additions.methods) do
  McpServer[name] = method
end

--- Serves the client at the other end of the program's own stdin and stdout, until it ends stdin or the server is
--- closed. stdout belongs to MCP from then on: what others write there, `print` and children too, goes to stderr.
---@return boolean? ok
---@return operations.Error? err
function McpServer:stdio()
  return stdio.serve(self)
end

--- Ends all at once.
function McpServer:close()
  self.changes:close()
  for link in pairs(members.copy(self.links)) do
    link:close()
  end
end

--- Makes the MCP server of a registry.
---@param registry operations.Registry
---@param options? operations.McpOptions
---@return operations.McpServer
function mcp_server.new(registry, options)
  argument.object(registry, "visible", "registry", 1, "to_mcp")
  argument.optional(options, "table", 2, "to_mcp")
  argument.options(options or {}, option_kinds, "to_mcp")
  local kept = members.merged({ log = log.write, max_body = limits.body, max_requests = limits.requests, ttl = 0,
    timeout = limits.server_max_timeout, state_ttl = 3600000 }, options)
  local self = setmetatable({
    registry = registry, options = kept, links = {},
    info = { name = kept.name or "operations", version = kept.version or version, title = kept.title },
    sign = state.signer(kept.state_secret or core.random_id() .. core.random_id()),
  }, McpServer)
  additions.init(self)
  return self
end

return mcp_server
