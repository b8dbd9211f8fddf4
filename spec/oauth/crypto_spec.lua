local base64 = require("operations.base.base64")
local operations = require("operations")
local runtime = require("operations.base.runtime")
local tokens = require("spec.support.tokens")

local crypto = operations.crypto
local has_crypto = runtime.optional("operations.crypto")
local with_keys = has_crypto and it or pending

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

describe("operations.crypto", function()
  it("digests bytes, and what is read in pieces of any size", function()
    -- FIPS 180-4: the examples of NIST
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", crypto.hex(crypto.sha256("abc")))
    local text = ("0123456789abcdef"):rep(40)
    for _, size in ipairs({ 1, 3, 55, 56, 63, 64, 65, 128, 1000 }) do
      local at = 1
      local digest = assert(crypto.sha256(function()
        local piece = at <= #text and text:sub(at, at + size - 1) or nil
        at = at + size
        return piece
      end))
      assert.equal(crypto.hex(crypto.sha256(text)), crypto.hex(digest))
    end
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(("x"):rep(200000))
    file:close()
    file = assert(io.open(path, "rb"))
    assert.equal(crypto.hex(crypto.sha256(("x"):rep(200000))), crypto.hex(crypto.sha256(file)))
    file:close()
    os.remove(path)
  end)

  it("has no digest of a source that breaks off", function()
    local pieces = { "a", "b" }
    local digest, err = crypto.sha256(function()
      return table.remove(pieces, 1), pieces[1] == nil and "cut" or nil
    end)
    assert.same({ nil, "cut" }, { digest, err })
    assert.error_matches(function()
      crypto.sha256(12)
    end, "string expected, got number")
  end)

  it("signs texts as RFC 4231 does, and compares without telling where they differ", function()
    local signature = crypto.hmac("Jefe", "what do ya want for nothing?")
    assert.equal("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", crypto.hex(signature))
    assert.is_true(crypto.equal(signature, crypto.hmac("Jefe", "what do ya want for nothing?")))
    assert.is_false(crypto.equal(signature, crypto.hmac("jefe", "what do ya want for nothing?")))
    assert.is_false(crypto.equal("a", "ab"))
  end)

  it("has base64url and random bytes", function()
    assert.equal("-_8", crypto.base64url("\251\255"))
    assert.equal(32, #crypto.random_bytes(32))
    assert.not_equal(crypto.random_bytes(32), crypto.random_bytes(32))
  end)
end)

describe("operations.crypto.jwt", function()
  local function refusal(...)
    local claims, err = crypto.jwt.verify(...)
    assert.is_nil(claims)
    return err.message
  end

  it("reads the token of RFC 7515, A.1, which has expired since", function()
    local secret = base64.decode_url(
      "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
    local token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      .. "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
      .. "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert.equal("the token has expired", refusal(token, secret))
    assert.equal("the token's signature is wrong", refusal(token, secret .. "x"))
  end)

  it("verifies what it signs with a secret", function()
    local token = assert(crypto.jwt.sign({ iss = "us", aud = "them", exp = os.time() + 60, n = 1 }, "secret"))
    local claims = assert(crypto.jwt.verify(token, "secret", { issuer = "us", audience = "them" }))
    assert.equal(1, claims.n)
    assert.matches("another audience", refusal(token, "secret", { audience = "others" }))
    assert.matches("another issuer", refusal(token, "secret", { issuer = "others" }))
    assert.matches("not accepted", refusal(token, "secret", { algorithms = { "RS256" } }))
    token = assert(crypto.jwt.sign({}, "secret"))
    assert.matches("names no issuer", refusal(token, "secret", { issuer = "us" }))
    assert.matches("not a signed JWT", refusal("a.b", "secret"))
  end)

  it("refuses lists, and algorithms that do not fit the key", function()
    assert.matches("not a list", select(2, crypto.jwt.sign({ 1 }, "secret")).message)
    assert.matches("does not sign by RS256", select(2, crypto.jwt.sign({}, "secret", { algorithm = "RS256" })).message)
  end)

  for _, kind in ipairs({ "RSA -pkeyopt rsa_keygen_bits:2048", "EC -pkeyopt ec_paramgen_curve:P-256",
    "EC -pkeyopt ec_paramgen_curve:P-521", "ED25519" }) do
    with_keys("signs with a private key and verifies with its public one: " .. kind, function()
      local path = os.tmpname()
      os.execute(("openssl genpkey -algorithm %s -out %s 2>/dev/null"):format(kind, path))
      os.execute(("openssl pkey -in %s -pubout -out %s.pub"):format(path, path))
      local private, public = read(path), read(path .. ".pub")
      os.remove(path)
      os.remove(path .. ".pub")
      local token = assert(crypto.jwt.sign({ sub = "me" }, private, { kid = "one" }))
      assert.equal("me", assert(crypto.jwt.verify(token, public)).sub)
      assert.equal("me", assert(crypto.jwt.verify(token, private)).sub)
      local other = token:gsub("%.([^.]+)%.", "." .. base64.encode_url('{"sub":"you"}') .. ".")
      assert.matches("signature is wrong", refusal(other, public))
      -- A public key is no secret: a token signed by it as if it were one is refused.
      local forged = assert(crypto.jwt.sign({ sub = "you" }, "secret"))
      assert.matches("not accepted", refusal(forged, public))
      assert.matches("does not sign", select(2, crypto.jwt.sign({}, private, { algorithm = "HS256" })).message)
    end)
  end

  with_keys("verifies tokens of others by a JWK or a set of them", function()
    local key = tokens.key("RS256")
    local token = key:token({ sub = "me" })
    assert.equal("me", assert(crypto.jwt.verify(token, key.jwk)).sub)
    assert.equal("me", assert(crypto.jwt.verify(token, { keys = { key.jwk } })).sub)
    key:remove()
    assert.matches("another type of key", refusal(token, { kty = "oct", k = "AA" }))
  end)

  with_keys("names keys that it cannot use", function()
    local _, err = crypto.jwt.sign({}, "-----BEGIN PRIVATE KEY-----\nAAAA")
    assert.matches("not a private key in PEM", err.message)
    local path = os.tmpname()
    os.execute("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1 -out " .. path .. " 2>/dev/null")
    assert.matches("not a key for", select(2, crypto.jwt.sign({}, read(path))).message)
    os.remove(path)
  end)
end)
