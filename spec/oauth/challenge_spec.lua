local challenge = require("operations.oauth.challenge")

describe("a WWW-Authenticate header", function()
  local function one(scheme, params, token)
    return { scheme = scheme, params = params or {}, token = token }
  end

  for text, expected in pairs({
    ["Bearer"] = { one("bearer") },
    ["Basic realm=\"simple\""] = { one("basic", { realm = "simple" }) },
    ["BEARER Realm=\"a\", SCOPE=read"] = { one("bearer", { realm = "a", scope = "read" }) },
    ["Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\""] = {
      one("newauth", { realm = "apps", type = "1", title = "Login to \"apps\"" }), one("basic", { realm = "simple" }),
    },
    ["Negotiate, Bearer scope=\"a, b\""] = { one("negotiate"), one("bearer", { scope = "a, b" }) },
    ["Negotiate YWJj==, Basic realm=x"] = { one("negotiate", nil, "YWJj=="), one("basic", { realm = "x" }) },
    ["Digest abc, Bearer"] = { one("digest", nil, "abc"), one("bearer") },
    [" , ,Bearer , realm = \"x\" ,, a=b,"] = { one("bearer", { realm = "x", a = "b" }) },
    ["Bearer realm=\"\", scope=\"\""] = { one("bearer", { realm = "", scope = "" }) },
    ["Bearer scope=\"first\", scope=\"second\""] = { one("bearer", { scope = "first" }) },
    -- not as the RFC has it
    ["Bearer realm=\"a\" scope=\"b\" error=c"] = { one("bearer", { realm = "a", scope = "b", error = "c" }) },
    ["Bearer realm=\"a\", scope=\"no end"] = { one("bearer", { realm = "a" }) },
    ["Bearer realm=\"a\\"] = {},
    ["realm=\"another's\""] = {},
    ["\"quoted\", Bearer a=b"] = { one("bearer", { a = "b" }) },
    ["Bearer @, a=b"] = { one("bearer", { a = "b" }) },
    ["Bearer =x, a=b"] = {},
    ["Bearer resource_metadata=https://mcp.test/.well-known/x"] = {
      one("bearer", { resource_metadata = "https://mcp.test/.well-known/x" }) },
    ["Bearer resource_metadata=https://mcp.test/x?a=b, scope=c"] = {
      one("bearer", { resource_metadata = "https://mcp.test/x?a=b", scope = "c" }) },
    ["Bearer resource_metadata='https://mcp.test/x', scope='c'"] = {
      one("bearer", { resource_metadata = "https://mcp.test/x", scope = "'c'" }) },
    [""] = {},
    [","] = {},
  }) do
    it("is read: " .. text, function()
      assert.same(expected, challenge.parse(text))
    end)
  end

  it("is nothing when it is not there", function()
    assert.same({}, challenge.parse(nil))
  end)

  it("takes time that grows with its length only", function()
    local list = challenge.parse(("Bearer a=\"\\\"\", "):rep(20000))
    assert.equal(20000, #list)
    assert.same({}, challenge.parse(("\""):rep(60001)))
    assert.same({}, challenge.parse("Bearer a=\"" .. ("\\x"):rep(60000)))
  end)

  it("tells the parameters of Bearer from those of others", function()
    assert.same({ scope = "b" }, challenge.bearer({ ["www-authenticate"] = "Basic scope=\"a\", Bearer scope=\"b\"" }))
    assert.same({}, challenge.bearer({ ["www-authenticate"] = "Basic scope=\"a\"" }))
    assert.same({}, challenge.bearer({}))
  end)

  it("has every Bearer challenge count, and the missing scope first", function()
    assert.same({ error = "insufficient_scope", scope = "write", realm = "r" }, challenge.bearer({
      ["www-authenticate"] = "Bearer error=invalid_token, realm=r, Basic realm=x, "
        .. "Bearer error=insufficient_scope, scope=write" }))
    assert.same({ error = "invalid_token", scope = "a" }, challenge.bearer({ ["www-authenticate"] =
      "Bearer error=invalid_token, Bearer scope=a, Bearer scope=b" }))
  end)
end)

describe("scopes", function()
  it("are united, each once, in their order", function()
    assert.equal("a b c", challenge.union("a b", "c a  c"))
    assert.equal("a", challenge.union(nil, "a"))
    assert.is_nil(challenge.union(nil, ""))
  end)

  it("cover others when all of them are there", function()
    assert.is_true(challenge.covers("a b c", "c a"))
    assert.is_true(challenge.covers(nil, ""))
    assert.is_false(challenge.covers("ab", "a"))
    assert.is_false(challenge.covers(nil, "a"))
  end)
end)
