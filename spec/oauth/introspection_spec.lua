local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local operations = require("operations")

describe("tokens that the authorization server reads", function()
  local opened, asked, claims, status, was

  setup(function()
    opened = assert(listener.listen({ port = 0 }, function(request)
      asked[#asked + 1] = { body = request.body, authorization = request.headers.authorization,
        type = request.headers["content-type"] }
      return { status = status, headers = {}, body = assert(json.encode(claims)) }
    end))
  end)

  teardown(function()
    opened:close()
  end)

  before_each(function()
    asked, status, was = {}, 200, limits.introspection_age
    claims = { active = true, sub = "ada", scope = "read", aud = "api", iss = "https://login.example",
      exp = math.floor(core.now() / 1000) + 300 }
  end)

  after_each(function()
    limits.introspection_age, limits.introspections = was, 10000
  end)

  local function server(changed)
    local options = { issuer = "https://login.example", audience = "api", introspection = { client_id = "api",
      client_secret = "s:cret", endpoint = ("http://127.0.0.1:%d/introspect"):format(opened.port) } }
    for name, value in pairs(changed or {}) do
      options[name] = value or nil
    end
    return operations.oauth.resource_server(options)
  end

  local function judge(authorize, token)
    return operations.run(function()
      return authorize({ headers = {}, token = token or "opaque" })
    end)
  end

  it("are asked about once a minute, by a client that authenticates", function()
    local authorize = server()
    for _ = 1, 3 do
      local identity = assert(judge(authorize))
      assert.same({ "ada", "read" }, { identity.id, identity.scopes[1] })
    end
    assert.equal(1, #asked)
    assert.equal("Basic " .. operations.base64.encode("api:s%3Acret"), asked[1].authorization)
    assert.equal("application/x-www-form-urlencoded", asked[1].type)
    judge(authorize, "another")
    assert.equal(2, #asked)
  end)

  it("are asked about once by many at the same time", function()
    local authorize = server()
    operations.run(function()
      local calls = {}
      for i = 1, 20 do
        calls[i] = function()
          return assert(authorize({ headers = {}, token = "opaque" })).id
        end
      end
      assert(operations.all(calls))
    end)
    assert.equal(1, #asked)
  end)

  it("are refused when they are not active, of another audience or issuer, or over", function()
    local seconds = math.floor(core.now() / 1000)
    for pattern, changed in pairs({ ["not valid"] = { active = false }, audience = { aud = "other" },
      issuer = { iss = "https://evil.example" }, expired = { exp = seconds - 100 }, yet = { nbf = seconds + 100 },
      time = { exp = "soon" }, subject = { sub = 1 } }) do
      local good = claims
      claims = operations.object()
      for name, value in pairs(good) do
        claims[name] = value
      end
      for name, value in pairs(changed) do
        claims[name] = value
      end
      local identity, reason = judge(server())
      assert.is_nil(identity)
      assert.matches(pattern, reason)
      claims = good
    end
    claims.active = "true"
    assert.is_nil((judge(server())))
    claims = { active = true, sub = "ada" }
    assert.is_nil((judge(server())))
    assert.equal("ada", judge(server({ audience = false })).id)
  end)

  it("are not valid for longer than they say, whatever is kept", function()
    claims.exp = math.floor(core.now() / 1000) - 30 -- within the leeway
    local authorize = server()
    assert.equal("ada", judge(authorize).id)
    assert.equal("ada", judge(authorize).id)
    assert.equal(2, #asked)
  end)

  it("are copied for each caller: a change by one is not seen by the next", function()
    claims.realm = { roles = { "read" } }
    local authorize = server({ scopes_claim = function(told) return told.realm.roles end })
    local identity = assert(judge(authorize))
    identity.claims.sub, identity.claims.realm.roles[1] = "root", "admin"
    identity = assert(judge(authorize))
    assert.same({ "ada", "read", 1 }, { identity.id, identity.scopes[1], #asked })
  end)

  it("are asked about again when the clock was set back", function()
    local authorize, now = server(), core.now
    claims.nbf, claims.exp = nil, nil
    assert(judge(authorize))
    finally(function()
      core.now = now
    end)
    core.now = function()
      return now() - 86400000
    end
    claims.active = false
    assert.is_nil((judge(authorize)))
    assert.equal(2, #asked)
  end)

  it("are asked about again when they were forgotten", function()
    limits.introspections = 4
    local authorize = server()
    for i = 1, 100 do
      assert(judge(authorize, "token " .. i))
    end
    assert(judge(authorize, "token 100"))
    assert.equal(100, #asked)
    assert(judge(authorize, "token 1"))
    assert.equal(101, #asked)
    limits.introspection_age = 0
    assert(judge(authorize, "new"))
    assert(judge(authorize, "new"))
    assert.equal(103, #asked)
  end)

  it("cannot be told when the server fails", function()
    status = 500
    local identity, err = judge(server())
    assert.is_nil(identity)
    assert.equal("UNAVAILABLE", err.code)
    assert.is_nil(tostring(err):find("opaque", 1, true))
    status = 401
    assert.equal("UNAVAILABLE", select(2, judge(server())).code)
  end)

  it("are not sent on when they are too long", function()
    assert.matches("longer", select(2, judge(server(), ("x"):rep(20000))))
    assert.equal(0, #asked)
  end)

  it("need an endpoint and a client", function()
    for pattern, given in pairs({ ["endpoint"] = { client_id = "api" },
      ["client_id"] = { endpoint = "https://login.example/introspect" },
      ["https"] = { endpoint = "http://login.example/introspect", client_id = "api" } }) do
      assert.error_matches(function()
        server({ introspection = given })
      end, pattern)
    end
  end)
end)
