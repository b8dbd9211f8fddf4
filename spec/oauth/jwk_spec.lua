local base64 = require("operations.base.base64")
local json = require("operations.base.json")
local jwk = require("operations.oauth.jwk")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local tokens = require("spec.support.tokens")

describe("a set of keys", function()
  local ed, rsa

  setup(function()
    ed, rsa = tokens.key("EdDSA", "one"), tokens.key("RS256", "two")
  end)

  teardown(function()
    ed:remove()
    rsa:remove()
  end)

  -- What becomes of a key with other members; "none": without one.
  local function read(key, changes)
    local member = members.merged(key.jwk)
    for name, value in pairs(changes or {}) do
      member[name] = value ~= "none" and value or nil
    end
    local keys, flaw, unused = jwk.set({ keys = { member } })
    assert.is_nil(flaw)
    return keys[1], unused
  end

  it("has those that verify signatures, with their algorithms", function()
    local key = read(ed, { alg = "none" })
    assert.same({ "one", { EdDSA = true, Ed25519 = true } }, { key.kid, key.algorithms })
    key = read(rsa, { alg = "none" })
    assert.same({ "two", members.set({ "RS256", "RS384", "RS512", "PS256", "PS384", "PS512" }) },
      { key.kid, key.algorithms })
    assert.same({ RS256 = true }, read(rsa, { alg = "RS256" }).algorithms)
    assert.same({}, read(rsa, { alg = "ES256" }).algorithms)
    assert.is_nil(read(ed, { kid = 7 }).kid)
  end)

  it("passes over those that do not, and says why", function()
    for _, changes in ipairs({ { use = "enc" }, { use = 7 }, { key_ops = { "encrypt" } }, { key_ops = "verify" } }) do
      assert.same({ nil, "not a key for signatures" }, { read(ed, changes) })
    end
    for _, changes in ipairs({ { use = "sig" }, { key_ops = { "sign", "verify" } }, { use = "none" } }) do
      assert.is_not_nil((read(ed, changes)))
    end
    for _, changes in ipairs({ { kty = "oct" }, { kty = "none" }, { crv = "X25519" }, { crv = 7 }, { crv = "none" },
      { kty = "EC" } }) do
      assert.same({ nil, "another type of key" }, { read(ed, changes) })
    end
    for _, changes in ipairs({ { x = "none" }, { x = 7 }, { x = "AA" }, { x = "*" } }) do
      local key, why = read(ed, changes)
      assert.is_nil(key)
      assert.is_string(why)
    end
    for _, changes in ipairs({ { n = "AQAB" }, { n = "none" }, { e = "none" } }) do
      local key, why = read(rsa, changes)
      assert.is_nil(key)
      assert.is_string(why)
    end
  end)

  it("continues behind a key that is skipped", function()
    local keys, flaw, unused = jwk.set({ keys = { 7, json.null, { kty = "oct" }, ed.jwk } })
    assert.equal(1, #keys)
    assert.is_nil(flaw)
    assert.equal("another type of key", unused)
    assert.is_nil((select(3, jwk.set({ keys = { ed.jwk } }))))
  end)

  it("is a list under `keys`", function()
    for _, document in ipairs({ 7, {}, { keys = 7 }, { keys = { a = 1 } } }) do
      assert.same({ nil, "not a set of keys: a member `keys`, a list, expected" }, { jwk.set(document) })
    end
    assert.same({}, (jwk.set({ keys = {} })))
  end)

  it("has as many keys as the limit, and no more", function()
    local list = {}
    for i = 1, limits.jwks_keys do
      list[i] = 7
    end
    assert.same({}, (jwk.set({ keys = list })))
    list[#list + 1] = 7
    assert.same({ nil, ("%d keys, %d are too many"):format(#list, limits.jwks_keys + 1) }, { jwk.set({ keys = list }) })
  end)

  it("gives those that may have signed, by algorithm and kid", function()
    local keys = jwk.set({ keys = { members.merged(ed.jwk, { alg = "EdDSA" }),
      members.merged(rsa.jwk, { alg = "RS256" }), members.merged(ed.jwk, { kid = "three", alg = "EdDSA" }) } })
    assert.same({ keys[1], keys[3] }, jwk.choose(keys, "EdDSA"))
    assert.same({ keys[3] }, jwk.choose(keys, "EdDSA", "three"))
    assert.same({}, jwk.choose(keys, "EdDSA", "two"))
    assert.same({}, jwk.choose(keys, "ES256"))
  end)

  it("gives no more than are tried", function()
    local keys = {}
    for i = 1, limits.jwt_keys + 1 do
      keys[i] = { algorithms = { EdDSA = true } }
    end
    assert.equal(limits.jwt_keys, #jwk.choose(keys, "EdDSA"))
  end)

  it("knows elliptic curves by their names", function()
    local function algorithms(curve)
      local path = os.tmpname()
      os.execute(("openssl ecparam -name %s -genkey -noout 2>/dev/null | openssl ec -pubout -outform DER >%s "
        .. "2>/dev/null"):format(curve, path))
      local file = assert(io.open(path, "rb"))
      local der = file:read("*a")
      file:close()
      os.remove(path)
      local size = ({ prime256v1 = 32, secp384r1 = 48, secp521r1 = 66 })[curve]
      local point = der:sub(-2 * size)
      local name = ({ prime256v1 = "P-256", secp384r1 = "P-384", secp521r1 = "P-521" })[curve]
      local keys, flaw, unused = jwk.set({ keys = { { kty = "EC", crv = name, x = base64.encode_url(point:sub(1, size)),
        y = base64.encode_url(point:sub(size + 1)) } } })
      return keys[1] and keys[1].algorithms or flaw or unused
    end
    assert.same({ ES256 = true }, algorithms("prime256v1"))
    assert.same({ ES384 = true }, algorithms("secp384r1"))
    assert.same({ ES512 = true }, algorithms("secp521r1"))
  end)
end)
