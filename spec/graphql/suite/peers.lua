-- Calls of services that others made: graphql with graphql-http, graphql-ws and graphql-sse, of npm.
local eventually = require("spec.support.eventually")
local operations = require("operations")
local service = require("spec.graphql.suite.service")

describe("a service of graphql-js", function()
  local running

  setup(function()
    running = service.start()
  end)

  teardown(function()
    running.stop()
  end)

  -- The operations of the service at a path, as `demo.NAME`.
  local function registry_of(path, options)
    local config = { namespace = "demo" }
    for name, value in pairs(options or {}) do
      config[name] = value
    end
    local registry = operations.registry({ log = function() end })
    local definitions, report = operations.from_graphql.url(running.url .. path, config)
    assert(definitions, report)
    assert.same({}, report)
    assert(registry:register_all(definitions))
    return registry
  end

  -- The same at another path than that of its types.
  local function registry_at(path, options)
    local config = { endpoint = running.url .. path }
    for name, value in pairs(options or {}) do
      config[name] = value
    end
    return registry_of("/graphql", config)
  end

  it("tells its types, by the introspection that it knows", function()
    for _, path in ipairs({ "/graphql", "/old" }) do
      local registry = registry_of(path)
      assert.equal(17, #registry:specs())
      assert.equal("hello you", registry:execute("demo.hello", { name = "you" }).data)
    end
    local definitions, err = operations.from_graphql.url(running.url .. "/closed")
    assert.is_nil(definitions)
    assert.equal("introspection", err.details.kind)
  end)

  it("answers every root field that needs no argument with its default selection", function()
    local registry = registry_of("/graphql")
    for _, spec in ipairs(registry:specs({ type = "query" })) do
      if spec.inputSchema.required == nil and spec.name ~= "fail" then
        local envelope, err = registry:execute("demo." .. spec.name)
        assert(envelope, tostring(err))
      end
    end
  end)

  it("takes arguments, nested input and oneOf, and a selection", function()
    local registry = registry_of("/graphql")
    assert.same({ id = "1", friends = { totalCount = 7 } },
      registry:execute("demo.user", { id = 1, select = "id friends(first: 1) { totalCount }" }).data)
    assert.equal("Bonn", registry:execute("demo.move", { place = { city = "Bonn" } }).data)
    assert.equal("2", registry:execute("demo.find", { by = { name = "Bo" }, select = "id" }).data.id)
    assert.equal("VALIDATION_ERROR", select(2, registry:execute("demo.find", { by = { id = 1, name = "Bo" } })).code)
  end)

  it("fails with its code, message and path", function()
    local registry = registry_of("/graphql")
    local _, err = registry:execute("demo.fail", { code = "BROKEN" })
    assert.same({ "BROKEN", "it failed (at fail)", 200 }, { err.code, err.message, err.details.statusCode })
    _, err = registry:execute("demo.forbidden")
    assert.equal("FORBIDDEN", err.code)
    local envelope = registry:execute("demo.partial")
    assert.same({ "yes", operations.null, "BROKEN" },
      { envelope.data.good, envelope.data.bad, envelope.meta.errors[1].extensions.code })
  end)

  it("refuses invalid queries with status 400", function()
    local exchange = require("operations.graphql.exchange")
    local _, err = exchange.send(exchange.new({ endpoint = running.url .. "/graphql" }),
      { type = "query", query = "{ nothing }", field = "nothing" })
    assert.same({ "GRAPHQL_ERROR", false, false }, { err.code, err.mayHaveRun, err.retryable })
  end)

  it("may be repeated when it is asked too much", function()
    local _, err = registry_at("/throttled"):execute("demo.hello")
    assert.same({ "RATE_LIMITED", true, 7000 }, { err.code, err.retryable, err.retryAfter })
  end)

  it("gets credentials and headers", function()
    local registry = registry_of("/graphql", { auth = { type = "bearer", token = "t" }, headers = { ["X-Own"] = "1" } })
    assert.equal("Bearer t", registry:execute("demo.header", { name = "Authorization" }).data)
    assert.equal("1", registry:execute("demo.header", { name = "x-own" }).data)
  end)

  it("answers GET", function()
    local registry = registry_of("/graphql", { method = "GET" })
    assert.equal("hello é&", registry:execute("demo.hello", { name = "é&" }).data)
  end)

  it("knows a query by its hash after it came once", function()
    for _, method in ipairs({ "POST", "GET" }) do
      running.log()
      local registry = registry_at("/persisted", { persisted = true, method = method })
      for _ = 1, 2 do
        assert.equal("hello " .. method, registry:execute("demo.hello", { name = method }).data)
      end
      local known = { "GET  hash", "GET  hash" } -- from the first method
      assert.same(method == "POST" and { "POST  hash", "POST query hash", "POST  hash" } or known, running.log().log)
    end
  end)

  it("takes files by the multipart request specification", function()
    local registry = registry_at("/upload")
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write("a\0b")
    file:close()
    assert.equal("note.txt text/plain 3 x", registry:execute("demo.put",
      { file = { path = path, filename = "note.txt", contentType = "text/plain" }, note = "x" }).data)
    os.remove(path)
    assert.same({ "blob one", "2.txt two" }, registry:execute("demo.putAll",
      { files = { "one", { base64 = "dHdv", name = "2.txt" } } }).data)
  end)

  it("has pages, forwards and backwards", function()
    local registry = registry_of("/graphql")
    local function names_of(input)
      local names = {}
      for page in assert(registry:pages("demo.users", input)) do
        for _, user in ipairs(page.data.nodes) do
          names[#names + 1] = user.name
        end
      end
      return table.concat(names, " ")
    end
    assert.equal("Ada Bo Cy Di Ed Flo Gus", names_of({ first = 3 }))
    assert.equal("Ada Bo Cy Di Ed Flo Gus", names_of({}))
    assert.equal("Ed Flo Gus Bo Cy Di Ada", names_of({ last = 3 }))
    assert.equal("Gus Flo Ed Di Cy Bo Ada", names_of({ last = 1, select = "nodes { name }" }))
  end)

  for name, way in pairs({ ["graphql-ws"] = "websocket", ["graphql-sse"] = "sse" }) do
    local options = { subscriptions = way }
    describe("subscribed to with " .. name, function()
      local function registry()
        return registry_of("/graphql", options)
      end

      local function all_of(id, input)
        local list, stream = {}, assert(registry():subscribe(id, input))
        while true do
          local envelope, err = stream:next()
          if not envelope then
            return list, err
          end
          list[#list + 1] = envelope.data
        end
      end

      it("sends every event, and the end", function()
        local list, err = all_of("demo.count", { to = 2000 })
        assert.is_nil(err)
        assert.equal(2000, #list)
        assert.equal(2000, list[2000])
      end)

      it("sends objects by their selection", function()
        assert.same({ { by = { name = "Ada" } }, { by = { name = "Bo" } } },
          (all_of("demo.greetings", { select = "by { name }" })))
      end)

      it("continues after an event with errors", function()
        assert.same({ { 1, operations.null, 3 } }, { all_of("demo.flaky") })
      end)

      it("is told when a subscription is left", function()
        local stream = assert(registry():subscribe("demo.count", { to = 1000000, delay = 1 }))
        assert(stream:next())
        assert.equal(1, running.log().open)
        stream:close()
        eventually(function()
          return running.log().open == 0
        end)
      end)

      it("refuses invalid subscriptions", function()
        local exchange = require("operations.graphql.exchange")
        local subscription = require("operations.graphql.subscription")
        local of = operations.registry({ log = function() end })
        of:register({ namespace = "a", name = "b", type = "subscription", handler = function(_, context)
          return subscription.run(exchange.new({ endpoint = running.url .. "/graphql", subscriptions =
            options.subscriptions }), { type = "subscription", query = "subscription { nothing }" }, context)
        end })
        local _, err = assert(of:subscribe("a.b")):next()
        assert.equal("GRAPHQL_ERROR", err.code)
      end)
    end)
  end

  it("that has no WebSocket is subscribed to by server-sent events", function()
    local stream = assert(registry_at("/stream"):subscribe("demo.count", { to = 1 }))
    assert.same({ 1 }, { stream:next().data, (stream:next()) })
  end)

  it("refuses a connection by its parameters", function()
    local registry = registry_of("/graphql", { subscriptions = "websocket", connection_params = { token = "bad" } })
    local _, err = assert(registry:subscribe("demo.count", { to = 1 })):next()
    assert.same({ "ACCESS_DENIED", false }, { err.code, err.retryable })
  end)
end)
