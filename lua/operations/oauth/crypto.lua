--- Digests, signatures of texts and signed tokens for programs: checksums, webhooks, `Authorization` of APIs.
local argument = require("operations.base.argument")
local base64 = require("operations.base.base64")
local core = require("operations.core")
local errors = require("operations.base.error")
local hexadecimal = require("operations.base.hexadecimal")
local hmac = require("operations.base.hmac")
local json = require("operations.base.json")
local jwk = require("operations.oauth.jwk")
local jwt = require("operations.oauth.jwt")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local runtime = require("operations.base.runtime")
local scheduler = require("operations.task.scheduler")

-- Optional: only built with libcrypto.
local has_native, native = runtime.optional("operations.crypto")

---@class operations.crypto
local crypto = {
  base64url = base64.encode_url,
  jwt = {},
}

local PIECE = 65536 -- bytes read from a source at once

--- The SHA-256 digest (FIPS 180-4) of bytes, or of everything that a function, an open file, a stream of the HTTP
--- client or a process gives, which is read in pieces.
---@param bytes string|(fun(): string?)|{ read: function }
---@return string? digest  32 bytes; see `hex`
---@return any err  of the source
function crypto.sha256(bytes)
  if type(bytes) == "string" then
    return core.sha256(bytes)
  end
  local is_function = type(bytes) == "function"
  local ok, read = pcall(function()
    return bytes.read
  end)
  if not is_function and not (ok and type(read) == "function") then
    argument.expect(bytes, "string", 1, "sha256")
  end
  local state = core.sha256_state()
  local function next_piece()
    if is_function then
      return bytes()
    end
    return read(bytes, PIECE)
  end
  local piece, err = next_piece()
  while piece do
    state:add(piece)
    piece, err = next_piece()
  end
  if err ~= nil then
    return nil, err
  end
  return state:digest()
end

--- HMAC-SHA-256 (RFC 2104).
---@param secret string
---@param text string
---@return string  32 bytes
function crypto.hmac(secret, text)
  argument.expect(secret, "string", 1, "hmac")
  argument.expect(text, "string", 2, "hmac")
  return hmac.signer(secret)(text)
end

--- Are two texts equal? The time does not tell how many bytes were right: for signatures and secrets.
---@param one string
---@param other string
---@return boolean
function crypto.equal(one, other)
  argument.expect(one, "string", 1, "equal")
  argument.expect(other, "string", 2, "equal")
  return hmac.same(one, other)
end

--- Bytes in hexadecimal.
---@param bytes string
---@return string  lower case
function crypto.hex(bytes)
  argument.expect(bytes, "string", 1, "hex")
  return hexadecimal.of(bytes)
end

--- Random bytes of the operating system.
---@param count integer
---@return string
function crypto.random_bytes(count)
  argument.expect(count, "number", 1, "random_bytes")
  return core.random_bytes(count)
end

-- A secret as a key: for one algorithm.
local function secret_key(secret)
  local sign = hmac.signer(secret)
  return {
    verify = function(_, _, text, signature)
      return hmac.same(sign(text), signature)
    end,
    sign = function(_, algorithm, text)
      return algorithm == "HS256" and sign(text) or nil
    end,
  }
end

-- The key of a text: PEM, or a secret.
local function text_key(text, verifies)
  if not text:find("-----BEGIN", 1, true) then
    return secret_key(text), { "HS256" }
  elseif not has_native then
    return nil, errors.new("CAPABILITY_MISSING", "keys in PEM need operations.crypto, which is built with OpenSSL 3")
  end
  local key, flaw = native.pem(text, verifies and not text:find("PRIVATE KEY", 1, true))
  if not key then
    return nil, errors.new("VALIDATION_ERROR", "the key is " .. flaw)
  end
  return key, jwk.algorithms
end

-- What a key signs by when the program does not say.
local usual = { "HS256", "RS256", "ES256", "ES384", "ES512", "EdDSA" }

local function is_object(value)
  return type(value) == "table" and getmetatable(value) ~= json.array_mt and (next(value) == nil or value[1] == nil)
end

local sign_options = { algorithm = "string", header = "table", kid = "string" }

--- Makes a signed JSON Web Token (RFC 7519). `exp`, `iat` and the others are seconds: `os.time() + 600`.
---@param claims table
---@param key string  a private key in PEM, or a secret for HS256
---@param options? { algorithm?: string, kid?: string, header?: table }  default algorithm: HS256 of a secret, RS256,
---  ES256, ES384, ES512 or EdDSA of a key
---@return string? token
---@return operations.Error? err
function crypto.jwt.sign(claims, key, options)
  argument.expect(claims, "table", 1, "sign")
  argument.expect(key, "string", 2, "sign")
  argument.optional(options, "table", 3, "sign")
  options = options or {}
  argument.options(options, sign_options, "sign")
  local maker, known = text_key(key)
  if not maker then
    return nil, known
  elseif not is_object(claims) then
    return nil, errors.new("VALIDATION_ERROR", "the claims of a token are an object, not a list")
  end
  for _, algorithm in ipairs(options.algorithm and { options.algorithm } or usual) do
    local header = members.merged(options.header or {}, { alg = algorithm, typ = "JWT", kid = options.kid })
    local body, err = json.encode(claims, { sort_keys = true })
    if not body then
      return nil, err
    end
    local text = base64.encode_url(json.encode(header, { sort_keys = true })) .. "." .. base64.encode_url(body)
    local signature = (known == jwk.algorithms) == (algorithm ~= "HS256") and maker:sign(algorithm, text)
    if signature then
      return text .. "." .. base64.encode_url(signature)
    end
  end
  local by = options.algorithm or "any algorithm"
  return nil, errors.new("VALIDATION_ERROR", "the key does not sign by " .. by)
end

-- The keys that may have signed, and the algorithms that are accepted.
local function verifiers(key)
  if type(key) == "string" then
    local made, known = text_key(key, true)
    if not made then
      return nil, known
    end
    return { { key = made, algorithms = members.set(known) } }, members.set(known)
  end
  local keys, flaw, unused = jwk.set(key.keys and key or { keys = { key } })
  if not keys or not keys[1] then
    return nil, errors.new("VALIDATION_ERROR", "the key is " .. (flaw or unused or "an empty set"))
  end
  return keys, members.set(jwk.algorithms)
end

local verify_options = { algorithms = "table", audience = "string", issuer = "string", leeway = "number" }

--- Verifies a token: signature, algorithm, `exp`, `nbf`, `iat`, and those of `iss` and `aud` that are given.
---@param token string
---@param key string|table  a secret (HS256), a public key in PEM, a JWK, or a set of JWKs
---@param options? { algorithms?: string[], audience?: string, issuer?: string, leeway?: number }  leeway: seconds,
---  default 60
---@return table? claims
---@return operations.Error? err  ACCESS_DENIED: what is wrong with the token
function crypto.jwt.verify(token, key, options)
  argument.expect(token, "string", 1, "verify")
  if type(key) ~= "table" then
    argument.expect(key, "string", 2, "verify")
  elseif not has_native then
    return nil, errors.new("CAPABILITY_MISSING", "JWKs need operations.crypto, which is built with OpenSSL 3")
  end
  argument.optional(options, "table", 3, "verify")
  options = options or {}
  argument.options(options, verify_options, "verify")
  local keys, accepted = verifiers(key)
  if not keys then
    return nil, accepted
  end
  local claims, flaw = jwt.verify(token, {
    algorithms = options.algorithms and members.set(options.algorithms) or accepted,
    issuer = options.issuer, audiences = options.audience and { [options.audience] = true },
    leeway = options.leeway or limits.token_leeway, complete = false,
  }, function(algorithm, kid)
    return jwk.choose(keys, algorithm, type(key) == "table" and kid or nil)
  end, scheduler.now() / 1000)
  if not claims then
    return nil, errors.is_error(flaw) and flaw or errors.new("ACCESS_DENIED", flaw)
  elseif options.issuer and claims.iss == nil then
    return nil, errors.new("ACCESS_DENIED", "the token names no issuer (iss)")
  end
  return claims
end

return crypto
