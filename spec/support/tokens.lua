--- Keys and signed tokens for specs, made by the program openssl.
local base64 = require("operations.base.base64")
local json = require("operations.base.json")

local tokens = {}

local function run(command)
  local pipe = io.popen(command)
  local output = pipe:read("*a")
  pipe:close()
  return output
end

local function write(bytes)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
  return path
end

---@class spec.TokenKey
---@field jwk table  public
---@field pem string  path of the private key
local Key = {}
Key.__index = Key

local signing = { RS256 = "openssl dgst -sha256 -sign %s %s", RS384 = "openssl dgst -sha384 -sign %s %s",
  EdDSA = "openssl pkeyutl -sign -rawin -inkey %s -in %s" }

--- A signature, whatever the text is.
function Key:signature(text, alg)
  local path = write(text)
  local bytes = run(signing[alg or self.jwk.alg]:format(self.pem, path))
  os.remove(path)
  assert(#bytes > 0)
  return bytes
end

local function part(value)
  return base64.encode_url(type(value) == "string" and value or assert(json.encode(value)))
end

--- A token. Header and claims are tables, or texts as they are.
function Key:token(claims, header)
  local text = part(header or { alg = self.jwk.alg, kid = self.jwk.kid, typ = "at+jwt" }) .. "." .. part(claims)
  return text .. "." .. base64.encode_url(self:signature(text))
end

--- A token with any signature.
function Key.forged(_, claims, header, signature)
  return part(header) .. "." .. part(claims) .. "." .. base64.encode_url(signature)
end

function Key:remove()
  os.remove(self.pem)
end

--- A new key pair.
---@param alg "EdDSA"|"RS256"
---@param kid? string
---@param bits? integer
---@return spec.TokenKey
function tokens.key(alg, kid, bits)
  local pem = os.tmpname()
  local jwk = { kid = kid, alg = alg, use = "sig" }
  if alg == "EdDSA" then
    run("openssl genpkey -algorithm ed25519 -out " .. pem .. " 2>/dev/null")
    jwk.kty, jwk.crv = "OKP", "Ed25519"
    jwk.x = base64.encode_url(run("openssl pkey -pubout -outform DER -in " .. pem):sub(-32))
  else
    run(("openssl genrsa -out %s %d 2>/dev/null"):format(pem, bits or 2048))
    local digits = run("openssl rsa -noout -modulus -in " .. pem):match("Modulus=(%x+)")
    jwk.kty, jwk.e = "RSA", "AQAB"
    jwk.n = base64.encode_url((digits:gsub("%x%x", function(pair)
      return string.char(tonumber(pair, 16))
    end)))
  end
  return setmetatable({ jwk = jwk, pem = pem }, Key)
end

return tokens
