local http_request = require("spec.support.http_request")
local identities = require("spec.support.identities")
local limits = require("operations.base.limits")
local operations = require("operations")

local T = operations.type

-- A server whose operation `pay` counts how often it ran.
local function serve(options, more)
  local state = { ran = 0 }
  local registry = operations.registry({ log = function() end })
  assert(registry:register_all({
    { namespace = "a", name = "pay", inputSchema = T.object({ n = T.integer(), say = T.optional(T.string()),
      wait = T.optional(T.number()), size = T.optional(T.integer()) }),
      handler = function(input)
        state.ran = state.ran + 1
        if input.wait then
          operations.sleep(input.wait)
        elseif input.say then
          return nil, operations.error(input.say, "it failed")
        elseif input.size then
          return ("x"):rep(input.size)
        end
        return operations.http_envelope({ n = input.n, ran = state.ran }, { statusCode = 201,
          headers = { location = "/payments/1", setCookie = { "a=1", "b=2" } } })
      end },
    { namespace = "a", name = "refund", handler = function() state.ran = state.ran + 1 return state.ran end },
    { namespace = "a", name = "look", type = "query", handler = function() state.ran = state.ran + 1 return 1 end },
    { namespace = "a", name = "bytes", outputSchema = T.string({ contentMediaType = "text/plain" }),
      handler = function() state.ran = state.ran + 1 return "x" end },
  }))
  for _, definition in ipairs(more or {}) do
    assert(registry:register(definition))
  end
  local given = { log = function() end, idempotency = true, authorize = function(request)
    return request.token and { id = request.token ~= "anonymous" and request.token or nil, scopes = {} }
  end, anonymous = true }
  for name, value in pairs(options or {}) do
    given[name] = value
  end
  local server, err = operations.to_http(registry, given)
  return server, state, err
end

local function post(server, key, body, more, path)
  local headers = { ["idempotency-key"] = key }
  for name, value in pairs(more or {}) do
    headers[name] = value
  end
  return operations.run(http_request.send, server, "POST", path or "/a/pay", headers, body or { n = 1 })
end

describe("a request with an Idempotency-Key", function()
  it("belongs to one identity, whatever makes it another one", function()
    local identity
    local server, state = serve({ authorize = function()
      return identity
    end })
    for i, each in ipairs(identities.different) do
      identity = each
      post(server, "k-1")
      post(server, "k-1")
      assert.equal(i, state.ran)
    end
    for _, each in ipairs(identities.same) do
      identity = each
      post(server, "k-1")
      assert.equal(#identities.different + 1, state.ran)
    end
  end)

  it("runs once, and is answered again with the same answer", function()
    local server, state = serve()
    local first, second = post(server, "k-1"), post(server, "k-1")
    assert.equal(1, state.ran)
    assert.same({ 201, first.text, "/payments/1", { "a=1", "b=2" }, "true" }, { second.status, second.text,
      second.headers.location, second.headers["set-cookie"], second.headers["idempotent-replayed"] })
    assert.is_nil(first.headers["idempotent-replayed"])
    assert.not_equal(first.headers["x-request-id"], second.headers["x-request-id"])
    assert.equal(201, post(server, "k-2").status)
    assert.equal(2, state.ran)
  end)

  it("is the same in quotes, and whatever the order of its members", function()
    local server, state = serve()
    post(server, '"k 1"', '{"n":1,"size":3}', { ["content-type"] = "application/json" })
    assert.equal(200, post(server, '"k 1"', '{ "size":3, "n":1 }', { ["content-type"] = "application/json" }).status)
    post(server, "k2", '{"n":1}', { ["content-type"] = "application/json" })
    assert.equal(201, post(server, '"k2"').status)
    assert.equal(2, state.ran)
  end)

  it("is refused with another input", function()
    local server, state = serve()
    post(server, "k")
    local refused = post(server, "k", { n = 2 })
    assert.same({ 422, "VALIDATION_ERROR", 1 }, { refused.status, refused.json.code, state.ran })
  end)

  it("is refused while it runs", function()
    local server, state = serve()
    local body = { n = 1, wait = 0.05 }
    operations.run(function()
      local running = operations.spawn(http_request.send, server, "POST", "/a/pay", { ["idempotency-key"] = "k" }, body)
      operations.sleep(0)
      local refused = http_request.send(server, "POST", "/a/pay", { ["idempotency-key"] = "k" }, body)
      assert.same({ 409, "BUSY", "1" }, { refused.status, refused.json.code, refused.headers["retry-after"] })
      assert.equal(422, http_request.send(server, "POST", "/a/pay", { ["idempotency-key"] = "k" }, { n = 2 }).status)
      assert.equal(201, running:wait().status)
    end)
    assert.equal(201, post(server, "k", body).status)
    assert.equal(1, state.ran)
  end)

  it("belongs to its caller, and to one operation", function()
    local server, state = serve()
    for _, token in ipairs({ "ada", "bob", "anonymous" }) do
      post(server, "k", nil, { authorization = "Bearer " .. token })
    end
    post(server, "k")
    post(server, "k", {}, nil, "/a/refund")
    assert.equal(5, state.ran)
    post(server, "k", nil, { authorization = "Bearer ada" })
    assert.equal(5, state.ran)
  end)

  it("belongs to an id or to Authorization, and is refused for callers with neither", function()
    local server, state = serve({ authorize = function(request)
      return request.headers.cookie and { scopes = {} }
    end })
    assert.equal(500, post(server, "k", nil, { cookie = "session=ada" }).status)
    assert.equal(0, state.ran)
    post(server, "k", nil, { authorization = "Basic YTpi" }) -- anonymous for the server
    post(server, "k", nil, { authorization = "Basic YzpkCg" })
    assert.equal(2, state.ran)
  end)

  it("has another input where a text replaces JSON", function()
    local server, state = serve(nil, { { namespace = "b", name = "any", inputSchema = true,
      handler = function(input) return { input } end } })
    local json = { ["content-type"] = "application/json" }
    assert.equal(200, post(server, "k", '{"n":1}', json, "/b/any").status)
    assert.equal(422, post(server, "k", [["{\"n\":1}"]], json, "/b/any").status)
    assert.equal(0, state.ran)
  end)

  it("is refused where its input is too deep to be compared", function()
    local server, state = serve({ max_depth = 2000 }, { { namespace = "b", name = "any", inputSchema = true,
      handler = function() return 1 end } })
    local refused = post(server, "k", ("["):rep(600) .. ("]"):rep(600), { ["content-type"] = "application/json" },
      "/b/any")
    assert.equal(422, refused.status)
    assert.equal(0, state.ran)
  end)

  it("does not run again where there was no room for its answer", function()
    local kept = {}
    local store = { add = function(_, key, value)
      local known = kept[key]
      kept[key] = known or value
      return known
    end, swap = function(_, key, old, new)
      if kept[key] == old and new and #new > 33 then
        kept[key] = nil -- as nginx does
        return nil, operations.error("UNAVAILABLE", "no memory")
      end
      return kept[key] == old
    end }
    local warned
    local server, state = serve({ idempotency = store, log = function(_, message) warned = message end })
    assert.equal(201, post(server, "k").status)
    assert.matches("is not kept: no memory", warned)
    assert.equal(409, post(server, "k").status)
    assert.equal(1, state.ran)
  end)

  it("keeps the errors of the handler, and lets other failures be sent again", function()
    local server, state = serve()
    for code, status in pairs({ OWN_CODE = 500, EXECUTION_ERROR = 500 }) do
      local body, before = { n = 1, say = code }, state.ran
      local first, second = post(server, code, body), post(server, code, body)
      assert.same({ status, status, first.json.code, before + 1 }, { first.status, second.status, second.json.code,
        state.ran })
    end
    for _, code in ipairs({ "BUSY", "TIMEOUT", "TRANSPORT_LOST", "UNAVAILABLE", "RATE_LIMITED" }) do
      local body, before = { n = 1, say = code }, state.ran
      post(server, code, body)
      assert.is_nil(post(server, code, body).headers["idempotent-replayed"])
      assert.equal(before + 2, state.ran)
    end
    assert.equal(422, post(server, "input", { n = "x" }).status)
    assert.equal(201, post(server, "input").status)
  end)

  it("continues when its caller leaves, so that the answer is ready when it comes again", function()
    local server, state = serve()
    local leave
    operations.run(function()
      local running = operations.spawn(http_request.send, server, "POST", "/a/pay", { ["idempotency-key"] = "k" },
        { n = 1, wait = 0.05 }, { left = function(fn) leave = fn end })
      operations.sleep(0)
      leave()
      running:wait()
    end)
    assert.equal(201, post(server, "k", { n = 1, wait = 0.05 }).status)
    assert.equal(1, state.ran)
  end)

  it("is free again when the server was cancelled in the middle of it", function()
    local server, state = serve()
    operations.run(function()
      local running = operations.spawn(http_request.send, server, "POST", "/a/pay", { ["idempotency-key"] = "k" },
        { n = 1, wait = 600 })
      operations.sleep(0)
      server:drain(1)
      assert.equal(503, running:wait().status)
    end)
    server.draining = false
    assert.equal(201, post(server, "k").status)
    assert.equal(2, state.ran)
  end)

  it("is free again when its process died, once the call's timeout is over", function()
    local kept, ttls = {}, {}
    local store = { add = function(_, key, value, ttl)
      ttls[#ttls + 1] = ttl
      local known = kept[key]
      kept[key] = known or value
      return known
    end, swap = function(_, key, old, new)
      if kept[key] ~= old then
        return false
      end
      kept[key] = new
      return true
    end }
    local warned
    local server, state = serve({ idempotency = store, log = function(_, message) warned = message end })
    operations.run(function()
      local running = operations.spawn(http_request.send, server, "POST", "/a/pay", { ["idempotency-key"] = "k",
        ["request-timeout-ms"] = "2000" }, { n = 1, wait = 0.05 })
      operations.sleep(0)
      assert.equal(2000 + limits.idempotency_lease, ttls[1])
      kept[next(kept)] = nil -- the time is over
      assert.equal(201, http_request.send(server, "POST", "/a/pay", { ["idempotency-key"] = "k" }, { n = 1 }).status)
      running:wait()
    end)
    assert.matches("is not kept: it took longer than its timeout", warned) -- and did not overwrite the other answer
    assert.same({ n = 1, ran = 2 }, post(server, "k").json)
    assert.equal(2, state.ran)
  end)

  it("reports that its answer is too large to keep, and does not run again", function()
    local server, state = serve()
    local body = { n = 1, size = limits.idempotency_answer }
    assert.equal(200, post(server, "k", body).status)
    local again = post(server, "k", body)
    assert.equal(409, again.status)
    assert.matches("too large to be kept", again.json.detail)
    assert.equal(1, state.ran)
  end)

  it("has one that can be read", function()
    local server, state = serve()
    for _, key in ipairs({ "", "a b", "a,b", '"', '""', '"a', 'a"b', "ü", ("x"):rep(256), '"a\\"b"' }) do
      local refused = post(server, key)
      assert.equal(400, refused.status, key)
      assert.matches("Idempotency%-Key: 1 to 255", refused.json.detail)
    end
    assert.equal(0, state.ran)
  end)

  it("is answered 503 where it is unknown whether it ran", function()
    local store = { add = function() return nil, operations.error("UNAVAILABLE", "Redis is not there") end,
      swap = function() end }
    local server, state = serve({ idempotency = store })
    local refused = post(server, "k")
    assert.same({ 503, "UNAVAILABLE", 0 }, { refused.status, refused.json.code, state.ran })
    assert.equal(201, post(server, nil).status)
  end)

  it("is as any other where answers are not kept: queries, bytes, servers without the option", function()
    local server, state = serve()
    for _, path in ipairs({ "/a/look", "/a/bytes" }) do
      post(server, "k", {}, nil, path)
      post(server, "k", {}, nil, path)
    end
    assert.equal(4, state.ran)
    server, state = serve({ idempotency = false })
    post(server, "k")
    post(server, "k", { n = 2 })
    assert.equal(2, state.ran)
  end)
end)

describe("an operation that requires an Idempotency-Key", function()
  local function strict(kind)
    return { { namespace = "b", name = "pay", type = kind, inputSchema = T.object({ n = T.integer() }),
      _meta = { http = { idempotencyKey = "required" } }, handler = function(input) return input.n end } }
  end

  it("is not called without one, and says so in the document", function()
    local server = serve(nil, strict())
    local refused = post(server, nil, nil, nil, "/b/pay")
    assert.same({ 400, "b.pay needs an Idempotency-Key" }, { refused.status, refused.json.detail })
    assert.equal(200, post(server, "k", nil, nil, "/b/pay").status)
    local shown = server:openapi().paths["/b/pay"].post
    assert.same({ "Idempotency-Key", "header", true }, { shown.parameters[1].name, shown.parameters[1]["in"],
      shown.parameters[1].required })
    assert.is_nil(server:openapi().paths["/a/pay"].post.parameters)
  end)

  it("is called with one by operations of the document", function()
    local server, state = serve({ authorize = false }, strict())
    local listener = assert(server:listen({ port = 0 }))
    local registry = operations.registry({ log = function() end })
    assert(registry:register_all(assert(operations.from_openapi.document(server:openapi(), {
      base_url = ("http://127.0.0.1:%d"):format(listener.port), trust_extension = true }))))
    assert.same({ n = { type = "integer" } }, registry:get_spec("b.pay").inputSchema.properties)
    assert.equal(7, assert(registry:execute("b.pay", { n = 7 }, { requestId = "r" })).data)
    local _, err = registry:execute("b.pay", { n = 8 }, { requestId = "r" })
    assert.matches("came with another input", tostring(err))
    assert.equal("required", operations.to_http(registry, { idempotency = true }):openapi().paths["/b/pay"].post[
      "x-operation"].idempotencyKey)
    assert.equal(0, state.ran)
    server:close()
  end)

  it("cannot be served where no answers are kept, nor as a query", function()
    local _, _, err = serve({ idempotency = false }, strict())
    assert.equal("b.pay: _meta.http.idempotencyKey: the server has no option `idempotency`", err.message)
    _, _, err = serve(nil, strict("query"))
    assert.equal("b.pay: _meta.http.idempotencyKey: only mutations have keys", err.message)
  end)
end)

describe("the option idempotency", function()
  it("is true or a store", function()
    local ok, raised = pcall(serve, { idempotency = {} })
    assert.is_false(ok)
    assert.matches("bad option 'idempotency' to 'to_http' %(true, a shared dictionary", raised)
  end)
end)
