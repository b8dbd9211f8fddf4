--- HMAC-SHA-256 (RFC 2104): signs texts with a secret and verifies such signatures.
local core = require("operations.core")

local hmac = {}

local sha256 = core.sha256

local BLOCK = 64 -- bytes, of SHA-256

-- Lua 5.4 and LuaJIT share no operator for this; it runs once for each key.
local function xor(a, b)
  local result = 0
  for i = 0, 7 do
    if math.floor(a / 2 ^ i) % 2 ~= math.floor(b / 2 ^ i) % 2 then
      result = result + 2 ^ i
    end
  end
  return result
end

local function padded(key, with)
  return (key:gsub(".", function(byte)
    return string.char(xor(byte:byte(), with))
  end))
end

--- The function that signs with a secret.
---@param secret string
---@return fun(text: string): string  32 bytes
function hmac.signer(secret)
  local key = #secret > BLOCK and sha256(secret) or secret
  key = key .. ("\0"):rep(BLOCK - #key)
  local inner, outer = padded(key, 0x36), padded(key, 0x5c)
  return function(text)
    return sha256(outer .. sha256(inner .. text))
  end
end

--- Are two texts equal? The time depends only on their lengths, so that it does not tell how many bytes were right.
---@param one string
---@param other string
---@return boolean
function hmac.same(one, other)
  local difference = 0
  if #one ~= #other then
    return false
  end
  for i = 1, #one do
    local distance = one:byte(i) - other:byte(i)
    difference = difference + distance * distance
  end
  return difference == 0
end

return hmac
