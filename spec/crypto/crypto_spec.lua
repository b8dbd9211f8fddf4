local base64 = require("operations.base.base64")
local compat = require("operations.base.compat")
local crypto = require("operations.crypto")
local json = require("operations.base.json")
local sources = require("spec.support.sources")

local ALGORITHMS = { "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
  "Ed25519", "Ed448" }
local vectors = assert(json.decode(sources.read("spec/vectors/jose/signed.json")))

local function bytes(text)
  return text and assert(base64.decode_url(text))
end

local function key_of(jwk)
  if jwk.kty == "RSA" then
    return crypto.rsa(bytes(jwk.n), bytes(jwk.e))
  end
  return crypto.curve(jwk.crv, bytes(jwk.x), bytes(jwk.y))
end

local function parts(token)
  local text, signature = token:match("^(.*)%.([^.]*)$")
  return text, bytes(signature)
end

local function each(run)
  for _, vector in ipairs(vectors) do
    local text, signature = parts(vector.token)
    run(vector, assert(key_of(vector.key)), text, signature)
  end
end

describe("public keys and signatures", function()
  it("verifies the examples of RFC 6979, 7515, 8032 and 8037, and one of each other algorithm", function()
    local verified = {}
    each(function(vector, key, text, signature)
      assert.is_true(key:verify(vector.alg, text, signature), vector.name)
      verified[vector.alg] = true
    end)
    for _, alg in ipairs(ALGORITHMS) do
      assert.is_true(verified[alg] or alg == "Ed25519", alg) -- that is EdDSA's, too
    end
  end)

  it("verifies no signature of which any byte is changed, cut off or added", function()
    each(function(vector, key, text, signature)
      for at = 1, #signature do
        local changed = signature:sub(1, at - 1) .. string.char((signature:byte(at) + 1) % 256) .. signature:sub(at + 1)
        assert.is_false(key:verify(vector.alg, text, changed), vector.name .. " byte " .. at)
        assert.is_false(key:verify(vector.alg, text, signature:sub(1, at - 1)), vector.name .. " cut at " .. at)
      end
      assert.is_false(key:verify(vector.alg, text, signature .. "\0"))
      assert.is_false(key:verify(vector.alg, text, "\0" .. signature))
      assert.is_false(key:verify(vector.alg, text .. " ", signature))
      assert.is_false(key:verify(vector.alg, text, ("\0"):rep(#signature)))
    end)
  end)

  it("uses a key for the algorithms of its kind only", function()
    each(function(vector, key, text, signature)
      for _, alg in ipairs(ALGORITHMS) do
        local fits = alg == vector.alg or vector.alg == "EdDSA" and alg == vector.key.crv
          or vector.alg == "Ed448" and alg == "EdDSA"
        assert.equal(fits, key:verify(alg, text, signature), vector.name .. " as " .. alg)
      end
    end)
  end)

  it("takes no signature of ES256 in DER", function()
    local vector = vectors[2]
    local text, signature = parts(vector.token)
    local function integer(digits)
      digits = digits:byte() > 127 and "\0" .. digits or digits
      return "\2" .. string.char(#digits) .. digits
    end
    local pair = integer(signature:sub(1, 32)) .. integer(signature:sub(33))
    assert.is_false(assert(key_of(vector.key)):verify("ES256", text, "\48" .. string.char(#pair) .. pair))
  end)

  it("exclude algorithms by which the verifier could sign, and those that sign nothing", function()
    local key = assert(key_of(vectors[1].key))
    for _, alg in ipairs({ "none", "None", "HS256", "HS384", "HS512", "rs256", "", "RS256\0" }) do
      assert.is_false(pcall(key.verify, key, alg, "text", "signature"), alg)
    end
  end)

  it("refuses RSA keys that are too small, too large or no keys", function()
    local n, e = bytes(vectors[1].key.n), "\1\0\1"
    local small = n:sub(1, 128)
    local largest, zeros = "\128" .. ("\1"):rep(1023), ("\0"):rep(5000)
    local below, above = "a modulus below 2048 bits", "a modulus above 8192 bits"
    local exponent = "an exponent that is even, 1 or above 64 bits"
    for _, case in ipairs({
      { small, e, below }, { "", e, below }, { zeros .. small, e, below }, { zeros, e, below },
      { "\127" .. n:sub(2), e, below }, { "\1" .. largest, e, above }, { ("\1"):rep(100000), e, above },
      { n:sub(1, -2) .. "\2", e, "an even modulus" }, { n, "", exponent }, { n, zeros, exponent },
      { n, "\1", exponent }, { n, "\4", exponent }, { n, "\1" .. ("\255"):rep(8), exponent }, { n, n, exponent },
      { n, ("\1"):rep(100000), exponent },
    }) do
      assert.same({ n = 2, nil, case[3] }, compat.pack(crypto.rsa(case[1], case[2])))
    end
    for _, case in ipairs({
      { largest, e }, { n, "\3" }, { n, ("\255"):rep(8) },
      { "\0" .. n, e }, { zeros .. n, zeros .. e }, -- some write a sign, or more
    }) do
      assert.truthy(crypto.rsa(case[1], case[2]))
    end
  end)

  it("refuses points of another length or beside their curve", function()
    local jwk = vectors[2].key
    local x, y = bytes(jwk.x), bytes(jwk.y)
    for _, case in ipairs({ { "P-256", x, x }, { "P-256", x, y:sub(2) }, { "P-256", "\0" .. x, y }, { "P-384", x, y },
      { "P-521", x, y }, { "P-256", ("\0"):rep(32), ("\0"):rep(32) }, { "Ed25519", x:sub(2) }, { "Ed448", x } }) do
      local key, flaw = crypto.curve(case[1], case[2], case[3])
      assert.is_nil(key)
      local fits = case[1] == "P-256" and #case[2] == 32 and #case[3] == 32
      assert.matches(fits and "^a point that is not on its curve$" or "of another length than its curve's$", flaw)
    end
    for _, name in ipairs({ "secp256k1", "P-256\0", "p-256", "" }) do
      assert.has_error(function()
        crypto.curve(name, x, y)
      end, "bad argument #1 to 'curve' (not a known curve)")
    end
    assert.has_error(function()
      crypto.curve("P-256", x)
    end, "bad argument #3 to 'curve' (string expected, got no value)")
  end)

  it("raise for an invalid key", function()
    local key = assert(key_of(vectors[1].key))
    assert.has_error(function()
      key.verify(io.stdout, "RS256", "", "")
    end)
    assert.is_false(pcall(key.verify, key, "RS256", "text"))
    local ok, raised = pcall(key.verify, key, "RS257", "text", "signature")
    assert.is_false(ok)
    assert.matches("not a known algorithm", raised, 1, true)
    local was_made = getmetatable(key).__gc
    was_made(key)
    ok, raised = pcall(key.verify, key, "RS256", "text", "signature")
    assert.is_false(ok)
    assert.matches("the key was not made", raised, 1, true)
  end)
end)
