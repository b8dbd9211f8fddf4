local http_request = require("spec.support.http_request")
local operations = require("operations")

local APP = "https://app.example"

local function serve(options)
  local registry = operations.registry({ log = function() end })
  for _, definition in ipairs({
    { name = "get", type = "query", handler = function() return { a = 1 } end },
    { name = "fail", type = "query", handler = function() error("no") end },
    { name = "secret", type = "query", accessControl = { requiredScopes = { "x" } }, handler = function() end },
    { name = "watch", type = "subscription", handler = function(_, context) context.emit(1) end },
  }) do
    definition.namespace = "a"
    assert(registry:register(definition))
  end
  local given = { log = function() end, origins = { APP, "https://other.example" } }
  for name, value in pairs(options or {}) do
    given[name] = value
  end
  return assert(operations.to_http(registry, given))
end

local function send(server, method, target, headers)
  return operations.run(http_request.send, server, method, target, headers)
end

local function preflight(server, target, origin, method)
  return send(server, "OPTIONS", target, { origin = origin or APP, ["access-control-request-method"] = method or "POST",
    ["access-control-request-headers"] = "authorization,content-type" })
end

describe("pages of other origins", function()
  it("learn by preflight what they may send, the same everywhere and without credentials", function()
    local server = serve({ mcp = true, authorize = function() return nil end })
    local first
    for _, target in ipairs({ "/a/get", "/a/secret", "/openapi.json", "/mcp", "/nothing" }) do
      local answer = preflight(server, target)
      first = first or answer.headers
      assert.same({ 204, "" }, { answer.status, answer.text }, target)
      assert.equal(APP, answer.headers["access-control-allow-origin"])
      assert.equal("600", answer.headers["access-control-max-age"])
      for name in ("access-control-allow-methods access-control-allow-headers vary"):gmatch("%S+") do
        assert.equal(first[name], answer.headers[name], target)
      end
    end
    assert.equal("Access-Control-Request-Method, Access-Control-Request-Headers, Origin", first.vary)
    assert.matches("Authorization, Content%-Type, Idempotency%-Key", first["access-control-allow-headers"])
    assert.matches("QUERY", first["access-control-allow-methods"])
    assert.is_nil(first["access-control-allow-credentials"])
  end)

  it("may read answers, failures and streams", function()
    local server = serve({ mcp = true, authorize = function() return nil end, anonymous = true })
    for target, status in pairs({ ["/a/get"] = 200, ["/a/fail"] = 500, ["/a/secret"] = 401, ["/a/watch"] = 200,
      ["/openapi.json"] = 200, ["/nothing"] = 404, ["/healthz"] = 200, ["/mcp"] = 400 }) do
      local answer = send(server, "GET", target, { origin = APP })
      assert.equal(status, answer.status, target)
      assert.equal(APP, answer.headers["access-control-allow-origin"], target)
      assert.matches("Origin$", answer.headers.vary)
      assert.matches("X%-Request%-Id", answer.headers["access-control-expose-headers"])
    end
  end)

  it("read nothing when they are not listed", function()
    local server = serve()
    for _, origin in ipairs({ "https://evil.example", "null", APP .. ".evil", APP .. ":444" }) do
      local refused = send(server, "GET", "/a/get", { origin = origin })
      assert.equal(403, refused.status)
      assert.is_nil(refused.headers["access-control-allow-origin"])
      assert.equal("Origin", refused.headers.vary)
      assert.equal(403, preflight(server, "/a/get", origin).status)
    end
  end)

  it("are answered only if they send an Origin, and caches get Vary", function()
    local answer = send(serve(), "GET", "/a/get")
    assert.equal("Origin", answer.headers.vary)
    assert.is_nil(answer.headers["access-control-allow-origin"])
    assert.equal(204, send(serve(), "OPTIONS", "/a/get", { origin = APP }).status)
    assert.matches("GET", send(serve(), "OPTIONS", "/a/get", { origin = APP }).headers.allow)
  end)

  it("are nothing that a server without `origins` speaks of", function()
    local server = serve({ origins = {}, mcp = true })
    assert.is_nil(send(server, "GET", "/a/get").headers.vary)
    assert.equal(403, preflight(server, "/a/get").status)
    assert.equal(405, send(server, "OPTIONS", "/mcp").status)
  end)

  it("are all those of the web with \"*\", but for null", function()
    local server = serve({ origins = { "*" }, mcp = true })
    for _, target in ipairs({ "/a/get", "/mcp" }) do
      local answer = preflight(server, target, "https://any.example")
      assert.same({ 204, "*" }, { answer.status, answer.headers["access-control-allow-origin"] })
      assert.equal("Access-Control-Request-Method, Access-Control-Request-Headers", answer.headers.vary)
    end
    -- A cache gives pages the answer to a request without Origin.
    assert.equal("*", send(server, "GET", "/a/get").headers["access-control-allow-origin"])
    assert.equal(403, send(server, "GET", "/a/get", { origin = "null" }).status)
    assert.equal(403, send(server, "GET", "/a/get", { ["sec-fetch-site"] = "cross-site" }).status)
  end)

  it("send cookies, further headers, and read further ones where `cors` says so", function()
    local server = serve({ cors = { credentials = true, headers = { "X-Api-Key" }, expose = { "X-Total" },
      max_age = 5000 } })
    local headers = preflight(server, "/a/get").headers
    assert.same({ "true", "5" }, { headers["access-control-allow-credentials"], headers["access-control-max-age"] })
    assert.matches(", X%-Api%-Key$", headers["access-control-allow-headers"])
    local answer = send(server, "GET", "/a/get", { origin = APP })
    assert.matches(", X%-Total$", answer.headers["access-control-expose-headers"])
  end)

  it("are listed as browsers name them; a page without an origin is null", function()
    for _, origin in ipairs({ "null", "app.example", APP .. "/", APP .. "/a", "HTTPS://app.example", "https://", 7 }) do
      for name, make in pairs({ to_http = serve, to_mcp = function(options)
        operations.to_mcp(operations.registry(), options)
      end }) do
        local ok, raised = pcall(make, { origins = { APP, origin } })
        assert.is_false(ok)
        assert.matches(("bad option 'origins' to '%s' (an origin such as \"https://app.example\" expected, got %q)")
          :format(name, tostring(origin)), raised, 1, true)
      end
    end
    serve({ origins = { "http://localhost:3000", "http://[::1]:80", "chrome-extension://abc", "*" } })
  end)

  it("never get credentials with \"*\"", function()
    for _, case in ipairs({ { { credentials = true }, 'the origin "*"' },
      { { headers = { "X: y" } }, "at [1], got X: y" }, { { credential = true }, "unknown" } }) do
      local ok, raised = pcall(serve, { origins = { "*" }, cors = case[1] })
      assert.is_false(ok)
      assert.matches(case[2], raised, 1, true)
    end
  end)
end)

describe("to_mcp alone", function()
  it("answers preflights, and lets pages read", function()
    local server = operations.to_mcp(operations.registry(), { origins = { APP }, log = function() end })
    assert.equal(204, preflight(server, "/mcp").status)
    local answer = send(server, "GET", "/mcp", { origin = APP })
    assert.same({ 400, APP }, { answer.status, answer.headers["access-control-allow-origin"] })
    assert.matches("MCP%-Session%-Id", answer.headers["access-control-expose-headers"])
  end)
end)
