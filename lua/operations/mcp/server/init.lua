--- A registry as a server of the Model Context Protocol, of both eras: legacy (until 2025-11-25) with sessions, modern
--- (2026-07-28) without, over stdio and Streamable HTTP.
---
--- | files                                        | purpose                                                       |
--- |----------------------------------------------|----------------------------------------------------------------|
--- | dispatch, peer                               | one request, the beginning of a session; one client            |
--- | resources, prompts, changes, ...             | one feature each: its methods and its capability               |
--- | tools, tool_result, many, program            | operations as tools, envelopes as results; programs of models  |
--- | tasks                                        | calls that are answered with a task                           |
--- | content, queries, upstream                   | the sources of resources and prompts                           |
--- | interaction, question, state                 | what handlers tell and ask while they run                      |
--- | stdio, lines                                 | messages by lines: stdin and stdout, or a Unix socket          |
--- | web, http, posted, session, channel          | messages over HTTP                                             |
local argument = require("operations.base.argument")
local changes = require("operations.mcp.server.changes")
local content = require("operations.mcp.server.content")
local core = require("operations.core")
local disclosure = require("operations.base.disclosure")
local hmac = require("operations.base.hmac")
local hosts = require("operations.hosts")
local jobs = require("operations.jobs")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local members = require("operations.base.members")
local prompts = require("operations.mcp.server.prompts")
local resources = require("operations.mcp.server.resources")
local serving = require("operations.server.serving")
local sessions = require("operations.mcp.server.session")
local stdio = require("operations.mcp.server.stdio")
local version = require("operations.base.version")

local mcp_server = {}

---@class operations.McpOptions
---@field name? string  of the server, for clients; default "operations"
---@field version? string
---@field title? string
---@field search? "auto"|boolean  searches tools instead of listing them: if the caller sees more than 64 ("auto", the
---  default), always, or never
---@field code? boolean|operations.CodeOptions  models write programs: search, describe and `run_lua` are listed beside
---  the pinned tools
---@field pinned? string[]  ids of operations that are always listed; or `_meta.tool = { pinned = true }`
---@field schema_bytes? integer  of all outputSchemas in a list of tools; beyond that, they are left out; default 64 KiB
---@field resources? true|operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  queries
---  that are resources, too
---@field oauth? operations.ResourceMetadata  the authorization server, for clients that ask (RFC 9728); `authorize`
---  checks its tokens. Default: that of `oauth.resource_server`
---@field clients? (operations.mcp.Client|operations.mcp.Servers)[]  of servers whose resources and prompts are offered
---@field wait? integer  ms that the first lists, and a call of an unknown name, wait for those of them that are
---  connecting; default 10,000
---@field instructions? string  for the model: what the server is good for
---@field authorize? fun(request: operations.ServerRequest): operations.Identity?, string?  as in to_http
---@field anonymous? boolean  as in to_http
---@field hide_denied? boolean  hides operations that the caller may not call
---@field identity? operations.Identity  the caller over stdio
---@field origins? string[]  as in to_http
---@field cors? operations.CorsOptions  as in to_http
---@field trusted_proxies? operations.TrustedProxies  as in to_http
---@field hosts? string[]  as in to_http
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  selects the
---  operations that are offered
---@field timeout? integer  ms of a call, default 600,000, which allows for questions to people
---@field max_body? integer  bytes of a message, default 16 MiB
---@field max_requests? integer  running at once, default 1,024
---@field max_identity_requests? integer  of them over HTTP for one identity or, without one, address, default 256
---@field as_tools? boolean  also offers tools that list and read resources and prompts, for clients that know no others
---@field upstream_errors? operations.UpstreamErrors  what callers read of the errors that an API or MCP server behind
---  an operation answered: "client" (default), of an API 4xx except 401, 403 and 407; "all"; "none"
---@field expose_errors? boolean  includes the messages of unexpected errors
---@field tasks? operations.JobsOptions|operations.JobStore|false  where the tasks of operations with `_meta.task` are
---  kept, and their limits; false: there are none. Default: in memory
---@field ttl? integer  ms that lists may be cached (revision 2026-07-28), default 0
---@field state_secret? string  signs the state that clients keep between the rounds of a call; default: random, so that
---  it is invalid in other processes and after a restart
---@field state_ttl? integer  ms until such a state expires, default 3,600,000
---@field heartbeat? integer  ms of silence on an event stream after which a comment goes out, default 15,000
---@field max_sessions? integer  of the legacy era over HTTP, default 1,024; beyond that, the one idle for longest ends
---@field max_identity_sessions? integer  of them for one identity or, without one, address, default 128; beyond that,
---  the one of its own that is idle for longest ends
---@field max_batch? integer  messages of a batch (revision 2025-03-26), default 100
---@field session_bytes? integer  of ended streams that a session may resume, default 4 MiB; the oldest are forgotten
---@field identity_bytes? integer  the same for all sessions of an identity, default 16 MiB
---@field kept_bytes? integer  the same for all sessions, default 64 MiB
---@field session_ttl? integer  ms after which an idle session ends, default 3,600,000
---@field access_log? "nginx"|fun(entry: operations.AccessLogEntry)  as that of `to_http`, whose own has the answers of
---  a server at its /mcp, too
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr

local option_kinds = {
  name = "string", version = "string", title = "string", instructions = "string",
  authorize = "function or table or false", anonymous = "boolean", hide_denied = "boolean", identity = "table",
  origins = "table", hosts = "table",
  filter = "table or function", timeout = "number", max_body = "number", max_requests = "number",
  max_identity_requests = "number",
  expose_errors = "boolean", upstream_errors = "string", ttl = "number", state_secret = "string",
  state_ttl = "number", heartbeat = "number",
  max_identity_sessions = "number", max_batch = "number", session_bytes = "number", identity_bytes = "number",
  kept_bytes = "number", max_sessions = "number", session_ttl = "number", wait = "number", search = "string or boolean",
  pinned = "table", schema_bytes = "number", resources = "boolean or table or function", clients = "table",
  as_tools = "boolean",
  tasks = "table or false", code = "boolean or table", oauth = "table", access_log = "function or string",
  log = "function", cors = "table",
  trusted_proxies = "table",
}

---@class operations.McpServer
---@field registry operations.Registry
---@field options operations.McpOptions
---@field info table  `Implementation`
---@field sign fun(text: string): string
---@field _jobs fun(): operations.JobStore?, operations.Error?
---@field _close_jobs fun()
---@field byte_schemas table<string, any>  the outputSchemas with bytes in them, by operation; kept by `tool_result`
---@field sessions operations.mcp.Sessions
---@field running integer  running requests over HTTP
---@field calls table<operations.mcp.ServerCall, true>  those
---@field workers? operations.mcp.Workers  if several workers serve one address
---@field draining boolean
---@field code? operations.CodeOptions  nil: models write no programs
---@field programs table<string, operations.mcp.Program>  those that wait for answers, by id
---@field cors? operations.Cors
---@field proxies? operations.Proxies
---@field links table<operations.mcp.StdioLink, true>
local McpServer = { part = "mcp" } -- of an HTTP API that it is mounted in
McpServer.__index = McpServer

--- Serves the client at the other end of the program's stdin and stdout, until it ends stdin or the server is closed.
--- From then on stdout is reserved for MCP: other output, by `print` and children too, goes to stderr.
---@return boolean? ok
---@return operations.Error? err
function McpServer:stdio()
  return stdio.serve(self)
end

--- Answers one HTTP request, of either era. May wait.
---@param request operations.ServerRequest
---@return operations.ServerResponse
function McpServer:handle(request)
  return require("operations.mcp.server.web").handle(self, request)
end

--- Listens for HTTP/1.1, on plain Lua and in Neovim; MCP is at `/mcp`. Without `authorize` it only listens on loopback
--- addresses and Unix sockets, unless the option is `false`.
---@param options? operations.ListenOptions
---@return operations.ServerListener?
---@return operations.Error? err  TRANSPORT_LOST (the port is in use), ACCESS_DENIED (not loopback, and no `authorize`)
function McpServer:listen(options)
  argument.optional(options, "table", 1, "listen")
  return require("operations.mcp.server.web").listen(self, options)
end

--- Listens at a Unix socket for clients that use the stdio protocol, one message per line; on plain Lua and in Neovim.
---@param options operations.McpLinesOptions
---@return operations.McpLines?
---@return operations.Error? err  TRANSPORT_LOST: another process listens there, or the file cannot be created
function McpServer:listen_lines(options)
  local opened, err = require("operations.mcp.server.lines").listen(self, options)
  self._listeners[#self._listeners + 1] = opened
  return opened, err
end

--- Answers nginx's running request, in a `content_by_lua` of a location. Several workers must share `state_secret`:
--- given as an option, or made by `to_mcp` in `init_by_lua`. Raises outside OpenResty.
function McpServer:serve_request()
  if not hosts.current().serve_http then
    error("serve_request answers requests of OpenResty; elsewhere use server:listen", 2)
  end
  return require("operations.mcp.server.web").serve_request(self)
end

--- Offers a resource, or with `uriTemplate` all resources that match it.
---@param given operations.McpResource
function McpServer:resource(given)
  resources.add(self.content, given)
  self.changes:changed("resources")
end

--- Offers a prompt.
---@param given operations.McpPrompt
function McpServer:prompt(given)
  prompts.add(self.content, given)
  self.changes:changed("prompts")
end

--- Offers the resources and prompts of a client of another server; names get the client's name as a prefix. Its tools
--- are offered by registering them. The first lists wait for it while it is connecting, see the option `wait`.
---@param client operations.mcp.Client|operations.mcp.Servers
function McpServer:offer(client)
  require("operations.mcp.server.upstream").add(self, client)
  self.changes:changed("resources")
  self.changes:changed("prompts")
end

--- The same, only for callers of the operations for them, such as NAME.resources.read.
---@param client operations.mcp.Client|operations.mcp.Servers
function McpServer:_offer_guarded(client)
  require("operations.mcp.server.upstream").add(self, client, true)
end

--- Waits for the servers behind this one that are connecting.
---@param fresh? boolean
function McpServer:_settle(fresh)
  require("operations.mcp.server.upstream").settle(self, fresh)
end

local lists = { tools = true, resources = true, prompts = true }

--- Tells clients that a list has changed in a way the server cannot see, for example who may see what.
---@param kind "tools"|"resources"|"prompts"
function McpServer:changed(kind)
  if not lists[kind] then
    error(('bad argument #1 to \'changed\' ("tools", "resources" or "prompts" expected, got %s)'):format(
      tostring(kind)), 2)
  end
  self.changes:changed(kind)
end

--- Tells subscribers of a resource that it has changed.
---@param uri string
function McpServer:updated(uri)
  argument.expect(uri, "string", 1, "updated")
  self.changes:updated(uri)
end

local function cancel_all(self)
  for call in pairs(members.copy(self.calls)) do
    call:cancel("the server ends")
  end
  if next(self.programs) ~= nil then
    require("operations.mcp.server.program").cancel_all(self, "the server ends")
  end
  for _, session in pairs(members.copy(self.sessions.all)) do
    self.sessions:remove(session, "the server ends")
  end
end

--- Accepts no more requests, and waits until the running ones have ended; those that still run after `grace` are
--- cancelled. Then ends sessions and closes the listeners.
---@param grace? integer  ms, default: no limit
---@return boolean ended  without cancellation
function McpServer:drain(grace)
  argument.optional(grace, "number", 1, "drain")
  self.draining = true
  self.changes:close()
  if self.running > 0 then
    serving.wait_until_idle(self, grace)
  end
  local ended = self.running == 0
  cancel_all(self)
  for _, opened in ipairs(self._listeners) do
    opened:drain(grace)
  end
  self._close_jobs()
  return ended
end

--- Ends everything at once.
function McpServer:close()
  self.draining = true
  self.changes:close()
  cancel_all(self)
  self._close_jobs()
  for _, opened in ipairs(self._listeners) do
    opened:close()
  end
  for link in pairs(members.copy(self.links)) do
    link:close()
  end
end

-- Prepares what is offered: changes, resources and prompts, with those of other servers.
local function prepare(server)
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

--- Makes the MCP server of a registry.
---@param registry operations.Registry
---@param options? operations.McpOptions
---@return operations.McpServer
function mcp_server.new(registry, options)
  argument.object(registry, "visible", "registry", 1, "to_mcp")
  argument.optional(options, "table", 2, "to_mcp")
  argument.options(options or {}, option_kinds, "to_mcp")
  local kept = members.merged({ log = log.write, max_body = limits.body, max_requests = limits.requests,
    max_identity_requests = limits.identity_requests, ttl = 0,
    heartbeat = limits.heartbeat, wait = limits.mcp_wait, max_sessions = limits.mcp_sessions,
    session_ttl = limits.mcp_session,
    max_identity_sessions = limits.mcp_identity_sessions, max_batch = limits.mcp_batch,
    session_bytes = limits.mcp_session_bytes, identity_bytes = limits.mcp_identity_bytes,
    kept_bytes = limits.mcp_kept_bytes,
    timeout = limits.server_max_timeout, state_ttl = limits.mcp_state, local_pages = true }, options)
  for name, kind in pairs(option_kinds) do
    if kind == "number" and kept[name] and kept[name] < 0 then
      error(("bad option '%s' to 'to_mcp' (0 or more expected, got %s)"):format(name, kept[name]), 2)
    end
  end
  disclosure.check(kept.upstream_errors, "to_mcp", 2)
  if kept.oauth or kept.authorize then
    require("operations.server.caller").check(kept.authorize, "to_mcp", 2)
    local resource_metadata = require("operations.server.resource_metadata")
    resource_metadata.check(kept, "to_mcp")
    kept.oauth = resource_metadata.of(kept)
  end
  kept.hosts = serving.in_lower_case(kept.hosts)
  if kept.access_log then
    kept.access_log = require("operations.server.access_log").writer(kept.access_log, "to_mcp", 2)
  end
  local self = setmetatable({
    registry = registry, options = kept, byte_schemas = {},
    links = {}, running = 0, calls = {}, draining = false, _listeners = {},
    programs = {}, code = kept.code and require("operations.offer.code").options(kept.code, 3) or nil,
    cors = (kept.origins or kept.cors) and require("operations.server.cors").new(kept, "to_mcp", 3) or nil,
    proxies = kept.trusted_proxies
      and require("operations.server.proxies").new(kept.trusted_proxies, "to_mcp", 3) or nil,
    info = { name = kept.name or "operations", version = kept.version or version, title = kept.title },
    sign = hmac.signer(kept.state_secret or core.random_id() .. core.random_id()),
  }, McpServer)
  self._jobs, self._close_jobs = jobs.provider(registry, kept.tasks)
  self.sessions = sessions.none(self)
  prepare(self)
  return self
end

--- Makes the HTTP API of a registry with an MCP server at `/mcp` below its prefix, on the same listeners.
---@param registry operations.Registry
---@param options operations.HttpOptions  with `mcp`: true or a server
---@return operations.Server?
---@return operations.Error? err  as in to_http
function mcp_server.to_http(registry, options)
  local given = options.mcp
  if type(given) ~= "boolean" and getmetatable(given) ~= McpServer then
    error(("bad option 'mcp' to 'to_http' (boolean or a server of to_mcp expected, got %s)"):format(type(given)), 2)
  end
  return require("operations.mcp.server.web").to_http(registry, options, mcp_server.new)
end

return mcp_server
