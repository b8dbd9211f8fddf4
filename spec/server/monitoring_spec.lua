local http_request = require("spec.support.http_request")
local operations = require("operations")

local send = http_request.send

local function silent() end

local function registry_with(definition)
  local registry = operations.registry({ log = silent })
  definition.namespace, definition.type = definition.namespace or "task", definition.type or "query"
  assert(registry:register(definition))
  return registry
end

describe("a server watched by others", function()
  it("tells a supervisor that it runs, and whether it is ready", function()
    local ready = false
    local server = assert(operations.to_http(registry_with({ name = "x", handler = silent }),
      { prefix = "/api", ready = function() return ready end, authorize = silent }))
    local healthy = send(server, "GET", "/api/healthz")
    assert.same({ 200, "ok\n" }, { healthy.status, healthy.text })
    assert.equal(503, send(server, "GET", "/api/readyz").status)
    ready = true
    assert.equal(200, send(server, "GET", "/api/readyz").status)
    server:drain()
    assert.equal(503, send(server, "GET", "/api/readyz").status)
    assert.equal(200, send(server, "GET", "/api/healthz").status)
    local without = assert(operations.to_http(registry_with({ name = "x", handler = silent }), { health = false }))
    assert.equal(404, send(without, "GET", "/healthz").status)
  end)

  it("shows figures at /metrics, to callers with credentials unless they are public", function()
    local metrics = operations.middleware.metrics()
    local function status(options, token, method)
      options.metrics, options.prefix = metrics, "/api"
      local registry = registry_with({ name = "x", handler = silent })
      return send(assert(operations.to_http(registry, options)), method or "GET", "/api/metrics",
        token and { authorization = "Bearer " .. token }).status
    end
    local function who(request)
      return request.token == "ada" and { id = "ada", scopes = {} } or nil, request.token and "unknown"
    end
    assert.same({ 401, 401, 200, 401 }, { status({ authorize = who }), status({ authorize = who }, "x"),
      status({ authorize = who }, "ada"), status({ authorize = who, anonymous = true }) })
    assert.same({ 200, 404 }, { status({}), status({}, nil, "POST") })
    metrics = operations.middleware.metrics({ public = true })
    assert.same({ 200, 200 }, { status({ authorize = who }), status({ authorize = who }, "x") })
    local server = assert(operations.to_http(registry_with({ name = "x", handler = silent }), { metrics = metrics }))
    local answer = send(server, "GET", "/metrics")
    assert.matches("\noperations_http_requests_running 0\n", answer.text, 1, true)
    assert.matches('operations_http_responses_total{part="http",status="200",class="2xx",code=""} 2\n', answer.text, 1,
      true)
    assert.equal("text/plain; version=0.0.4; charset=utf-8", answer.headers["content-type"])
    assert.equal(404, send(assert(operations.to_http(operations.registry())), "GET", "/metrics").status)
    assert.has_error(function() operations.to_http(operations.registry(), { metrics = {} }) end,
      "bad argument #2 to 'to_http' (metrics expected, got table)")
  end)

  it("names at /metrics no operations that are hidden from the caller", function()
    local function ids(options, token, mounted)
      local metrics = operations.middleware.metrics({ public = true })
      local registry = operations.registry({ middleware = { metrics } })
      for name, fields in pairs({ open = {}, inner = { _meta = { exposed = false } }, left = { tags = { "x" } },
        guarded = { accessControl = { requiredScopes = { "s" } } } }) do
        fields.namespace, fields.name, fields.handler = "task", name, silent
        assert(registry:register(fields))
        registry:execute("task." .. name)
      end
      options.metrics, options.filter = metrics, function(spec)
        return not (spec.tags and spec.tags[1] == "x")
      end
      options.authorize = function(request)
        return request.headers.authorization and { id = "ada", scopes = { "s" } } or nil
      end
      local served = registry
      if mounted then
        served = operations.registry()
        assert(served:mount(registry, { prefix = "team" }))
      end
      local text, found = send(assert(operations.to_http(served, options)), "GET", "/metrics",
        token and { authorization = "Bearer x" }).text, {}
      for id in text:gmatch('operations_calls_running{operation="([^"]*)"}') do
        found[#found + 1] = id
      end
      return found
    end
    assert.same({ "task.guarded", "task.open" }, ids({}))
    assert.same({ "task.open" }, ids({ hide_denied = true }))
    assert.same({ "task.guarded", "task.open" }, ids({ hide_denied = true }, true))
    assert.same({ "task.guarded", "task.open" }, ids({}, false, true))
  end)

  it("shows the states of the servers behind it, by name for callers of one of their operations", function()
    local servers = { names = { "secret", "b" }, state = function(_, name)
      return name == "b" and "retrying" or "connected"
    end, clients = { secret = { operations = { { namespace = "secret", name = "x" } } },
      b = { operations = { { namespace = "task", name = "x" } } } } }
    local server = assert(operations.to_http(registry_with({ name = "x", handler = silent }), { authorize = silent,
      upstreams = { servers, { name = "c", state = "connected" } }, metrics = operations.middleware.metrics() }))
    local ready = send(server, "GET", "/readyz")
    assert.same({ 200, "ready\nupstreams connected: 2\nupstreams retrying: 1\n" }, { ready.status, ready.text })
    local figures = send(assert(operations.to_http(registry_with({ name = "x", handler = silent }), {
      upstreams = { servers }, metrics = operations.middleware.metrics() })), "GET", "/metrics").text
    assert.matches('operations_upstreams{state="retrying"} 1\n', figures, 1, true)
    assert.matches('operations_upstream_connected{upstream="b"} 0\n', figures, 1, true)
    assert.is_nil(figures:find("secret", 1, true))
  end)
end)
