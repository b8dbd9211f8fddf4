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

describe("operations.to_http", function()
  it("refuses options that it does not know, and anything but a registry", function()
    assert.has_error(function() operations.to_http(operations.registry(), { prefex = "/api" }) end,
      "bad option 'prefex' to 'to_http' (unknown; did you mean prefix?)")
    assert.has_error(function() operations.to_http({}) end,
      "bad argument #1 to 'to_http' (registry expected, got table)")
  end)

  it("gives a request an id, or keeps one that is fit for a log", function()
    local server = assert(operations.to_http(registry_with({ name = "id", handler = function(_, context)
      return context.requestId
    end })))
    local made = send(server, "GET", "/task/id")
    assert.equal(made.headers["x-request-id"], made.json)
    assert.equal("a.b-c_1", send(server, "GET", "/task/id", { ["x-request-id"] = "a.b-c_1" }).json)
    for _, id in ipairs({ "a b", "", ("x"):rep(129), "a\nb", "ü" }) do
      assert.not_equal(id, send(server, "GET", "/task/id", { ["x-request-id"] = id }).headers["x-request-id"])
    end
  end)

  it("tells a handler of its request", function()
    local server = assert(operations.to_http(registry_with({ name = "who", handler = function(_, context)
      return { http = context.metadata.http, traceparent = context.traceparent }
    end }), { metadata_headers = { "User-Agent" } }))
    local trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    local seen = send(server, "GET", "/task/who?", { ["user-agent"] = "x", cookie = "secret", traceparent = trace,
      tracestate = "a=b" }).json
    assert.same({ traceparent = trace, http = { method = "GET", path = "/task/who",
      scheme = "http", host = "localhost", headers = { ["user-agent"] = "x" },
      tracestate = "a=b" } }, seen)
    for _, bad in ipairs({ "x", trace:upper(), trace:gsub("4bf92f3577b34da6a3ce929d0e0e4736", ("0"):rep(32)),
      "ff" .. trace:sub(3), trace .. "-x" }) do
      assert.is_nil(send(server, "GET", "/task/who", { traceparent = bad }).json.traceparent, bad)
    end
  end)

  it("lets a handler set status and headers, but none of the connection's", function()
    local server = assert(operations.to_http(registry_with({ name = "make", type = "mutation", handler = function()
      return operations.http_envelope({ id = 7 }, { statusCode = 201, headers = { Location = "/tasks/7",
        setCookie = { "a=1", "b=2" }, ["content-length"] = "999", connection = "close", bad = "x\r\ny: z" } })
    end })))
    local made = send(server, "POST", "/task/make")
    assert.equal(201, made.status)
    assert.same({ id = 7 }, made.json)
    assert.same({ "a=1", "b=2" }, made.headers["set-cookie"])
    assert.equal("/tasks/7", made.headers.location)
    assert.is_nil(made.headers["content-length"])
    assert.is_nil(made.headers.connection)
    assert.is_nil(made.headers.bad)
  end)

  it("answers with the status that an operation declares, unless its handler gives another", function()
    local answers = { { id = 7 }, operations.null,
      operations.http_envelope(1, { statusCode = 202, headers = {}, contentType = "application/json" }) }
    local count = 0
    local server = assert(operations.to_http(registry_with({ name = "make", type = "mutation",
      _meta = { http = { status = 201 } }, handler = function()
        count = count + 1
        return answers[count]
      end })))
    for _, status in ipairs({ 201, 201, 202, 201 }) do -- the last one without data
      assert.equal(status, send(server, "POST", "/task/make").status)
    end
    local document = server:openapi()
    assert.is_table(document.paths["/task/make"].post.responses["201"])
    assert.is_nil(document.paths["/task/make"].post.responses["200"])
    for _, status in ipairs({ 200, 203, 207, 299 }) do
      assert(operations.to_http(registry_with({ name = "make", _meta = { http = { status = status } } })))
    end
    for _, status in ipairs({ 404, 199, 204, 206, 300, 200.5, "201" }) do
      local none, err = operations.to_http(registry_with({ name = "make", _meta = { http = { status = status } },
        handler = function() end }))
      assert.is_nil(none)
      assert.matches("task.make: _meta.http.status: 200 to 203 or 207 to 299 expected", err.message, 1, true)
    end
  end)

  it("passes on only some headers of another server's answer", function()
    local server = assert(operations.to_http(registry_with({ name = "get", _meta = { source = "openapi" },
      handler = function()
        return operations.http_envelope(1, { statusCode = 203, headers = { etag = '"x"', server = "inside",
          setCookie = { "session=1" }, ["x-internal"] = "y", link = "</2>; rel=next" } })
      end })))
    local got = send(server, "GET", "/task/get")
    assert.equal(203, got.status)
    assert.same({ '"x"', "</2>; rel=next" }, { got.headers.etag, got.headers.link })
    assert.is_nil(got.headers.server)
    assert.is_nil(got.headers["set-cookie"])
    assert.is_nil(got.headers["x-internal"])
  end)

  it("makes a failed tool a failure", function()
    local server = assert(operations.to_http(registry_with({ name = "use", type = "mutation", handler = function()
      return operations.mcp_envelope("x", { isError = true, content = { { type = "text", text = "no such file" } } })
    end })))
    local failed = send(server, "POST", "/task/use")
    assert.same({ 422, "TOOL_ERROR", "no such file" }, { failed.status, failed.json.code, failed.json.detail })
    assert.equal("no such file", failed.json.details.content[1].text)
  end)

  it("waits for a server behind it that is connecting before a path is unknown", function()
    operations.run(function()
      local registry, waited = operations.registry({ log = silent }), 0
      local client = { state = "connecting" }
      function client:wait(ms)
        assert.equal(10000, ms)
        waited = waited + 1
        operations.sleep(0)
        if self.state == "connecting" then
          self.state = "connected"
          assert(registry:register({ namespace = "words", name = "hello", type = "query", handler = silent }))
        end
      end
      local server = assert(operations.to_http(registry, { upstreams = { client, { state = "lost" } } }))
      assert.same({ 204, 204, 1 }, { send(server, "GET", "/words/hello").status, send(server, "GET",
        "/words/hello").status, waited })
      assert.equal(404, send(server, "GET", "/words/none").status)
    end)
  end)

  it("logs no refusal of a breaker: its metrics tell", function()
    local told, calls = {}, 0
    local registry = operations.registry({ log = silent, middleware = { operations.middleware.breaker({ failures = 1,
      of = 1 }) } })
    assert(registry:register({ namespace = "a", name = "b", type = "query", handler = function()
      calls = calls + 1
      return nil, operations.error("UNAVAILABLE", "broken")
    end }))
    local server = assert(operations.to_http(registry, { log = function(_, message) told[#told + 1] = message end }))
    assert.same({ 503, 503, 1 }, { send(server, "GET", "/a/b").status, send(server, "GET", "/a/b").status, calls })
    assert.equal(1, #told)
    assert.matches("a.b: UNAVAILABLE: broken", told[1], 1, true)
  end)

  it("refuses hosts and pages that are not its own, before anything else", function()
    local asked = false
    local server = assert(operations.to_http(registry_with({ name = "x", handler = silent }),
      { authorize = function() asked = true end }))
    local refused = send(server, "GET", "/task/x", { host = "evil.example" })
    assert.equal(403, refused.status)
    assert.matches("option `hosts`", refused.json.detail, 1, true)
    assert.equal(403, send(server, "GET", "/task/x", { origin = "http://evil.example" }).status)
    local named = assert(operations.to_http(registry_with({ name = "x", handler = silent }),
      { hosts = { "Api.Example" } }))
    assert.equal(204, send(named, "GET", "/task/x", { host = "api.example" }).status)
    assert.is_false(asked)
  end)

  it("waits for running requests when it is drained", function()
    local server, finish
    server = assert(operations.to_http(registry_with({ name = "slow", handler = function()
      operations.sleep(0.01)
      return "done"
    end })))
    operations.run(function()
      local call = operations.spawn(function()
        return send(server, "GET", "/task/slow")
      end)
      operations.sleep(0)
      assert.equal(1, server.running)
      assert.is_true(server:drain(5000))
      finish = call:wait()
    end)
    assert.equal('"done"', finish.text)
    assert.equal(503, send(server, "GET", "/task/slow").status)
  end)

  it("cancels requests that have not ended in time when it is drained", function()
    local server, answer = assert(operations.to_http(registry_with({ name = "slow", handler = function()
      operations.sleep(60)
    end })), nil)
    operations.run(function()
      local call = operations.spawn(function()
        return send(server, "GET", "/task/slow")
      end)
      operations.sleep(0)
      assert.is_false(server:drain(1))
      answer = call:wait()
    end)
    assert.same({ 503, "ABORTED" }, { answer.status, answer.json.code })
  end)

  it("has ended by itself when its own requests have, and those of mounted handlers", function()
    local function drained(seconds, grace, mounted)
      local server = assert(operations.to_http(registry_with({ name = "slow", handler = function()
        operations.sleep(seconds)
      end })))
      server:mount("/in", { handle = silent, drain = function()
        return mounted
      end })
      return operations.run(function()
        assert(server:listen())
        operations.spawn(send, server, "GET", "/task/slow")
        operations.sleep(0)
        return server:drain(grace)
      end)
    end
    assert.is_true(drained(0, 20000))
    assert.is_true(drained(0, 20000, true))
    assert.is_false(drained(0, 20000, false))
    assert.is_false(drained(60, 1, true))
  end)

  it("cancels running requests when it is closed, and takes no more", function()
    local server, answer = assert(operations.to_http(registry_with({ name = "slow", handler = function()
      operations.sleep(60)
    end })), nil)
    operations.run(function()
      local call = operations.spawn(function()
        return send(server, "GET", "/task/slow")
      end)
      operations.sleep(0)
      server:close()
      answer = call:wait()
    end)
    assert.same({ 503, "ABORTED" }, { answer.status, answer.json.code })
    assert.equal(503, send(server, "GET", "/task/slow").status)
  end)

  it("is drained within a number of milliseconds, or however long it takes", function()
    local server = assert(operations.to_http(registry_with({ name = "x", handler = silent })))
    assert.has_error(function()
      server:drain("1")
    end, "bad argument #1 to 'drain' (number expected, got string)")
    assert.equal(204, send(server, "GET", "/task/x").status)
    assert.is_true(server:drain())
  end)

  it("cancels a handler whose caller left", function()
    local left, failure
    local server = assert(operations.to_http(registry_with({ name = "slow", handler = function(_, context)
      local ok, raised = pcall(operations.sleep, 60)
      failure = not ok and raised.code .. tostring(context:cancelled())
      error(raised, 0)
    end })))
    operations.run(function()
      local call = operations.spawn(function()
        return server:handle({ method = "GET", target = "/task/slow", headers = {}, left = function(fn) left = fn end })
      end)
      operations.sleep(0)
      left()
      call:wait()
    end)
    assert.equal("ABORTEDtrue", failure)
    assert.equal(0, server.running)
  end)
end)

describe("server:listen", function()
  local function refusal(options, host)
    local server = assert(operations.to_http(registry_with({ name = "x", handler = silent }), options))
    local listener, err = server:listen({ host = host })
    server:close()
    return not listener and err.code
  end

  it("does not offer everything to strangers by mistake", function()
    assert.equal("ACCESS_DENIED", refusal({}, "0.0.0.0"))
    assert.equal("ACCESS_DENIED", refusal({}, "::"))
    assert.is_false(refusal({}, "127.0.0.1"))
    assert.is_false(refusal({ authorize = false }, "0.0.0.0"))
    assert.is_false(refusal({ authorize = silent }, "0.0.0.0"))
  end)

  it("listens on a Unix socket, where names of hosts mean nothing", function()
    local path = os.tmpname()
    os.remove(path)
    operations.run(function()
      local server = assert(operations.to_http(registry_with({ name = "x", handler = function() return "y" end })))
      assert(server:listen({ path = path }))
      local child = assert(operations.process.spawn({ "curl", "-sS", "--unix-socket", path, "http://any.name/task/x" }))
      assert.equal('"y"', child:read())
      server:close()
    end)
    assert.is_nil(io.open(path))
  end)

  it("blames the line that gives it a wrong option", function()
    local registry = registry_with({ name = "x", handler = silent })
    for _, server in ipairs({ assert(operations.to_http(registry)), operations.to_mcp(registry) }) do
      for _, wrong in ipairs({ { port = "8080" }, { tls = {} } }) do
        local ok, message = pcall(function()
          local listener = server:listen(wrong)
          return listener
        end)
        assert.is_false(ok)
        assert.matches("^spec/server/init_spec%.lua:%d+: bad option", message)
      end
    end
  end)

  it("says that a port is taken", function()
    operations.run(function()
      local server = assert(operations.to_http(registry_with({ name = "x", handler = silent })))
      local listener = assert(server:listen())
      local second, err = server:listen({ port = listener.port })
      assert.is_nil(second)
      assert.equal("TRANSPORT_LOST", err.code)
      assert.matches(tostring(listener.port), err.message, 1, true)
      server:close()
    end)
  end)

  it("answers with a hub on the same port", function()
    local hub = assert(operations.transports.websocket_hub({ port = false,
      registry = registry_with({ name = "who", handler = function() return "hub" end }) }))
    operations.run(function()
      local server = assert(operations.to_http(registry_with({ name = "x", handler = function() return "http" end })))
      server:mount("/calls", hub)
      local listener = assert(server:listen())
      local transport = assert(operations.transports.websocket("ws://127.0.0.1:" .. listener.port .. "/calls"))
      local map = operations.call_map(transport)
      assert.equal("hub", assert(map:call("task.who", {})).data)
      local url = "http://127.0.0.1:" .. listener.port .. "/task/x"
      assert.equal('"http"', assert(operations.http.request({ url = url })).body)
      map:close()
      hub:close()
      server:close()
    end)
  end)
end)

describe("server:mount", function()
  it("serves another handler below a path", function()
    local inner = assert(operations.to_http(registry_with({ namespace = "admin", name = "x", handler = function()
      return "inner"
    end }), { prefix = "/admin" }))
    local outer = assert(operations.to_http(registry_with({ namespace = "admin", name = "x", handler = function()
      return "outer"
    end })))
    outer:mount("/admin", inner)
    outer:mount("/admin/x/deep", { handle = function()
      return { status = 200, headers = {}, body = "deep" }
    end })
    assert.equal(404, send(outer, "GET", "/admin/x").status)
    assert.equal('"inner"', send(outer, "GET", "/admin/admin/x").text)
    assert.equal("deep", send(outer, "GET", "/admin/x/deep/er").text)
    assert.equal(404, send(outer, "GET", "/administrator").status)
    for _, prefix in ipairs({ "admin", "/", "/admin/" }) do
      assert.has_error(function() outer:mount(prefix, inner) end)
    end
    assert.has_error(function() outer:mount("/x", {}) end)
    assert.error_matches(function() outer:mount(7, inner) end, "#1 to 'mount' (string expected, got number)", 1, true)
  end)

  it("is drained with its server", function()
    local inner = assert(operations.to_http(registry_with({ name = "watch", type = "subscription", handler = function()
      operations.sleep(600)
    end }), { prefix = "/in" }))
    local outer = assert(operations.to_http(registry_with({ name = "x", handler = silent })))
    outer:mount("/in", inner)
    operations.run(function()
      local listener = assert(outer:listen())
      local stream = assert(operations.http.open({ url = "http://127.0.0.1:" .. listener.port .. "/in/task/watch" }))
      assert(stream:read())
      assert.is_true(outer:drain(20000))
      assert.equal('event: end\ndata: {"reason":"draining"}\n\n', stream:read())
      assert.is_true(inner.draining)
    end)
  end)
end)
