--- The options of `to_http`: their types, defaults and checks.
local argument = require("operations.base.argument")
local caller = require("operations.server.caller")
local disclosure = require("operations.base.disclosure")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local members = require("operations.base.members")
local pages = require("operations.server.page")
local serving = require("operations.server.serving")

local http_options = {}

---@class operations.HttpOptions
---@field prefix? string  before all paths: "" (default) or "/api/v1"
---@field authorize? fun(request: operations.ServerRequest): operations.Identity?, string?  who calls; nil: no
---  credentials; nil and a reason: invalid ones; nil and an error: it cannot tell. May wait. Default: all are anonymous
---@field oauth? operations.ResourceMetadata  who gives tokens (RFC 9728); default: what `oauth.resource_server` knows
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
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  what is served
---@field paths? "source"  operations of OpenAPI documents keep the paths and methods of their documents
---@field timeout? integer  ms of a call, default 60,000; the caller may ask for another one (Request-Timeout-Ms)
---@field max_timeout? integer  ms that it may ask for, default 600,000
---@field max_body? integer  bytes, default 16 MiB
---@field max_depth? integer  nested arrays and objects of a body, default 512
---@field max_identity_streams? integer  open streams of one identity or, without one, address, default 128; others are
---  answered 503
---@field max_requests? integer  running at once, default 1,024; others are answered 503
---@field heartbeat? integer  ms of silence on an event stream after which a comment goes out, default 15,000
---@field upstream_errors? operations.UpstreamErrors  what callers read of the errors that an API or MCP server behind
---  an operation answered: "client" (default), of an API 4xx except 401, 403 and 407; "all"; "none"
---@field expose_errors? boolean  problems tell the messages of unexpected errors: for development
---@field metadata_headers? string[]  request headers that `context.metadata.http.headers` holds
---@field docs? boolean|{ directory: string }  true: a page at /docs where people call the operations; a directory: the
---  Swagger UI (swagger-ui-dist) or Scalar (@scalar/api-reference) that npm installed there. Default: no page
---@field openapi? { info: table?, servers: table[]? }|false  what /openapi.json says of the API; false: there is none
---@field mcp? boolean|operations.McpServer  true: the registry is a server of MCP at /mcp, too, with the options that
---  both have; or a server that `to_mcp` made
---@field health? boolean  false: no /healthz and /readyz
---@field ready? fun(): boolean  what /readyz asks
---@field metrics? { text: fun(self, shows: fun(id: string): boolean): string, public: boolean? }  what /metrics shows
---  (the middleware `metrics`), to callers with credentials where there is `authorize`, unless it is public. `shows`
---  tells which operations are not hidden from the caller
---@field access_log? fun(entry: operations.AccessLogEntry)  one call for each answer, when it has ended
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr

local option_kinds = {
  prefix = "string", authorize = "function or table or false", oauth = "table", anonymous = "boolean",
  hide_denied = "boolean", origins = "table", hosts = "table", filter = "table or function", paths = "string",
  timeout = "number", max_timeout = "number", max_body = "number", max_depth = "number", max_requests = "number",
  max_identity_streams = "number",
  heartbeat = "number", expose_errors = "boolean", upstream_errors = "string",
  metadata_headers = "table", health = "boolean", openapi = "table or false",
  ready = "function", metrics = "table", access_log = "function", log = "function", docs = "boolean or table",
  trusted_proxies = "table", cors = "table", idempotency = "boolean or string or table or userdata",
  idempotency_ttl = "number",
}

local function check_prefix(prefix)
  if prefix ~= "" and (not prefix:find("^/[^?#%s]*[^/?#%s]$")) then
    error(("bad option 'prefix' to 'to_http' (a path such as \"/api\" expected, got %q)"):format(prefix), 4)
  end
end

--- Checks the options and fills in defaults; misuse raises where `to_http` was called.
---@param options? operations.HttpOptions
---@return operations.HttpOptions
function http_options.read(options)
  argument.optional(options, "table", 2, "to_http", 4)
  argument.options(options or {}, option_kinds, "to_http", 4)
  if options and options.metrics then
    argument.object(options.metrics, "text", "metrics", 2, "to_http", 4)
  end
  local kept = members.merged({ prefix = "", log = log.write, max_body = limits.body,
    max_depth = limits.json_depth }, options)
  check_prefix(kept.prefix)
  disclosure.check(kept.upstream_errors, "to_http", 4)
  caller.check(kept.authorize, "to_http", 3)
  pages.check(kept.docs)
  kept.hosts = serving.in_lower_case(kept.hosts)
  return kept
end

return http_options
