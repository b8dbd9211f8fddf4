local base64 = require("operations.base.base64")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local operations = require("operations")
local random = require("spec.support.random")
local tokens = require("spec.support.tokens")

local ISSUER, AUDIENCE = "https://login.example", "https://api.example"

describe("a server whose callers have tokens", function()
  local key, rsa, other

  setup(function()
    key, rsa, other = tokens.key("EdDSA", "one"), tokens.key("RS256", "two"), tokens.key("EdDSA", "one")
  end)

  teardown(function()
    for _, each in ipairs({ key, rsa, other }) do
      each:remove()
    end
  end)

  local function seconds()
    return math.floor(core.now() / 1000)
  end

  -- Claims under which all goes well, with others instead; `false`: without it.
  local function claims(changed)
    local made = { iss = ISSUER, aud = AUDIENCE, sub = "ada", exp = seconds() + 300, iat = seconds(),
      scope = "tasks:read tasks:write" }
    for name, value in pairs(changed or {}) do
      made[name] = value or nil
    end
    return made
  end

  local function server(changed)
    local options = { issuer = ISSUER, audience = AUDIENCE, jwks = { keys = { key.jwk, rsa.jwk } } }
    for name, value in pairs(changed or {}) do
      options[name] = value
    end
    return operations.oauth.resource_server(options)
  end

  local function judge(token, changed)
    return server(changed)({ headers = {}, token = token })
  end

  local function refused(pattern, token, changed)
    local identity, reason = judge(token, changed)
    assert.is_nil(identity)
    assert.is_string(reason)
    assert.matches(pattern, reason, 1, true)
  end

  local function header(changed)
    local made = { alg = "EdDSA", kid = "one", typ = "at+jwt" }
    for name, value in pairs(changed or {}) do
      made[name] = value or nil
    end
    return made
  end

  it("knows the caller by the token", function()
    local given = claims({ tenant = "acme" })
    for _, token in ipairs({ key:token(given), rsa:token(given), key:token(given, header({ kid = false })),
      key:token(given, header({ typ = "JWT" })), key:token(given, header({ typ = "application/AT+JWT" })),
      key:token(given, header({ typ = false })) }) do
      local identity, reason = judge(token)
      assert.is_nil(reason)
      assert.equal("ada", identity.id)
      assert.same({ "tasks:read", "tasks:write" }, { identity.scopes[1], identity.scopes[2] })
      assert.equal("acme", identity.claims.tenant)
    end
  end)

  it("has no credentials of a request without a token, and wrong ones where there is another scheme", function()
    local authorize = server()
    local nobody, none = authorize({ headers = {} })
    assert.is_nil(nobody)
    assert.is_nil(none)
    for _, field in ipairs({ "Basic YTpi", "Bearer", "Bearer a b", "bearer a, Bearer b", "Bearer " }) do
      local identity, reason = authorize({ headers = { authorization = field } })
      assert.is_nil(identity)
      assert.is_string(reason)
    end
    assert.equal("ada", authorize({ headers = { authorization = "bearer " .. key:token(claims()) } }).id)
  end)

  it("finds scopes where they are", function()
    local function scopes(given, changed)
      local list = assert(judge(key:token(claims(given)), changed)).scopes
      return table.concat(list, " ")
    end
    assert.equal("a b", scopes({ scope = "a  b" }))
    assert.equal("a b", scopes({ scope = false, scp = operations.array({ "a", "b" }) }))
    assert.equal("", scopes({ scope = false }))
    assert.equal("p", scopes({ permissions = operations.array({ "p", 1 }) }, { scopes_claim = "permissions" }))
    assert.equal("r", scopes({ realm = { roles = operations.array({ "r" }) } }, { scopes_claim = function(given)
      return given.realm.roles
    end }))
  end)

  -- Attacks, each with its own spec.

  it("refuses a token without a signature (alg none)", function()
    for _, alg in ipairs({ "none", "None", "NONE", "" }) do
      refused("algorithm", key:forged(claims(), header({ alg = alg }), "x"))
      refused("not a signed JWT", key:forged(claims(), header({ alg = alg }), ""))
    end
  end)

  it("refuses an HMAC whose secret is the public key", function()
    local hmac = require("operations.base.hmac")
    for _, secret in ipairs({ rsa.jwk.n, base64.decode_url(rsa.jwk.n), key.jwk.x }) do
      refused("algorithm", rsa:forged(claims(), header({ alg = "HS256", kid = "two" }), hmac.signer(secret)("x")))
    end
    assert.error_matches(function()
      server({ algorithms = { "HS256" } })
    end, "algorithms")
    assert.error_matches(function()
      server({ algorithms = { "none" } })
    end, "algorithms")
  end)

  it("refuses an algorithm of another family than the key's", function()
    local text = claims()
    refused("no key", key:token(text, header({ alg = "RS256" })))
    refused("no key", key:token(text, header({ alg = "ES256" })))
    refused("no key", rsa:token(text, { alg = "PS256", kid = "two" })) -- its `alg` says RS256
    refused("wrong", rsa:token(text, { alg = "PS256", kid = "two" }),
      { jwks = { keys = { { kty = "RSA", kid = "two", n = rsa.jwk.n, e = rsa.jwk.e } } } })
  end)

  it("refuses an algorithm that is not in the list", function()
    refused("algorithm", rsa:token(claims()), { algorithms = { "EdDSA" } })
    assert.is_table(judge(key:token(claims()), { algorithms = { "EdDSA" } }))
  end)

  describe("that are bound to a key", function()
    local FINGERPRINT = ("0fa1"):rep(16)
    local THUMBPRINT = base64.encode_url(("\15\161"):rep(16))

    local function judged(cnf, peer)
      local bound = claims()
      bound.cnf = cnf
      return server()({ headers = {}, token = key:token(bound), peer = peer })
    end

    it("takes those of the client's certificate, in its own connection", function()
      local identity = assert(judged({ ["x5t#S256"] = THUMBPRINT }, { tls = { fingerprint = FINGERPRINT } }))
      assert.equal("ada", identity.id)
      for _, peer in ipairs({ { tls = { fingerprint = ("0fa2"):rep(16) } }, { tls = {} }, { tls = true },
        { tls = false }, {}, false }) do
        local found, reason = judged({ ["x5t#S256"] = THUMBPRINT }, peer or nil)
        assert.is_nil(found)
        assert.equal("the token is bound to another certificate than the client's (cnf)", reason)
      end
      for _, wrong in ipairs({ THUMBPRINT .. "=", THUMBPRINT:lower(), "", 7, operations.null, { THUMBPRINT } }) do
        assert.is_nil((judged({ ["x5t#S256"] = wrong }, { tls = { fingerprint = FINGERPRINT } })))
      end
    end)

    it("refuses every other binding, which a bearer cannot prove", function()
      for _, cnf in ipairs({ { jkt = "a" }, { jwk = { kty = "OKP" } }, { kid = "one" }, operations.object(),
        operations.array(), operations.null, "x", 7, false, { ["x5t#S256"] = THUMBPRINT, jkt = "a" } }) do
        local found, reason = judged(cnf, { tls = { fingerprint = FINGERPRINT } })
        assert.is_nil(found)
        assert.equal("the token is bound to a key in a way that cannot be checked (cnf)", reason)
      end
    end)

    it("requires the same of an introspected token", function()
      local answer = {}
      local opaque = operations.oauth.resource_server({ issuer = ISSUER, audience = AUDIENCE, introspection = {
        endpoint = ISSUER .. "/introspect", client_id = "api", client_secret = "s" },
        http = { request = function()
          return { status = 200, headers = {}, body = json.encode(answer) }
        end } })
      local function of(cnf, token)
        answer = claims()
        answer.active, answer.cnf = true, cnf
        return opaque({ headers = {}, token = token, peer = { tls = { fingerprint = FINGERPRINT } } })
      end
      assert.equal("ada", assert(of({ ["x5t#S256"] = THUMBPRINT }, "a")).id)
      assert.equal("ada", assert(of(nil, "b")).id)
      assert.is_nil((of({ ["x5t#S256"] = "other" }, "c")))
      assert.is_nil((of({ jkt = "a" }, "d")))
    end)
  end)

  it("refuses another audience", function()
    refused("audience", key:token(claims({ aud = "https://other.example" })))
    refused("audience", key:token(claims({ aud = AUDIENCE .. "/" })))
    refused("audience", key:token(claims({ aud = false })))
    refused("audience", key:token(claims({ aud = operations.null })))
    refused("audience", key:token(claims({ aud = { [AUDIENCE] = true } })))
    refused("audience", key:token(claims({ aud = operations.array() })))
    assert.is_table(judge(key:token(claims({ aud = operations.array({ "x", AUDIENCE }) }))))
    assert.is_table(judge(key:token(claims({ aud = "api" })), { audience = { AUDIENCE, "api" } }))
  end)

  it("refuses another issuer", function()
    for _, issuer in ipairs({ "https://login.example/", "https://LOGIN.example", "https://evil.example", "",
      operations.null, operations.array({ ISSUER }) }) do
      refused("issuer", key:token(claims({ iss = issuer })))
    end
    refused("issuer", key:token(claims({ iss = false })))
  end)

  it("refuses tokens for something else (typ)", function()
    for _, typ in ipairs({ "id+jwt", "logout+jwt", "dpop+jwt", "", 1, operations.null }) do
      refused("type", key:token(claims(), header({ typ = typ })))
    end
    refused("type", key:token(claims(), header({ typ = "JWT" })), { typ = "at+jwt" })
    refused("type", key:token(claims(), header({ typ = false })), { typ = "at+jwt" })
    assert.is_table(judge(key:token(claims()), { typ = "AT+JWT" }))
  end)

  it("refuses a token that has expired", function()
    refused("expired", key:token(claims({ exp = seconds() - 61 })))
    refused("expired", key:token(claims({ exp = 0 })))
    refused("expired", key:token(claims({ exp = seconds() })), { leeway = 0 })
    assert.is_table(judge(key:token(claims({ exp = seconds() - 5 }))))
  end)

  it("refuses a token that is not valid yet", function()
    refused("not valid yet", key:token(claims({ nbf = seconds() + 70 })))
    assert.is_table(judge(key:token(claims({ nbf = seconds() + 5 }))))
    refused("future", key:token(claims({ iat = seconds() + 70 })))
  end)

  it("refuses a token without an end", function()
    refused("no end", key:token(claims({ exp = false })))
    for _, value in ipairs({ "4102444800", operations.null, true, -1, 1e300 }) do
      refused("not a time", key:token(claims({ exp = value })))
    end
    refused("not a time", key:token('{"iss":"' .. ISSUER .. '","aud":"' .. AUDIENCE .. '","exp":99999999999999999999}'))
    refused("not a time", key:token(claims({ nbf = "0" })))
    refused("not a time", key:token(claims({ iat = {} })))
  end)

  it("refuses critical header parameters", function()
    for _, value in ipairs({ operations.array({ "b64" }), operations.array(), operations.null, "exp" }) do
      refused("crit", key:token(claims(), header({ crit = value, b64 = false })))
    end
  end)

  it("refuses tokens that are too large or too deep", function()
    refused("longer than", key:token(claims({ padding = ("x"):rep(16384) })))
    refused("longer than", ("."):rep(1000000))
    refused("claims", key:token('{"a":' .. ("["):rep(20) .. ("]"):rep(20) .. "}"))
    refused("not a signed JWT", key:token(claims(), '{"alg":"EdDSA","a":' .. ("["):rep(20) .. ("]"):rep(20) .. "}"))
  end)

  it("refuses members that are there twice", function()
    refused("different names", key:token('{"iss":"x","iss":"' .. ISSUER .. '"}'))
    refused("different names", key:token('{"a":{"b":1,"\\u0062":2}}'))
    refused("not a signed JWT", key:token(claims(), '{"alg":"none","alg":"EdDSA"}'))
  end)

  it("looks a kid up, and does nothing else with it", function()
    for _, kid in ipairs({ "../../../../etc/passwd", "/dev/null", "https://evil.example/key", "file:///dev/null",
      "' OR 1=1 --", "one\0", "ONE", ("k"):rep(8000), "" }) do
      refused("no key", key:token(claims(), header({ kid = kid })))
    end
    for _, kid in ipairs({ 1, operations.array({ "one" }), operations.null, true }) do
      refused("kid", key:token(claims(), header({ kid = kid })))
    end
  end)

  it("takes no key from the token (jwk, jku, x5u, x5c)", function()
    for _, kid in ipairs({ "one", "mine" }) do
      refused(kid == "one" and "wrong" or "no key", other:token(claims(), header({ kid = kid, jwk = other.jwk,
        jku = "https://evil.example/jwks.json", x5u = "https://evil.example/cert.pem",
        x5c = operations.array({ "MIIB" }) })))
    end
  end)

  it("refuses tokens of another key, and changed ones", function()
    refused("wrong", other:token(claims()))
    local token = key:token(claims())
    local head, _, tail = token:match("^(.*)%.(.*)%.(.*)$")
    refused("wrong", head .. "." .. base64.encode_url(json.encode(claims({ sub = "root" }))) .. "." .. tail)
  end)

  it("refuses tokens of another form", function()
    local token = key:token(claims())
    local head, body, tail = token:match("^(.*)%.(.*)%.(.*)$")
    for _, text in ipairs({ "", ".", "..", "a.b.c", head .. "." .. body, token .. ".", "." .. token, token .. "=",
      token .. "." .. body .. "." .. tail, head .. "=." .. body .. "." .. tail, token .. "\n", " " .. token,
      json.encode({ payload = body, protected = head, signature = tail }) }) do
      local identity, reason = judge(text)
      assert.is_nil(identity)
      assert.is_string(reason)
    end
    refused("claims", key:token("[]"))
    refused("claims", key:token('"text"'))
    refused("claims", key:token("\255"))
    refused("not a signed JWT", key:token(claims(), "[]"))
    refused("no subject", key:token(claims({ sub = false })))
    refused("no subject", key:token(claims({ sub = 1 })))
    assert.equal("app", judge(key:token(claims({ sub = false, client_id = "app" }))).id)
  end)

  it("admits no caller with a changed token, and never fails", function()
    local authorize, token = server(), key:token(claims())
    random.seed(7)
    for at = 1, #token do
      for _, byte in ipairs({ "A", "_", ".", "=", "\0" }) do
        local changed = token:sub(1, at - 1) .. byte .. token:sub(at + 1)
        assert(changed == token or authorize({ headers = {}, token = changed }) == nil, changed)
      end
      assert(authorize({ headers = {}, token = token:sub(1, at - 1) }) == nil or at > #token)
    end
    for _ = 1, 2000 do
      local from, to = random.upto(#token), random.upto(#token)
      local changed = token:sub(1, from) .. token:sub(to)
      local identity = authorize({ headers = {}, token = changed })
      assert(identity == nil or changed == token)
    end
  end)

  it("passes over keys that cannot be used", function()
    local weak = tokens.key("RS256", "weak", 1024)
    local jwks = { keys = { weak.jwk, { kty = "oct", k = "AAAA", kid = "one" }, { kty = "EC", crv = "P-256" }, "x",
      { kty = "OKP", crv = "Ed25519", x = key.jwk.x, use = "enc", kid = "enc" }, key.jwk } }
    assert.is_table(judge(key:token(claims()), { jwks = jwks }))
    refused("no key", weak:token(claims()), { jwks = jwks })
    refused("no key", key:token(claims(), header({ kid = "enc" })), { jwks = jwks })
    weak:remove()
    for _, set in ipairs({ {}, { keys = {} }, { keys = { weak.jwk } }, { keys = "x" } }) do
      assert.error_matches(function()
        server({ jwks = set })
      end, "bad option 'jwks'")
    end
  end)

  it("raises what is wrong with its options", function()
    for pattern, changed in pairs({ issuer = { issuer = 1 }, audience = { audience = {} }, leeway = { leeway = -1 },
      ["jwks_uri:"] = { jwks = false, jwks_uri = "http://login.example/keys" },
      ["one of"] = { jwks_uri = "https://login.example/keys" }, ["nonsense"] = { nonsense = 1 } }) do
      local options = { issuer = ISSUER, audience = AUDIENCE, jwks = { keys = { key.jwk } } }
      for name, value in pairs(changed) do
        options[name] = value or nil
      end
      assert.error_matches(function()
        operations.oauth.resource_server(options)
      end, pattern)
    end
  end)

  it("gives to_http and to_mcp the issuers of its tokens", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "tasks", name = "read", type = "query", inputSchema = { type = "object" },
      accessControl = { requiredScopes = { "tasks:read", "admin" } }, handler = function() return 1 end }))
    local api = assert(operations.to_http(registry, { authorize = server({ scopes = { "tasks:read" } }) }))
    local function get(path, token)
      return api:handle({ method = "GET", target = path, headers = { host = "localhost",
        authorization = token and "Bearer " .. token } })
    end
    local document = get("/.well-known/oauth-protected-resource")
    assert.equal(200, document.status)
    assert.same({ resource = AUDIENCE, authorization_servers = { ISSUER }, scopes_supported = { "tasks:read" },
      bearer_methods_supported = { "header" } }, json.decode(document.body))
    local where = 'resource_metadata="https://api.example/.well-known/oauth-protected-resource"'
    assert.equal("Bearer " .. where, get("/tasks/read").headers["www-authenticate"])
    assert.matches('error="invalid_token", error_description=".*signed JWT", ' .. where:gsub("%p", "%%%0"),
      get("/tasks/read", "x").headers["www-authenticate"])
    local short = get("/tasks/read", key:token(claims()))
    assert.equal(403, short.status)
    assert.equal('Bearer error="insufficient_scope", scope="tasks:read admin", ' .. where,
      short.headers["www-authenticate"])
    assert.equal(200, get("/tasks/read", key:token(claims({ scope = "admin tasks:read" }))).status)
    assert.same({ ISSUER }, operations.to_mcp(registry, { authorize = server() }).options.oauth.authorization_servers)
  end)

  it("answers 503 where tokens cannot be checked", function()
    local messages = {}
    local api = assert(operations.to_http(operations.registry(), { log = function(_, message)
      table.insert(messages, message)
    end, authorize = function()
      return nil, errors.new("UNAVAILABLE", "no keys")
    end }))
    assert.equal(503, api:handle({ method = "GET", target = "/x", headers = { host = "localhost" } }).status)
    assert.matches("no keys", messages[1])
  end)
end)
