--- Signs messages over Redis with a secret that its processes share: HMAC-SHA-256 (RFC 2104) of the destination and the
--- JSON, as its last member, `sig`. Messages on channels have a number and a time, so that recorded ones cannot be
--- replayed: a number counts once, and a process that was not heard yet, or for long, must send a new time.
--- Specification: doc/protocol.md, section 9.
local core = require("operations.core")
local hexadecimal = require("operations.base.hexadecimal")
local hmac = require("operations.base.hmac")
local limits = require("operations.base.limits")

local redis_signature = {
  least = 16, -- bytes of a secret
  most = 128, -- bytes by which a signed text is longer, at most
}

local FORM = '^,"sig":"(' .. ("%x"):rep(64) .. ')"}$'
local TAIL = #',"sig":""}' + 64

---@class operations.RedisSignature
---@field secret boolean  is there a secret?
local Signature = { secret = true }
Signature.__index = Signature

local function digest(self, place, body)
  return hexadecimal.of(self._sign(place .. "\n" .. body))
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
    body = ('%s,"n":%d,"t":%.0f'):format(body, self._number, core.now())
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

-- Forgets processes that were not heard for so long that their recorded messages are too old.
local function forget(self, now)
  if now < self._forgets then
    return
  end
  self._forgets = now + limits.redis_age
  for sender, heard in pairs(self._heard) do
    if now - heard.at > 3 * limits.redis_age then
      self._heard[sender] = nil
    end
  end
end

--- Is a numbered message with a valid signature newer than the sender's previous ones? The first one must not be older
--- than `redis_age`: the recorded ones of a process that has ended are refused by processes that never heard it.
---@param message table
---@return boolean
function Signature:is_new(message)
  local sender, number, now = message.from or message.node, message.n, core.now()
  forget(self, now)
  local heard = type(sender) == "string" and self._heard[sender]
  if type(sender) ~= "string" or type(number) ~= "number" or number <= (heard and heard.number or 0) then
    return false
  elseif not heard and not (type(message.t) == "number" and math.abs(now - message.t) <= limits.redis_age) then
    self.stale = true -- for `remark`
    return false
  end
  self._heard[sender] = { number = number, at = now }
  return true
end

--- What explains that no process was found.
---@return string
function Signature:remark()
  return self.stale and ("; the clocks of processes that sign differ by more than %d ms"):format(limits.redis_age) or ""
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

function Unsigned:remark()
  return self.missing and "; there are processes that sign what they send (the option 'secret')" or ""
end

--- Makes a signer with a secret, or one that does not sign.
---@param secret? string
---@return operations.RedisSignature
function redis_signature.new(secret)
  if not secret then
    return setmetatable({ missing = false }, Unsigned) -- missing: others sign
  end
  return setmetatable({
    _sign = hmac.signer(secret), _number = 0, _forgets = 0,
    _heard = {}, -- the last number of each process, and when it was heard; kept for a while after it has left
  }, Signature)
end

return redis_signature
