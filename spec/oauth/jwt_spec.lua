local base64 = require("operations.base.base64")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local jwt = require("operations.oauth.jwt")
local limits = require("operations.base.limits")

local NOW = 1000000

local function part(value)
  return base64.encode_url(type(value) == "string" and value or assert(json.encode(value)))
end

-- A key that accepts the signature "good" of any text.
local good = { key = { verify = function(_, algorithm, text, signature)
  return algorithm == "ES256" and text:find(".", 1, true) ~= nil and signature == "good"
end } }
local bad = { key = { verify = function()
  return false
end } }

local function rules(more)
  local all = { algorithms = { ES256 = true }, leeway = 10, complete = true }
  for name, value in pairs(more or {}) do
    if value == "none" then
      all[name] = nil
    else
      all[name] = value
    end
  end
  return all
end

local function claims(more)
  local all = { iss = "i", exp = NOW + 100 }
  for name, value in pairs(more or {}) do
    if value == "none" then
      all[name] = nil
    else
      all[name] = value
    end
  end
  return all
end

local function verify(header, body, more, keys, signature)
  local asked
  local token = part(header) .. "." .. part(body) .. "." .. base64.encode_url(signature or "good")
  local found, flaw = jwt.verify(token, rules(more), function(algorithm, kid)
    asked = { algorithm, kid }
    return keys or { bad, good }
  end, NOW)
  return found, flaw, asked
end

describe("a signed token", function()
  it("gives its claims", function()
    local found, flaw, asked = verify({ alg = "ES256", kid = "k" }, claims({ sub = "ada" }))
    assert.equal("ada", found.sub)
    assert.is_nil(flaw)
    assert.same({ "ES256", "k" }, asked)
  end)

  it("has three parts in base64url, the first a JSON object", function()
    local function flaw_of(token)
      return select(2, jwt.verify(token, rules(), function()
        return { good }
      end, NOW))
    end
    local header, body = part({ alg = "ES256" }), part(claims())
    for _, token in ipairs({ "", "a.b", header .. "." .. body, header .. "." .. body .. ".", header .. ".." .. "eA",
      header .. "." .. body .. ".eA.eA", "." .. body .. ".eA", header .. "." .. body .. ".e", "eA." .. body .. ".eA",
      part("[]") .. "." .. body .. ".eA", part("7") .. "." .. body .. ".eA",
      part('{"alg":"ES256","alg":"ES256"}') .. "." .. body .. ".eA", header .. "." .. body .. ".e A" }) do
      assert.equal("the token is not a signed JWT", flaw_of(token))
    end
  end)

  it("is as long as the limit, and no longer", function()
    local function padded(bytes)
      local head = part({ alg = "ES256" })
      return head .. "." .. ("A"):rep(bytes - #head - 8) .. "." .. base64.encode_url("good")
    end
    assert.equal(limits.jwt, #padded(limits.jwt))
    assert.equal("the token's claims are not a JSON object with members of different names",
      select(2, jwt.verify(padded(limits.jwt), rules(), function()
        return { good }
      end, NOW)))
    assert.equal(("the token is longer than %d bytes"):format(limits.jwt),
      select(2, jwt.verify(padded(limits.jwt + 1), rules(), function() end, NOW)))
  end)

  it("has a header that is accepted", function()
    local algorithm = "the token is signed by an algorithm that is not accepted"
    for flaw, list in pairs({
      ["the token has critical header parameters (crit), and none is supported"] = {
        { alg = "ES256", crit = { "b64" } }, { alg = "ES256", crit = false } },
      [algorithm] = { {}, { alg = 7 }, { alg = "none" }, { alg = "HS256" } },
      ["the token's kid is not a string"] = { { alg = "ES256", kid = 7 } },
      ["the token is of another type (typ) than an access token"] = { { alg = "ES256", typ = "id+jwt" },
        { alg = "ES256", typ = 7 }, { alg = "ES256", typ = "application/dpop+jwt" } },
    }) do
      for _, header in ipairs(list) do
        assert.equal(flaw, select(2, verify(header, claims())))
      end
    end
    for _, typ in ipairs({ "at+jwt", "AT+JWT", "application/at+jwt", "jwt", "JWT" }) do
      assert.is_not_nil((verify({ alg = "ES256", typ = typ }, claims())))
    end
  end)

  it("has the one type that is asked for", function()
    assert.is_not_nil((verify({ alg = "ES256", typ = "x+jwt" }, claims(), { typ = "x+jwt" })))
    for _, typ in ipairs({ "jwt", "none" }) do
      assert.equal("the token is of another type (typ) than an access token",
        select(2, verify({ alg = "ES256", typ = typ ~= "none" and typ or nil }, claims(), { typ = "x+jwt" })))
    end
  end)

  it("is signed by one of the keys", function()
    assert.equal("the token's signature is wrong", select(2, verify({ alg = "ES256" }, claims(), {}, { bad })))
    assert.equal("the token's signature is wrong", select(2, verify({ alg = "ES256" }, claims(), {}, nil, "x")))
    assert.equal("no key is known that signs such tokens", select(2, verify({ alg = "ES256" }, claims(), {}, {})))
    local err = errors.new("UNAVAILABLE", "no keys")
    local token = part({ alg = "ES256" }) .. "." .. part(claims()) .. "." .. base64.encode_url("good")
    assert.same({ nil, err }, { jwt.verify(token, rules(), function()
      return nil, err
    end, NOW) })
  end)

  it("has claims that are an object with members of different names", function()
    for _, body in ipairs({ "[]", "7", '{"a":1,"a":2}', "x", ('{"a":'):rep(16) .. "1" .. ("}"):rep(17) }) do
      assert.equal("the token's claims are not a JSON object with members of different names",
        select(2, verify({ alg = "ES256" }, body)))
    end
  end)
end)

describe("the claims of a token", function()
  local function flaw(more, other_rules, now)
    return jwt.flaw(claims(more), rules(other_rules), now or NOW)
  end

  it("are of the issuer", function()
    assert.is_nil(flaw({}, { issuer = "i" }))
    assert.is_nil(flaw({ iss = "none" }))
    assert.equal("the token is of another issuer (iss)", flaw({}, { issuer = "j" }))
    assert.equal("the token is of another issuer (iss)", flaw({ iss = "none" }, { issuer = "i" }))
    assert.is_nil(flaw({ iss = "none" }, { issuer = "i", complete = false }))
    assert.equal("the token is of another issuer (iss)", flaw({}, { issuer = "j", complete = false }))
  end)

  it("are for one of our audiences", function()
    local audiences = { a = true, b = true }
    for _, aud in ipairs({ "a", { "x", "b" }, { 7, "a" } }) do
      assert.is_nil(flaw({ aud = aud }, { audiences = audiences }))
    end
    for _, aud in ipairs({ "x", "none", { "x" }, {}, 7, { a = true } }) do
      assert.equal("the token is for another audience (aud)", flaw({ aud = aud }, { audiences = audiences }))
    end
    assert.is_nil(flaw({ aud = "x" }))
  end)

  it("have an end, unless the server of the token answers for it", function()
    assert.equal("the token has no end (exp)", flaw({ exp = "none" }))
    assert.is_nil(flaw({ exp = "none" }, { complete = false }))
  end)

  it("hold from and until their times, give or take the leeway", function()
    assert.is_nil(flaw({ exp = NOW - 9 }))
    assert.equal("the token has expired", flaw({ exp = NOW - 10 }))
    assert.is_nil(flaw({ nbf = NOW + 10 }))
    assert.equal("the token is not valid yet (nbf)", flaw({ nbf = NOW + 11 }))
    assert.is_nil(flaw({ iat = NOW + 10 }))
    assert.equal("the token was issued in the future (iat)", flaw({ iat = NOW + 11 }))
  end)

  it("have times that are numbers from 0 on", function()
    for _, name in ipairs({ "exp", "nbf", "iat" }) do
      for _, value in ipairs({ "1", -1, 1e15, true }) do
        assert.equal(("the token's %s is not a time"):format(name), flaw({ [name] = value }))
      end
    end
    assert.is_nil(flaw({ nbf = 0, iat = 0, exp = 999999999999999 }))
  end)
end)

describe("the scopes of a token", function()
  it("are a text with blanks, or a list", function()
    assert.same({ "a", "b" }, jwt.scopes(" a  b "))
    assert.same({ "a", "b" }, jwt.scopes({ "a", 7, "b" }))
    for _, none in ipairs({ "", 7, true, {} }) do
      assert.same({}, jwt.scopes(none))
    end
    assert.equal("[]", json.encode(jwt.scopes(nil)))
  end)
end)
