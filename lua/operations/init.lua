--- operations: one call interface for everything that a Lua program can invoke.
local runtime = require("operations.base.runtime") -- first: it checks the runtime
local core = runtime.load("operations.core")
local errors = require("operations.base.error")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local registry = require("operations.registry")
local schema = require("operations.schema")
local version = require("operations.base.version")
local wire_log = require("operations.base.wire_log")

---@alias operations.Null lightuserdata  JSON's null: `operations.null`

---@class operations.Envelope  the answer of every operation
---@field data any
---@field meta operations.LocalMeta|operations.HttpMeta|operations.McpMeta

---@class operations.LocalMeta
---@field source "local"
---@field operationId string
---@field timestamp integer  ms since the epoch
---@field lastEventId? string  of an event that has an id

---@class operations.HttpMeta
---@field source "http"
---@field statusCode integer
---@field headers table  lower-case names, joined by ", "; cookies are an array under `setCookie`
---@field contentType? string
---@field event? string  of a stream, as `lastEventId` and `retry` (ms)
---@field lastEventId? string
---@field retry? integer
---@field errors? table[]  of a GraphQL service, beside data
---@field extensions? table  of its answer
---@field items? string  of a page: JSON Pointer into the data to the list of its items

---@class operations.McpMeta
---@field source "mcp"
---@field isError boolean
---@field content table[]  blocks
---@field structuredContent? any
---@field _meta? table

-- The fields that are loaded when first named, and those of C.
---@class operations
---@field null operations.Null  JSON's null, which is `cjson.null` and `ngx.null`
---@field array_mt table
---@field object_mt table
---@field local_envelope fun(data: any, operationId: string): operations.Envelope
---@field http_envelope fun(data: any, meta: table): operations.Envelope
---@field mcp_envelope fun(data: any, meta: table): operations.Envelope
---@field is_error fun(value: any): boolean
---@field is_response_envelope fun(value: any): boolean
---@field unwrap fun(envelope: operations.Envelope): any
---@field base64 operations.base64
---@field crypto operations.crypto
---@field from_graphql operations.from_graphql
---@field from_mcp operations.from_mcp
---@field from_openapi operations.from_openapi
---@field http operations.http
---@field json operations.json
---@field middleware operations.middleware
---@field oauth operations.oauth
---@field process operations.process
---@field sandbox operations.sandbox
---@field scanner operations.scanner
---@field schema operations.schema
---@field schemas operations.schemas
---@field sources operations.sources
---@field testing operations.testing
---@field transports operations.transports
---@field type operations.type
---@field url operations.url
---@field yaml operations.yaml
---@field all fun(functions: function[]): any[]?, operations.Error?
---@field approvals fun(stored: operations.Approval[]?, changed: fun(list: operations.Approval[])?):
---  operations.Approvals
---@field await fun(arm: fun(wake: fun(...: any)): fun()?): any
---@field call_handler fun(from: operations.Registry, to: operations.CallMap, options?: table): operations.CallHandler
---@field call_map fun(transport?: operations.Transport, options?: table): operations.CallMap
---@field catch_signals fun(on: boolean)  whether `run` catches INT, TERM and HUP
---@field client fun(registry: operations.Registry, namespace: string, context?: operations.GivenContext):
---  operations.Client
---@field command fun(options: operations.CommandOptions): operations.Definition
---@field describe fun(spec: operations.Spec): string  input, output, errors and requirements, for people
---@field every fun(when: number|string, fn: fun(due: integer), options: operations.EveryOptions?): operations.Schedule
---@field from_peer fun(from: operations.CallMap, options?: operations.PeerOptions): operations.Definition[]?, table
---@field import fun(into: operations.Registry, from: operations.CallMap, filter?: table, options?: table): string[]?,
---  operations.Error?
---@field loop fun(): operations.Loop  runs the library in the loop of the surrounding program
---@field map fun(source: any, fn: function, options?: operations.MapOptions): any[]?, any
---@field monotonic fun(): number  ms of a clock that never goes back, with a fraction
---@field now fun(): integer  ms since the Unix epoch, by the host's clock
---@field on_error fun(fn: fun(failure: any, traceback: string)): fun(failure: any, traceback: string)
---@field publisher fun(options?: operations.PublisherOptions): operations.Publisher
---@field policy fun(source: operations.PolicyRule[]|string, options?: operations.PolicyOptions): operations.Policy?,
---  operations.Error?
---@field run fun(fn: function, ...: any): any
---@field secret fun(word: string): fun(): string  reads env:NAME, file:PATH or cmd:COMMAND when it is first needed
---@field shield fun(ms: number, fn: function, ...: any): any  where cancellation and deadline do not reach
---@field show fun(value: any): string  a value as text for people
---@field sleep fun(seconds: number)
---@field spawn fun(fn: function, ...: any): operations.Task
---@field sse_parser fun(on_event?: function, options?: operations.SseOptions): operations.SseParser
---@field to_mcp fun(of: operations.Registry, options?: operations.McpOptions): operations.McpServer
---@field to_tools fun(of: operations.Registry, options: operations.ToolsOptions): operations.Tools?, operations.Error?
---@field transform fun(definitions: operations.Definition[], changes: table<string, operations.TransformChange>):
---  operations.Definition[]?, operations.Error?
---@field types fun(registry: operations.Registry, options?: operations.TypesOptions): string?, operations.Error?
---@field use_host fun(host: "nvim"|"openresty"|"plain")
---@field with fun(of: operations.Client, context?: operations.GivenContext): operations.Client
---@field within fun(ms: number, fn: function, ...: any): any  nil and TIMEOUT when the time is over
local operations = {
  _VERSION = "operations " .. version,

  null = core.null,
  array_mt = core.array_mt,
  object_mt = core.object_mt,
  array = marked.array,
  object = marked.object,

  error = errors.new,
  is_error = errors.is_error,

  local_envelope = core.local_envelope,
  http_envelope = core.http_envelope,
  mcp_envelope = core.mcp_envelope,
  is_response_envelope = core.is_response_envelope,
  unwrap = core.unwrap,

  schema = schema,
}

-- Modules that a program may not need are loaded on first use.
local parts = {
  base64 = "operations.base.base64",
  crypto = "operations.oauth.crypto",
  from_graphql = "operations.graphql",
  from_mcp = "operations.mcp.client",
  from_openapi = "operations.openapi",
  http = "operations.net.http",
  json = "operations.base.json",
  middleware = "operations.middleware",
  oauth = "operations.oauth",
  process = "operations.net.process",
  sandbox = "operations.sandbox",
  scanner = "operations.registry.scanner",
  schemas = "operations.calls.schemas",
  sources = "operations.sources",
  testing = "operations.testing",
  transports = "operations.calls.transport",
  type = "operations.schema.type",
  url = "operations.net.http.address",
  yaml = "operations.base.yaml_writer",
}

-- Functions of such modules: the module, and the name of the function in it.
local functions = {
  all = { "operations.task", "all" },
  approvals = { "operations.people.approvals", "new" },
  await = { "operations.task", "await" },
  call_handler = { "operations.calls.handler", "new" },
  call_map = { "operations.calls.map", "new" },
  catch_signals = { "operations.task", "catch_signals" },
  client = { "operations.registry.client", "new" },
  command = { "operations.net.process.command", "new" },
  describe = { "operations.people.description", "of" },
  every = { "operations.task.schedule", "every" },
  from_peer = { "operations.calls.services", "from_peer" },
  import = { "operations.calls.services", "import" },
  loop = { "operations.hosts.embedded", "loop" },
  map = { "operations.task.map", "map" },
  monotonic = { "operations.task", "monotonic" },
  now = { "operations.task", "now" },
  on_error = { "operations.task", "set_on_error" },
  publisher = { "operations.publisher", "new" },
  policy = { "operations.policy", "new" },
  run = { "operations.task", "run" },
  secret = { "operations.sources.secret", "later" },
  shield = { "operations.task", "shield" },
  show = { "operations.base.show", "value" },
  sleep = { "operations.task", "sleep" },
  spawn = { "operations.task", "spawn" },
  sse_parser = { "operations.base.sse", "parser" },
  to_mcp = { "operations.mcp.server", "new" },
  to_tools = { "operations.tools", "new" },
  transform = { "operations.registry.transform", "new" },
  types = { "operations.types", "of" },
  use_host = { "operations.task", "use_host" },
  with = { "operations.registry.client", "with" },
  within = { "operations.task", "within" },
}

--- Makes a registry. With OPERATIONS_LOG=calls each call is a line of JSON on stderr.
---@param options? operations.RegistryOptions
---@return operations.Registry
function operations.registry(options)
  if wire_log.has("calls") and (options == nil or type(options) == "table") then
    options = members.copy(options or {})
    options.middleware = members.joined({ operations.middleware.log() }, options.middleware or {})
  end
  return registry.new(options)
end

--- Makes the HTTP API of a registry; with option `mcp`, MCP clients can use it too, at `/mcp` below the prefix.
---@param of operations.Registry
---@param options? operations.HttpOptions
---@return operations.Server?
---@return operations.Error? err  VALIDATION_ERROR: reserved or duplicate paths
function operations.to_http(of, options)
  local has_mcp = type(options) == "table" and options.mcp ~= nil
  local place = has_mcp and { "operations.mcp.server", "to_http" } or { "operations.server", "new" }
  return require(place[1])[place[2]](of, options)
end

-- Modules that parts load when they first need them.
local late = {
  "operations.base.data_file", "operations.reactor", "operations.mcp.client.events",
  "operations.mcp.client.http", "operations.mcp.client.stdio",
  "operations.mcp.protocol.reader", "operations.mcp.server.channel", "operations.mcp.server.headers",
  "operations.mcp.server.lines", "operations.mcp.server.program", "operations.mcp.server.queries",
  "operations.registry.question",
  "operations.mcp.server.state", "operations.mcp.server.template", "operations.mcp.server.told",
  "operations.mcp.server.tool_result", "operations.mcp.server.upstream", "operations.mcp.server.web",
  "operations.middleware.audit", "operations.middleware.breaker", "operations.middleware.cache",
  "operations.middleware.concurrency", "operations.middleware.confirm", "operations.middleware.log",
  "operations.middleware.metrics", "operations.middleware.rate_limit", "operations.middleware.retry",
  "operations.middleware.timeout", "operations.middleware.trace", "operations.net.http.parts",
  "operations.net.http.sigv4", "operations.offer.search",
  "operations.schema.metaschemas", "operations.tools.program",
}

-- C modules that are not built or loaded where their library is missing, and the modules that need them.
local optional = {
  ["operations.crypto"] = {},
  ["operations.sandbox_child"] = {},
  ["operations.redis"] = { "operations.calls.redis", "operations.middleware.redis_buckets" },
  ["operations.tls"] = {},
  ["operations.websocket"] = { "operations.calls.websocket", "operations.calls.websocket.hub",
    "operations.graphql.websocket" },
}

local function require_all(names)
  for _, name in ipairs(names) do
    require(name)
  end
end

--- Loads every part now instead of at its first use. In nginx's `init_by_lua` this saves each worker's first request
--- that time, and the workers share the memory. A part whose library is missing still fails when it is used.
function operations.preload()
  for name in pairs(parts) do
    local _ = operations[name]
  end
  for _, place in pairs(functions) do
    require(place[1])
  end
  require_all(late)
  for library, users in pairs(optional) do
    if runtime.optional(library) then
      require_all(users)
    end
  end
  require("operations.hosts").current()
  pcall(require("operations.hosts.reactor").load_transfers)
end

return setmetatable(operations, {
  __index = function(self, name)
    local place = functions[name]
    local part = parts[name] and require(parts[name]) or place and require(place[1])[place[2]]
    rawset(self, name, part)
    return part
  end,
})
