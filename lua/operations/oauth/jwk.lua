--- JSON Web Keys (RFC 7517; RFC 7518, section 6; RFC 8037): the keys of a set that verify signatures. Unusable keys are
--- ignored (RFC 7517, section 5): other types, short keys, keys for encryption.
local base64 = require("operations.base.base64")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local runtime = require("operations.base.runtime")

-- Optional: only built with libcrypto.
local has_crypto, crypto = runtime.optional("operations.crypto")

local jwk = { has_crypto = has_crypto }

local rsa = { "RS256", "RS384", "RS512", "PS256", "PS384", "PS512" }
local curves = {
  EC = { ["P-256"] = { "ES256" }, ["P-384"] = { "ES384" }, ["P-521"] = { "ES512" } },
  OKP = { Ed25519 = { "EdDSA", "Ed25519" }, Ed448 = { "EdDSA", "Ed448" } },
}

--- The supported algorithms: those whose verifiers cannot sign.
jwk.algorithms = { "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
  "Ed448" }

---@class operations.oauth.Key
---@field kid? string
---@field algorithms table<string, true>  that the key may be used with
---@field key userdata  of `operations.crypto`

-- The bytes of a member; "" without one.
local function bytes(value)
  return type(value) == "string" and base64.decode_url(value) or ""
end

local function make(member)
  if member.kty == "RSA" then
    return rsa, crypto.rsa(bytes(member.n), bytes(member.e))
  end
  local known = curves[member.kty]
  local algorithms = known and known[member.crv]
  if not algorithms then
    return nil, nil, "another type of key"
  end
  return algorithms, crypto.curve(member.crv, bytes(member.x), bytes(member.y))
end

-- May the key verify signatures? True if it declares no use.
local function is_for_signatures(member)
  if member.use ~= nil and member.use ~= "sig" then
    return false
  end
  return member.key_ops == nil or type(member.key_ops) == "table" and members.contains(member.key_ops, "verify")
end

-- A key of a set; nil and the reason when it cannot be used.
local function read(member)
  if type(member) ~= "table" or not is_for_signatures(member) then
    return nil, "not a key for signatures"
  end
  local algorithms, key, flaw = make(member)
  if not key then
    return nil, flaw
  elseif member.alg ~= nil then
    algorithms = members.contains(algorithms, member.alg) and { member.alg } or {}
  end
  return { kid = type(member.kid) == "string" and member.kid or nil, algorithms = members.set(algorithms), key = key }
end

--- The keys of a set.
---@param document any  `{ keys = { ... } }`
---@return operations.oauth.Key[]?
---@return string? flaw  it is not a set, or has too many keys
---@return string? unused  why the last ignored key is ignored
function jwk.set(document)
  local list, keys, unused = type(document) == "table" and document.keys, {}, nil
  if type(list) ~= "table" or next(list) ~= nil and list[1] == nil then
    return nil, "not a set of keys: a member `keys`, a list, expected"
  elseif #list > limits.jwks_keys then
    return nil, ("%d keys, %d are too many"):format(#list, limits.jwks_keys + 1)
  end
  for i = 1, #list do
    local key, flaw = read(list[i])
    keys[#keys + 1] = key
    unused = flaw or unused
  end
  return keys, nil, unused
end

--- The keys that may have made a signature; `kid` selects among them.
---@param keys operations.oauth.Key[]
---@param algorithm string
---@param kid? string
---@return operations.oauth.Key[]
function jwk.choose(keys, algorithm, kid)
  local found = {}
  for _, key in ipairs(keys) do
    if key.algorithms[algorithm] and (kid == nil or key.kid == kid) and #found < limits.jwt_keys then
      found[#found + 1] = key
    end
  end
  return found
end

return jwk
