local operations = require("operations")

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
