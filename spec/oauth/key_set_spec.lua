local core = require("operations.core")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local operations = require("operations")
local scheduler = require("operations.task.scheduler")
local tokens = require("spec.support.tokens")

describe("the keys of an authorization server", function()
  local key, other, opened, fetches, answer, was

  -- What the authorization server answers at any path.
  setup(function()
    key, other = tokens.key("EdDSA", "one"), tokens.key("EdDSA", "two")
    opened = assert(listener.listen({ port = 0 }, function(request)
      fetches = fetches + 1
      return answer(request)
    end))
  end)

  teardown(function()
    opened:close()
    key:remove()
    other:remove()
  end)

  local function serve(value)
    answer = function()
      return { status = 200, headers = { ["content-type"] = "application/json" }, body = assert(json.encode(value)) }
    end
  end

  before_each(function()
    fetches, was = 0, { jwks_pause = limits.jwks_pause, jwks_age = limits.jwks_age, jwks_stale = limits.jwks_stale,
      jwks_retry = limits.jwks_retry }
    serve({ keys = { key.jwk } })
  end)

  after_each(function()
    for name, value in pairs(was) do
      limits[name] = value
    end
  end)

  local function url(path)
    return ("http://127.0.0.1:%d%s"):format(opened.port, path or "/jwks.json")
  end

  local function server(changed)
    local options = { issuer = "https://login.example", audience = "api", jwks_uri = url() }
    for name, value in pairs(changed or {}) do
      options[name] = value or nil
    end
    return operations.oauth.resource_server(options)
  end

  local function token(signer, kid, issuer)
    return signer:token({ iss = issuer or "https://login.example", aud = "api", sub = "ada",
      exp = math.floor(core.now() / 1000) + 300 }, { alg = "EdDSA", kid = kid or signer.jwk.kid })
  end

  local function judge(authorize, text)
    return operations.run(function()
      return authorize({ headers = {}, token = text })
    end)
  end

  it("are fetched once", function()
    local authorize, text = server(), token(key)
    operations.run(function()
      local calls = {}
      for i = 1, 50 do
        calls[i] = function()
          return assert(authorize({ headers = {}, token = text })).id
        end
      end
      assert.equal(50, #assert(operations.all(calls)))
    end)
    assert.equal("ada", judge(authorize, text).id)
    assert.equal(1, fetches)
  end)

  it("are not fetched again for each of 1,000 unknown kids", function()
    local authorize, base = server(), token(key)
    local _, tail = base:match("^([^.]*)(.*)$")
    operations.run(function()
      for i = 1, 1000 do
        local head = operations.base64.encode_url(('{"alg":"EdDSA","kid":"k%d"}'):format(i))
        local identity, reason = authorize({ headers = {}, token = head .. tail })
        assert(identity == nil and reason:find("no key is known", 1, true))
      end
      assert.equal("ada", authorize({ headers = {}, token = base }).id)
    end)
    assert(fetches <= 2, fetches .. " fetches")
  end)

  it("are fetched again for a new kid, after a minute", function()
    local authorize = server()
    assert.equal("ada", judge(authorize, token(key)).id)
    serve({ keys = { other.jwk } })
    assert.is_nil((judge(authorize, token(other))))
    assert.equal(1, fetches)
    limits.jwks_pause = 0 -- a minute later
    assert.equal("ada", judge(authorize, token(other)).id)
    assert.is_nil((judge(authorize, token(key)))) -- it was taken out
  end)

  it("that are old are fetched again behind the calls that use them", function()
    local now = core.now
    finally(function()
      core.now = now
    end)
    for passed, behind in pairs({ [limits.jwks_age - 60000] = 0, [limits.jwks_age + 60000] = 1,
      [-limits.jwks_age] = 1 }) do
      local authorize = server()
      core.now = now
      assert.equal("ada", judge(authorize, token(key)).id)
      fetches = 0
      core.now = function()
        return now() + passed
      end
      operations.run(function()
        assert.equal("ada", authorize({ headers = {}, token = token(key) }).id)
        operations.sleep(0.02) -- time for a fetch that should not be
        eventually(function()
          return fetches == behind
        end)
      end)
    end
  end)

  it("are used on while the server is down, and for a day at most", function()
    local authorize = server()
    assert.equal("ada", judge(authorize, token(key)).id)
    limits.jwks_age, limits.jwks_pause, limits.jwks_retry = -1, 0, 0
    for _, failure in ipairs({ { status = 500, headers = {}, body = "" }, { status = 404, headers = {}, body = "" },
      { status = 302, headers = { location = "http://127.0.0.1:1/" }, body = "" },
      { status = 200, headers = {}, body = "<html>" }, { status = 200, headers = {}, body = "{}" },
      { status = 200, headers = {}, body = '{"keys":{"a":1}}' },
      { status = 200, headers = {}, body = '{"keys":[' .. ("{},"):rep(100) .. "{}]}" },
      { status = 200, headers = {}, body = ('"%s"'):format(("x"):rep(2 * 1024 * 1024)) } }) do
      answer = function()
        return failure
      end
      assert.equal("ada", judge(authorize, token(key)).id)
      assert.is_nil((judge(authorize, token(other))))
    end
    limits.jwks_stale = -1
    local identity, err = judge(authorize, token(key))
    assert.is_nil(identity)
    assert.equal("UNAVAILABLE", err.code)
    serve({ keys = { key.jwk } })
    limits.jwks_stale = 1000
    assert.equal("ada", judge(authorize, token(key)).id)
  end)

  it("admit no caller before they were fetched once, and are not fetched for every request", function()
    local asked = 0
    answer = function(request)
      asked = asked + (request.target == "/down" and 1 or 0)
      return { status = 503, headers = {}, body = "" }
    end
    limits.jwks_retry = math.huge
    local authorize = server({ jwks_uri = url("/down") })
    for _ = 1, 20 do
      local identity, err = judge(authorize, token(key))
      assert.is_nil(identity)
      assert.equal("UNAVAILABLE", err.code)
    end
    assert.equal(1, asked)
  end)

  it("do not keep callers waiting for long when they come slowly", function()
    answer = function()
      operations.sleep(30)
      return { status = 200, headers = {}, body = "{}" }
    end
    local identity, err = judge(server({ timeout = 200 }), token(key))
    assert.is_nil(identity)
    assert.equal("UNAVAILABLE", err.code)
  end)

  it("are where the issuer's metadata says", function()
    local issuer = url("/realm")
    answer = function(request)
      local found = request.target:find("^/.well%-known/oauth%-authorization%-server/realm")
        and { issuer = issuer, jwks_uri = url("/keys") } or request.target == "/keys" and { keys = { key.jwk } }
      return { status = found and 200 or 404, headers = {}, body = found and json.encode(found) or "" }
    end
    local authorize = server({ issuer = issuer, jwks_uri = false })
    assert.equal("ada", judge(authorize, token(key, nil, issuer)).id)
    serve({ issuer = "https://evil.example", jwks_uri = url("/keys") })
    local _, err = judge(server({ issuer = issuer, jwks_uri = false }), token(key, nil, issuer))
    assert.matches("of another issuer", err.message)
    serve({ issuer = issuer, jwks_uri = "http://evil.example/keys" })
    _, err = judge(server({ issuer = issuer, jwks_uri = false }), token(key, nil, issuer))
    assert.matches("jwks_uri", err.message)
  end)

  it("are looked for again where the issuer's metadata says, when they have moved", function()
    local issuer, place = url("/realm"), "/old"
    answer = function(request)
      local found = request.target:find("^/.well%-known/oauth%-authorization%-server/realm")
        and { issuer = issuer, jwks_uri = url(place) }
        or request.target == place and { keys = { place == "/old" and key.jwk or other.jwk } }
      return { status = found and 200 or 404, headers = {}, body = found and json.encode(found) or "" }
    end
    local authorize = server({ issuer = issuer, jwks_uri = false })
    assert.equal("ada", judge(authorize, token(key, nil, issuer)).id)
    place, limits.jwks_pause = "/new", 0
    assert.is_nil((judge(authorize, token(other, nil, issuer)))) -- they are no longer at the old place
    assert.equal("ada", judge(authorize, token(other, nil, issuer)).id)
  end)

  it("are fetched again when the clock was set back", function()
    local authorize, now = server(), core.now
    assert.equal("ada", judge(authorize, token(key)).id)
    serve({ keys = { other.jwk } })
    finally(function()
      core.now = now
    end)
    core.now = function()
      return now() - 86400000
    end
    assert.equal("ada", judge(authorize, token(other)).id)
    assert.equal(2, fetches)
    for _ = 1, 5 do
      assert.is_nil((judge(authorize, token(key))))
    end
    assert.equal(2, fetches)
  end)

  it("that were not waited for long enough make no token a wrong one", function()
    local authorize, text = server(), token(other)
    assert.equal("ada", judge(authorize, token(key)).id)
    limits.jwks_pause = 0
    answer = function()
      operations.sleep(20000)
      return { status = 500, headers = {}, body = "" }
    end
    local identity, err = operations.run(function()
      scheduler.deadline(core.now() + 100)
      return authorize({ headers = {}, token = text })
    end)
    assert.is_nil(identity)
    assert.equal("UNAVAILABLE", err.code)
  end)
end)
