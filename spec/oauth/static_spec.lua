local operations = require("operations")

local function basic(text)
  return { headers = { authorization = "Basic " .. operations.base64.encode(text) } }
end

describe("callers with tokens that the program knows", function()
  local ada = { id = "ada", scopes = { "read" } }

  it("are known by them", function()
    local authorize = operations.oauth.static_tokens({ secret = ada, other = { id = "bob" } })
    assert.equal(ada, authorize({ headers = {}, token = "secret" }))
    assert.equal("bob", authorize({ headers = {}, token = "other" }).id)
    for _, token in ipairs({ "Secret", "secre", "secret ", "secret\0", "x", "" }) do
      local identity, reason = authorize({ headers = {}, token = token })
      assert.is_nil(identity)
      assert.equal("unknown token", reason)
    end
  end)

  it("have no credentials without a header, and wrong ones with another scheme", function()
    local authorize = operations.oauth.static_tokens({ secret = ada })
    local identity, reason = authorize({ headers = {} })
    assert.is_nil(identity)
    assert.is_nil(reason)
    identity, reason = authorize({ headers = { authorization = "Basic c2VjcmV0" } })
    assert.is_nil(identity)
    assert.matches("Bearer", reason)
  end)

  it("need a token and an identity each", function()
    for _, given in ipairs({ { secret = "ada" }, { ada }, { [""] = ada } }) do
      assert.error_matches(function()
        operations.oauth.static_tokens(given)
      end, "bad argument #1 to 'static_tokens'")
    end
    assert.error_matches(function()
      operations.oauth.static_tokens("secret")
    end, "table expected")
  end)

  it("are let in by a server", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", type = "query", inputSchema = { type = "object" },
      accessControl = { requiredScopes = { "read" } }, handler = function() return 1 end }))
    local server = assert(operations.to_http(registry, { authorize = operations.oauth.static_tokens({ s = ada }) }))
    local function status(given)
      return server:handle({ method = "GET", target = "/a/b", headers = { host = "localhost",
        authorization = given } }).status
    end
    assert.same({ 200, 401, 401 }, { status("Bearer s"), status("Bearer t"), status() })
  end)
end)

describe("callers with passwords", function()
  local ada = { id = "ada", scopes = { "read" } }
  local users = { ada = { password = "a:b c", identity = ada }, ["Bj\195\182rn"] = { password = "\226\130\172",
    identity = { id = "bjorn" } } }

  it("are known by name and password, in UTF-8", function()
    local authorize = operations.oauth.basic(users)
    assert.equal(ada, authorize(basic("ada:a:b c")))
    assert.equal(ada, authorize({ headers = { authorization = "bAsIc   YWRhOmE6YiBj" } }))
    assert.equal("bjorn", authorize(basic("Bj\195\182rn:\226\130\172")).id)
    for _, pair in ipairs({ "ada:a", "ada:A:b c", "Ada:a:b c", "ada:", "ada", ":a:b c", "ada:a:b c\0",
      "eve:a:b c" }) do
      assert.same({ nil, "unknown user or wrong password" }, { authorize(basic(pair)) }, pair)
    end
  end)

  it("have no credentials without a header, and wrong ones with another scheme or bad base64", function()
    local authorize = operations.oauth.basic(users)
    assert.equal(0, #{ authorize({ headers = {} }) })
    for _, given in ipairs({ "Bearer YWRhOmE6YiBj", "Basic", "Basic ", "Basic YWRhOmE6YiB",
      "Basic YWRhOmE6YiBj x", "Basic ad-_", "Basic YWRhOmE6YiBj, Basic YWRhOmE6YiBj" }) do
      local identity, reason = authorize({ headers = { authorization = given } })
      assert.is_nil(identity)
      assert.matches("Basic, with user and password in base64, expected", reason)
    end
  end)

  it("need a name, a password and an identity each", function()
    for message, given in pairs({
      ["a name without colons"] = { ["a:b"] = { password = "x", identity = ada } },
      ["as key, got 1"] = { { password = "x", identity = ada } },
      ["as key, got $"] = { [""] = { password = "x", identity = ada } },
      ["ada: { password =, identity = } expected"] = { ada = "x" },
      ["without control characters%)"] = { ada = { password = "x\n", identity = ada } },
      ["the password"] = { ada = { password = "", identity = ada } },
      ["an identity expected for each, got nil"] = { ada = { password = "x" } },
    }) do
      local ok, raised = pcall(operations.oauth.basic, given)
      assert.is_false(ok)
      assert.matches("bad argument #1 to 'basic'", raised, 1, true)
      assert.matches(message:gsub("%$", "%%)"), raised)
    end
    for message, realm in pairs({ ["string expected, got number"] = 7, ["printable ASCII"] = "a\r\nX: y" }) do
      assert.error_matches(function()
        operations.oauth.basic(users, { realm = realm })
      end, message)
    end
    assert.error_matches(function()
      operations.oauth.basic(users, "a realm")
    end, "bad argument #2 to 'basic' (table expected, got string)", 1, true)
  end)

  local function server()
    local registry = operations.registry()
    for name, scope in pairs({ read = "read", write = "write" }) do
      assert(registry:register({ namespace = "a", name = name, type = "query", inputSchema = { type = "object" },
        accessControl = { requiredScopes = { scope } }, handler = function() return 1 end }))
    end
    return assert(operations.to_http(registry, { mcp = true, metrics = operations.middleware.metrics(),
      authorize = operations.oauth.basic(users, { realm = 'a "b"' }) }))
  end

  it("are admitted by a server, which asks the others for a password and never for a token", function()
    local api = server()
    local function send(target, pair, method)
      local headers = pair and basic(pair).headers or {}
      headers.host = "localhost"
      return api:handle({ method = method or "GET", target = target, headers = headers })
    end
    local challenge = 'Basic realm="a \\"b\\"", charset="UTF-8"'
    for _, target in ipairs({ "/a/read", "/openapi.json", "/metrics", "/mcp" }) do
      for _, pair in ipairs({ false, "ada:x" }) do
        local answer = send(target, pair, target == "/mcp" and "POST")
        assert.same({ 401, challenge }, { answer.status, answer.headers["www-authenticate"] }, target)
      end
    end
    assert.equal(200, send("/a/read", "ada:a:b c").status)
    local denied = send("/a/write", "ada:a:b c")
    assert.same({ 403 }, { denied.status, denied.headers["www-authenticate"] })
    assert.matches("missing scopes: write", denied.body, 1, true)
  end)

  it("are described in the document, by which others call the server", function()
    operations.run(function()
      local api = server()
      local document = api:openapi()
      assert.same({ basic = { type = "http", scheme = "basic" } }, document.components.securitySchemes)
      assert.same({ { basic = {} } }, document.paths["/a/read"].get.security)
      local listener = assert(api:listen({ port = 0 }))
      local back = assert(operations.from_openapi.document(document, { namespace = "b", trust_extension = true,
        base_url = "http://127.0.0.1:" .. listener.port, auth = { basic = "ada:a:b c" } }))
      local registry = operations.registry()
      assert(registry:register_all(back))
      local envelope, err = registry:execute("b.read", {}, { identity = ada })
      api:close()
      assert.is_nil(err)
      assert.equal(1, envelope.data)
    end)
  end)
end)
