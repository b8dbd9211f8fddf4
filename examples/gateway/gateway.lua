--- A gateway: APIs by their OpenAPI documents and an MCP server, with policies around each call. nginx.conf serves it.
local operations = require("operations")
local otlp = require("otlp")

local middleware = operations.middleware
local shared = "gateway" -- nginx's lua_shared_dict, of all workers
local gateway = {}

local metrics = middleware.metrics({ store = "figures" })

local registry = operations.registry({ middleware = { -- the first is the outermost
  metrics,
  middleware.trace(otlp.note),
  middleware.rate_limit({ rate = 20, per = 1000, store = shared }), -- of each caller and operation
  middleware.cache(), -- as Cache-Control and ETag of the answers say
  middleware.retry({ attempts = 3, delay = 50 }),
  middleware.breaker({ failures = 5, of = 10, pause = 5000 }),
  middleware.concurrency({ limit = 32, queue = 100, by = "namespace" }),
  middleware.timeout(2000), -- of each attempt
} })

-- The APIs: a document each, and the variable with the address.
for name, variable in pairs({ tasks = "UPSTREAM_URL", notes = "NOTES_URL" }) do
  registry:register_all(assert(operations.from_openapi.file("/srv/gateway/" .. name .. ".openapi.json", {
    namespace = name,
    base_url = os.getenv(variable),
    accessControl = { requiredScopes = { name } }, -- exposes its operations to callers with the scope
  })))
end

-- Callers have tokens that $ISSUER signs, or the one of $API_TOKEN.
local function by_token(request)
  if request.token and request.token == os.getenv("API_TOKEN") then
    return { id = "token", scopes = { "tasks", "notes", "words" } }
  end
  return nil, request.token and "unknown token"
end

local issuer, upstreams = os.getenv("ISSUER"), {}

gateway.server = assert(operations.to_http(registry, {
  paths = "source",
  metrics = metrics, -- GET /metrics, with credentials
  access_log = "nginx", -- sets the variables of nginx.conf's log_format
  upstreams = upstreams, -- /readyz and /metrics show their states
  mcp = true,
  authorize = issuer and operations.oauth.resource_server({ issuer = issuer, audience = "gateway",
    jwks_uri = issuer .. "/jwks" }) or by_token,
}))

--- Connects a worker to the MCP server, in the background; its tools are operations while it is connected. To be called
--- in init_worker_by_lua.
function gateway.start()
  local url = os.getenv("MCP_URL")
  if url then
    upstreams[1] = operations.from_mcp.connect("words", { url = url, wait = false,
      accessControl = { requiredScopes = { "words" } } })
    upstreams[1]:register(registry)
  end
end

return gateway
