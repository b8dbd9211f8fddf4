--- The keys of an authorization server, fetched from its JWKS document and kept. An unknown kid triggers a new fetch,
--- at most once a minute; while fetching fails, old keys are used for a day.
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local errors = require("operations.base.error")
local jwk = require("operations.oauth.jwk")
local limits = require("operations.base.limits")
local metadata = require("operations.oauth.metadata")
local single_flight = require("operations.task.single_flight")
local task = require("operations.task")
local url = require("operations.base.url")

local key_set = {}

---@class operations.oauth.KeySet
---@field _transport operations.oauth.Transport
---@field _issuer string
---@field _address? string  of the document; nil: it is in the issuer's metadata
---@field _found? string|false  the address in the metadata
---@field _keys? operations.oauth.Key[]
---@field _fetched? integer  ms since the epoch, of the last successful fetch
---@field _tried? integer  of the last attempt
---@field _failure? operations.Error  of the last attempt
---@field _flight operations.SingleFlight
---@field _flying? boolean
local KeySet = {}
KeySet.__index = KeySet

-- When an address from metadata leads to no keys, the metadata is read again: issuers move their keys.
local function fetch(self)
  local address, err, document, keys = self._address or self._found, nil, nil, nil
  if not address then
    address, err = metadata.key_address(self._issuer, self._transport)
  end
  if address then
    document, err = endpoint.get(address, self._transport)
  end
  if document then
    local flaw
    keys, flaw = jwk.set(document)
    err = flaw and endpoint.failure(("%s: %s"):format(url.redact(address), flaw))
  end
  if keys then
    self._keys, self._fetched = keys, core.now()
  end
  self._found = keys and address
  return err
end

-- Fetches the keys, unless an attempt was made less than `pause` ms ago; waits for a running fetch. Returns the error
-- that interrupted the wait, if any. A time in the future is ignored: the clock was set back.
local function refresh(self, pause)
  local now = core.now()
  local passed = self._tried and now - self._tried
  if not self._flying and passed and passed >= 0 and passed < pause then
    return nil
  elseif not self._flying then
    self._tried, self._flying = now, true
  end
  local _, interruption = self._flight:run(function()
    local ok, err = pcall(fetch, self)
    self._flying, self._failure = false, not ok and (errors.from(err)) or err
  end)
  return interruption
end

-- ms; negative if the clock was set back.
local function age(self)
  return self._keys and core.now() - self._fetched or math.huge
end

local function is_old(self)
  local ms = age(self)
  return ms < 0 or ms > limits.jwks_age
end

--- The keys that may have made a signature. May wait.
---@param algorithm string
---@param kid? string
---@return operations.oauth.Key[]?
---@return operations.Error? err  UNAVAILABLE: there are no keys, or too old ones, and they cannot be fetched
function KeySet:find(algorithm, kid)
  if age(self) > limits.jwks_stale then
    refresh(self, limits.jwks_retry)
    if age(self) > limits.jwks_stale then
      return nil, errors.new("UNAVAILABLE", "the keys of the authorization server cannot be fetched: "
        .. (self._failure and self._failure.message or "interrupted"))
    end
  elseif is_old(self) and not self._flying then
    task.detach(refresh, self, limits.jwks_pause)
  end
  local found = jwk.choose(self._keys, algorithm, kid)
  if not found[1] then
    local interruption = refresh(self, limits.jwks_pause)
    found = jwk.choose(self._keys, algorithm, kid)
    if interruption and not found[1] then
      return nil, errors.new("UNAVAILABLE", "waiting for the keys of the authorization server was interrupted: "
        .. interruption.message)
    end
  end
  return found
end

--- Keys that are fetched from a URL.
---@param issuer string
---@param address? string  https, or http on this machine; default: from the issuer's metadata (RFC 8414)
---@param transport operations.oauth.Transport
---@return operations.oauth.KeySet
function key_set.remote(issuer, address, transport)
  return setmetatable({ _issuer = issuer, _address = address, _transport = transport,
    _flight = single_flight.new() }, KeySet)
end

--- A fixed set of keys.
---@param document table  a JWKS
---@return { find: function }?
---@return string? flaw
function key_set.fixed(document)
  local keys, flaw, unused = jwk.set(document)
  if keys and not keys[1] then
    return nil, "no key that verifies signatures" .. (unused and ": " .. unused or "")
  end
  return keys and { find = function(_, algorithm, kid)
    return jwk.choose(keys, algorithm, kid)
  end }, flaw
end

return key_set
