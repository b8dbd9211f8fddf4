--- Signs messages over Redis with a secret that its processes share: HMAC-SHA-256 (RFC 2104) of the destination and the
--- JSON, as its last member, `sig`. Messages on channels are numbered, so that recorded ones cannot be replayed.
--- Specification: doc/protocol.md, section 9.
local hmac = require("operations.base.hmac")

local redis_signature = {
  least = 16, -- bytes of a secret
  most = 128, -- bytes by which a signed text is longer, at most
}

local HEXADECIMAL = ("%02x"):rep(32)
local FORM = '^,"sig":"(' .. ("%x"):rep(64) .. ')"}$'
local TAIL = #',"sig":""}' + 64

---@class operations.RedisSignature
---@field secret boolean  is there a secret?
local Signature = { secret = true }
Signature.__index = Signature

local function digest(self, place, body)
  return HEXADECIMAL:format(self._sign(place .. "\n" .. body):byte(1, 32))
end

--- Signs a JSON object.
---@param place string  the key or channel that it is sent to
---@param text string
---@param numbered? boolean  for a channel; sign messages in the order of sending
---@return string
function Signature:seal(place, text, numbered)
  local body = text:sub(1, -2)
  if numbered then
    self._number = self._number + 1
    body = ('%s,"n":%d'):format(body, self._number)
  end
  return ('%s,"sig":"%s"}'):format(body, digest(self, place, body))
end

--- Is a text correctly signed for a place?
---@param place string
---@param text string
---@return boolean
function Signature:fits(place, text)
  local given = text:sub(-TAIL):match(FORM)
  return given ~= nil and hmac.same(digest(self, place, text:sub(1, -TAIL - 1)), given:lower())
end

--- Is a numbered message with a valid signature newer than the sender's previous ones?
---@param message table
---@return boolean
function Signature:is_new(message)
  local sender, number, heard = message.from or message.node, message.n, self._heard
  if type(sender) ~= "string" or type(number) ~= "number" or number <= (heard[sender] or 0) then
    return false
  end
  heard[sender] = number
  return true
end

-- Without a secret: everything is accepted, except what others sign.
local Unsigned = { secret = false }
Unsigned.__index = Unsigned

function Unsigned.seal(_, _, text)
  return text
end

function Unsigned.fits()
  return true
end

function Unsigned:is_new(message)
  local signed = message.sig ~= nil
  self.missing = self.missing or signed
  return not signed
end

--- Makes a signer with a secret, or one that does not sign.
---@param secret? string
---@return operations.RedisSignature
function redis_signature.new(secret)
  if not secret then
    return setmetatable({ missing = false }, Unsigned) -- missing: others sign
  end
  return setmetatable({
    _sign = hmac.signer(secret), _number = 0,
    _heard = {}, -- the last number of each process ever heard; kept after it has left
  }, Signature)
end

return redis_signature
