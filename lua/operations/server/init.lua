--- A registry as an HTTP API. `handle` turns a request into an answer without I/O; the listener, nginx and tests of
--- programs call it.
---
--- `{prefix}/{namespace}/{name}`: queries by GET (where the input fits in a query string), QUERY (RFC 10008) and POST,
--- mutations by POST, subscriptions as event streams or JSON lines. The data is the body; failures are problems
--- (RFC 9457).
local access_log = require("operations.server.access_log")
local answering = require("operations.server.answering")
local argument = require("operations.base.argument")
local callers = require("operations.server.caller")
local core = require("operations.core")
local cors = require("operations.server.cors")
local disclosure = require("operations.base.disclosure")
local document = require("operations.server.document")
local guard = require("operations.server.guard")
local hosts = require("operations.hosts")
local idempotency = require("operations.server.idempotency")
local jobs = require("operations.jobs")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local log = require("operations.task.log")
local members = require("operations.base.members")
local monitoring = require("operations.server.monitoring")
local pages = require("operations.server.page")
local problem = require("operations.server.problem")
local proxies = require("operations.server.proxies")
local request_head = require("operations.server.request_head")
local resource_metadata = require("operations.server.resource_metadata")
local routes = require("operations.server.route")
local serving = require("operations.server.serving")
local task = require("operations.task")

local server = {}

---@class operations.HttpOptions
---@field prefix? string  before all paths: "" (default) or "/api/v1"
---@field authorize? fun(request: operations.ServerRequest): operations.Identity?, string?  who calls; nil: no
---  credentials; nil and a reason: invalid ones; nil and an error: it cannot tell. May wait. Default: all are anonymous
---@field oauth? operations.ResourceMetadata  issuers of tokens (RFC 9728); default: of `oauth.resource_server`
---@field anonymous? boolean  with `authorize`: without credentials one may call what requires none
---@field hide_denied? boolean  operations that the caller may not call are unknown to it (404)
---@field origins? string[]  of web pages elsewhere that may use the server: "https://app.example", or "*" for all
---@field cors? operations.CorsOptions  further answers to their browsers
---@field idempotency? boolean|operations.AnswerStore|table  keeps answers by Idempotency-Key: true, in this process; a
---  shared dictionary of nginx, of all its workers; `operations.middleware.redis(url)`, of all processes
---@field idempotency_ttl? integer  ms for which they are kept, default 24 hours
---@field trusted_proxies? operations.TrustedProxies  whose X-Forwarded-For, -Proto, -Host and -Prefix count: CIDRs and
---  "unix:"
---@field hosts? string[]  names of the server, besides localhost and numeric addresses
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  which are
---  served
---@field paths? "source"  operations of OpenAPI documents keep the paths and methods of their documents
---@field timeout? integer  ms of a call, default 60,000; the caller may ask for another one (Request-Timeout-Ms)
---@field max_timeout? integer  ms that it may ask for, default 600,000
---@field max_body? integer  bytes, default 16 MiB
---@field max_depth? integer  nested arrays and objects of a body, default 512
---@field max_identity_streams? integer  open streams of one identity or, without one, address, default 128; others are
---  answered 503
---@field max_identity_requests? integer  running requests of one identity or, without one, address, default 256; others
---  are answered 503
---@field max_requests? integer  running at once, default 1,024; others are answered 503
---@field heartbeat? integer  ms of silence on an event stream after which a comment goes out, default 15,000
---@field upstream_errors? operations.UpstreamErrors  what callers read of the errors that an API or MCP server behind
---  an operation answered: "client" (default), of an API 4xx except 401, 403 and 407; "all"; "none"
---@field expose_errors? boolean  problems tell the messages of unexpected errors: for development
---@field metadata_headers? string[]  request headers that `context.metadata.http.headers` holds
---@field tasks? operations.JobsOptions|operations.JobStore|false  where the jobs of operations with `_meta.task` are
---  kept, and their limits; false: there are none. Default: in memory
---@field docs? boolean|{ directory: string }  true: a page at /docs where people call the operations; a directory: the
---  Swagger UI (swagger-ui-dist) or Scalar (@scalar/api-reference) that npm installed there. Default: no page
---@field openapi? { info: table?, servers: table[]? }|false  what /openapi.json says of the API; false: there is none
---@field mcp? boolean|operations.McpServer  true: the registry is a server of MCP at /mcp, too, with the options that
---  both have; or a server that `to_mcp` made
---@field health? boolean  false: no /healthz and /readyz
---@field ready? fun(): boolean  what /readyz asks
---@field upstreams? (operations.mcp.Client|operations.mcp.Servers)[]  whose states /readyz and /metrics show
---@field metrics? { text: fun(self, shows: fun(id: string): boolean): string, answered: function?, public: boolean? }
---  counts the answers (`answered(part, status, code?)`); what /metrics shows
---  (the middleware `metrics`), to callers with credentials where there is `authorize`, unless it is public. `shows`
---  tells which operations are not hidden from the caller
---@field access_log? "nginx"|fun(entry: operations.AccessLogEntry)  one call for each answer, when it has ended;
---  "nginx": sets the variables of nginx that doc/openresty.md names
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr

---@class operations.ServerRequest
---@field method string
---@field target string  raw, as the request line has it
---@field headers table<string, string>  by lower-case name, repeated ones joined by ", "
---@field body? string|fun(): string?, operations.Error?  whole, or what gives the next piece and nil at the end
---@field peer? { address: string, port: integer?, tls: (boolean|operations.TlsPeer)? }  `address` is "unix:" for a Unix
---  socket; `tls`: false without it, true in nginx
---@field is_local? boolean  it came to a listener that only this machine reaches
---@field left? fun(fn: fun())  has `fn` called once when the caller leaves before the answer is out
---@field breaks_off? boolean  its coroutine may end while the body is read (nginx): it is counted when that has come
---@field path? string  set by `handle`: of the target, raw
---@field call? operations.ServerCall  set by `handle`: of the outer server; a mounted handler notes in it
---  what the access log says
---@field proxy? table  set by `handle`: the peer of the connection, when `peer` is what a trusted proxy says
---@field scheme? "http"|"https"  set by `handle`: by which the client came, as a trusted proxy says
---@field outer_prefix? string  set by `handle`: before the paths that the client sees, as a trusted proxy says
---@field token? string  set by `handle`: of "Authorization: Bearer"

---@class operations.ServerResponse
---@field status integer
---@field headers table<string, string|string[]>  by lower-case name
---@field body string|fun(): string?, operations.Error?  whole, or what gives the next piece and nil at the end
---@field length? integer  bytes that the function `body` gives; its headers have `content-length`
---@field heartbeat? { after: integer, bytes: string }  sent after so many ms of silence
---@field upgrade? fun(stream: operations.Stream, rest: string)  with status 101: takes the connection

---@class operations.Server
---@field running integer  running requests
---@field on_idle? fun()  called when none runs any more
---@field draining boolean
---@field registry operations.Registry
---@field options operations.HttpOptions
---@field routes operations.Routes
---@field answers operations.AnswerStore|false
---@field _jobs fun(): operations.JobStore?, operations.Error?
---@field _close_jobs fun()
---@field workers table<operations.ServerCall, operations.Task>  what runs for each
---@field streams table<operations.ServerCall, fun(reason: string?)>  what ends each
---@field streams_of table<string, integer>  open streams by identity, or address without one
local Server = {}
Server.__index = Server

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
-- The answers of the server itself: path below the prefix -> function of the call and the request.
local function own_answers(options, page)
  local own = monitoring.answers(options)
  for path in pairs(page and page.files or {}) do
    own[path] = function(call, request)
      return page:answer(request, call.below)
    end
  end
  return own
end

-- The path below a prefix, which is not ""; nil when it is elsewhere.
local function below(path, prefix)
  if path:sub(1, #prefix) == prefix and path:byte(#prefix + 1) == 47 then -- "/"
    return path:sub(#prefix + 1)
  end
end

local function mounted(self, path)
  for _, mount in ipairs(self._mounts) do
    if path == mount.prefix or below(path, mount.prefix) then
      return mount.handler
    end
  end
end

-- Counts an answer, and logs it unless its handler does that.
local function note(call, request, response, part, is_logged)
  local options = call.server.options
  local metrics = options.metrics
  if metrics and metrics.answered then
    metrics:answered(part, response.status, call.code)
  end
  if options.access_log and not is_logged then
    access_log.follow(options.access_log, call, request, response)
  end
  return response
end

-- Has a mounted handler answer.
local function pass(handler, call, request)
  request.call = call
  local response = handler:handle(request)
  response.headers["x-request-id"] = response.headers["x-request-id"] or call.id
  return note(call, request, response, handler.part or "http", handler.options and handler.options.access_log)
end

--- Answers one request. May wait; if the caller leaves meanwhile, the handler is cancelled.
---@param request operations.ServerRequest
---@return operations.ServerResponse
function Server:handle(request)
  local headers, sharing = request.headers, self._cors
  local path, query = request_head.split(request.target)
  local malformed = request_head.path_flaw(path) or self._proxies and self._proxies:apply(request)
  local options = self.options
  local call = { server = self, request = request, id = request_head.request_id(headers), path = path,
    below = options.prefix == "" and path or below(path, options.prefix), query = query, route = unset,
    identity = unset, counted = unset }
  if options.access_log then
    call.time, call.log = core.now(), options.log
  end
  local handler = self._mounts[1] and not malformed and mounted(self, path)
  if handler then
    return pass(handler, call, request)
  end
  request.path = path
  if headers.authorization or request.token then
    request.token = request_head.bearer(headers)
  end
  local own = self._own[call.below or ""]
  local is_file = own and self._page and self._page.files[call.below] ~= nil
  local flaw = malformed or guard.check(request, options, is_file)
  local response = malformed and problem.refuse(call, 400, "VALIDATION_ERROR", malformed)
    or options.oauth and resource_metadata.answer(options.oauth, request)
    or flaw and problem.refuse(call, 403, "ACCESS_DENIED", flaw)
    or sharing and sharing:preflight(request)
    or own and own(call, request)
    or answering.answer(call, request)
  response.headers["x-request-id"], response.headers["x-content-type-options"] = call.id, "nosniff"
  if options.oauth then
    resource_metadata.challenge(options.oauth, response)
  end
  if sharing then
    sharing:share(request, response)
  end
  return note(call, request, response, "http")
end

--- The operations as an OpenAPI document, the same as GET /openapi.json: a table for `json.encode` with `sort_keys`.
--- Equal registries give equal documents.
---@param version? "3.0"|"3.1"|"3.2"  default "3.1"; 3.0 loses what it cannot express to members that begin with `x-`
---@param caller? { identity: operations.Identity? }  what this caller may call; default: everything that is served
---@return table
function Server:openapi(version, caller)
  if version ~= nil and version ~= "3.0" and version ~= "3.1" and version ~= "3.2" then
    error(("bad argument #1 to 'openapi' (\"3.0\", \"3.1\" or \"3.2\" expected, got %s)"):format(
      tostring(version)), 2)
  end
  argument.optional(caller, "table", 2, "openapi")
  return document.of(self, version or "3.1", caller)
end

--- Serves another handler (a server, a WebSocket hub) below a path, on the same listeners.
---@param prefix string  "/admin"
---@param handler { handle: fun(self, request: operations.ServerRequest): operations.ServerResponse }
function Server:mount(prefix, handler)
  argument.expect(prefix, "string", 1, "mount")
  argument.object(handler, "handle", "something with a method `handle`", 2, "mount")
  if not prefix:find("^/") or prefix:find("/$") then
    error(("bad argument #1 to 'mount' (a path such as \"/admin\" expected, got %q)"):format(prefix), 2)
  end
  table.insert(self._mounts, { prefix = prefix, handler = handler })
  table.sort(self._mounts, function(a, b)
    return #a.prefix > #b.prefix
  end)
end

-- Prepares a server for requests of nginx. A function of its own: when nginx ends the coroutine of a request, closures
-- lose the local variables that they share with a function that has not returned.
local function begin_serving(self, host)
  self._serve = function(request)
    return self:handle(request)
  end
  host.on_exit(function()
    self:drain(limits.drain)
  end)
  if self.answers and self.answers.is_local and host.workers() > 1 then
    self.options.log("warn", "idempotency = true: each worker keeps answers of its own; give a shared dictionary")
  end
end

--- Answers the current request of nginx, in `content_by_lua` of a location. The location needs `lua_check_client_abort
--- on`, so that handlers end when their callers leave. Streams end when the worker ends. Raises outside of OpenResty.
function Server:serve_request()
  local host = hosts.current()
  if not host.serve_http then
    error("serve_request answers requests of OpenResty; elsewhere use server:listen", 2)
  elseif not self._serve then
    begin_serving(self, host)
  end
  host.serve_http(self._serve)
end

-- A connection refused a request before there was anything to handle.
local function refuse(options, refused)
  if options.metrics and options.metrics.answered then
    options.metrics:answered("http", refused.status, refused.code)
  end
  if options.access_log then
    access_log.refused(options.access_log, options.log, refused)
  end
end

--- Listens for HTTP/1.1 in plain Lua and in Neovim, until it is closed; the program need not keep the listener, but a
--- plain program has to wait for something. Without `authorize` only loopback addresses and Unix sockets are accepted,
--- unless the option is `false`.
---@param options? operations.ListenOptions
---@return operations.ServerListener?
---@return operations.Error? err  TRANSPORT_LOST (the port is taken), ACCESS_DENIED (strangers without `authorize`),
---  VALIDATION_ERROR (a file of `tls`), UNAVAILABLE (TLS was not built)
function Server:listen(options)
  argument.optional(options, "table", 1, "listen")
  local given = members.merged({ max_body = self.options.max_body, log = self.options.log }, options)
  local is_local = serving.is_local(given)
  if self.options.authorize == nil and not is_local then
    return nil, serving.strangers("to_http", given.host)
  end
  local opened, err = listener.listen(given, function(request)
    request.is_local = is_local
    return self:handle(request)
  end, function(refused)
    refuse(self.options, refused)
  end)
  if opened then
    self._listeners[#self._listeners + 1] = opened
  end
  return opened, err
end

local function cancel_workers(self)
  for _, worker in pairs(members.copy(self.workers)) do
    worker:cancel("the server ends")
  end
end

-- Starts to drain listeners and mounted servers.
local function start_draining(self, grace)
  local tasks = {}
  for _, mount in ipairs(self._mounts) do
    if type(mount.handler.drain) == "function" then
      tasks[#tasks + 1] = task.spawn(mount.handler.drain, mount.handler, grace)
    end
  end
  local mounted_ones = #tasks
  for _, opened in ipairs(self._listeners) do
    tasks[#tasks + 1] = task.spawn(opened.drain, opened, grace)
  end
  return tasks, mounted_ones
end

--- Accepts no further requests (503), ends the streams, and waits until the running requests have ended; those that
--- still run after `grace` are cancelled (503). Closes the listeners and drains what is mounted.
---@param grace? integer  ms, default: as long as it takes
---@return boolean ended  by themselves
function Server:drain(grace)
  argument.optional(grace, "number", 1, "drain")
  self.draining = true
  local draining, mounted_ones = start_draining(self, grace)
  for _, close in pairs(members.copy(self.streams)) do
    close("draining")
  end
  if self.running > 0 then
    serving.wait_until_idle(self, grace)
  end
  local ended = self.running == 0
  cancel_workers(self)
  for i, each in ipairs(draining) do
    local answer = each:wait()
    ended = ended and (i > mounted_ones or answer ~= false)
  end
  self._close_jobs()
  return ended
end

--- Ends everything at once: listeners, connections, running requests, and what is mounted.
function Server:close()
  self.draining = true
  cancel_workers(self)
  self._close_jobs()
  for _, mount in ipairs(self._mounts) do
    if type(mount.handler.close) == "function" then
      mount.handler:close()
    end
  end
  for _, opened in ipairs(self._listeners) do
    opened:close()
  end
end

local option_kinds = {
  prefix = "string", authorize = "function or table or false", oauth = "table", anonymous = "boolean",
  hide_denied = "boolean", origins = "table", hosts = "table", filter = "table or function", paths = "string",
  timeout = "number", max_timeout = "number", max_body = "number", max_depth = "number", max_requests = "number",
  max_identity_streams = "number", max_identity_requests = "number",
  heartbeat = "number", expose_errors = "boolean", upstream_errors = "string",
  metadata_headers = "table", health = "boolean", openapi = "table or false",
  ready = "function", upstreams = "table",
  metrics = "table", access_log = "function or string", log = "function", docs = "boolean or table",
  tasks = "table or false",
  trusted_proxies = "table", cors = "table", idempotency = "boolean or string or table or userdata",
  idempotency_ttl = "number",
}

local function check_prefix(prefix)
  if prefix ~= "" and (not prefix:find("^/[^?#%s]*[^/?#%s]$")) then
    error(("bad option 'prefix' to 'to_http' (a path such as \"/api\" expected, got %q)"):format(prefix), 4)
  end
end

-- Checks the options and fills in defaults; misuse raises where `to_http` was called.
local function read_options(options)
  argument.optional(options, "table", 2, "to_http", 4)
  argument.options(options or {}, option_kinds, "to_http", 4)
  if options and options.metrics then
    argument.object(options.metrics, "text", "metrics", 2, "to_http", 4)
  end
  local kept = members.merged({ prefix = "", log = log.write, timeout = limits.call_timeout,
    max_body = limits.body, max_depth = limits.json_depth }, options)
  check_prefix(kept.prefix)
  disclosure.check(kept.upstream_errors, "to_http", 4)
  callers.check(kept.authorize, "to_http", 3)
  kept.access_log = access_log.writer(kept.access_log, "to_http", 4)
  pages.check(kept.docs)
  kept.hosts = serving.in_lower_case(kept.hosts)
  return kept
end

--- Makes the HTTP API of a registry.
---@param registry operations.Registry
---@param options? operations.HttpOptions
---@return operations.Server?
---@return operations.Error? err  VALIDATION_ERROR: paths that are reserved or given twice, no page in
---  `docs.directory`; UNAVAILABLE: the page's own files are not installed
function server.new(registry, options)
  argument.object(registry, "visible", "registry", 1, "to_http")
  local kept = read_options(options)
  resource_metadata.check(kept, "to_http")
  kept.oauth = resource_metadata.of(kept)
  local self = setmetatable({ running = 0, draining = false, registry = registry, options = kept, workers = {},
    streams = {}, streams_of = {},
    answers = idempotency.store(kept.idempotency, 3) or false, _mounts = {},
    _listeners = {},
    _proxies = proxies.new(kept.trusted_proxies, "to_http", 3) or false, _cors = cors.new(kept, "to_http", 3) or false,
  }, Server)
  self._jobs, self._close_jobs = jobs.provider(registry, kept.tasks)
  local err
  self.routes, err = routes.new(registry, { prefix = kept.prefix, paths = kept.paths, log = kept.log,
    filter = kept.filter, keeps_answers = kept.idempotency and true or false,
    keeps_jobs = kept.tasks ~= false })
  if self.routes and kept.docs then
    self._page, err = pages.new(kept.docs)
  end
  if err then
    return nil, err
  end
  self._page, self._own = self._page or false, own_answers(kept, self._page)
  return self
end

return server
