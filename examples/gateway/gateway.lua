--- A gateway: the API of an OpenAPI document, with policies around each call. nginx.conf serves it.
local operations = require("operations")
local otlp = require("otlp")

local middleware = operations.middleware
local shared = "gateway" -- nginx's lua_shared_dict, of all workers

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

registry:register_all(assert(operations.from_openapi.file("/srv/gateway/tasks.openapi.json", {
  namespace = "tasks",
  base_url = os.getenv("UPSTREAM_URL"),
  accessControl = { requiredScopes = { "tasks" } }, -- exposes its operations to callers with the scope
})))

return assert(operations.to_http(registry, {
  paths = "source",
  metrics = metrics, -- GET /metrics, with credentials
  access_log = "nginx", -- sets the variables of nginx.conf's log_format
  authorize = function(request)
    if request.token and request.token == os.getenv("API_TOKEN") then
      return { id = "token", scopes = { "tasks" } }
    end
    return nil, request.token and "unknown token"
  end,
}))
