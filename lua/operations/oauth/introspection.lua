--- Tokens that only the authorization server can check: it is asked (RFC 7662), and its answers are kept for a minute,
--- but not longer than the token is valid.
local client = require("operations.oauth.client")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local single_flight = require("operations.task.single_flight")
local url = require("operations.base.url")

local introspection = {}

---@class operations.oauth.IntrospectionOptions: operations.oauth.Client
---@field endpoint string  https, or http on this machine

---@class operations.oauth.Introspection
---@field _options operations.oauth.IntrospectionOptions
---@field _transport operations.oauth.Transport
---@field _recent table<string, { claims: table|false, till: integer }>  by the digest of the token
---@field _earlier table  the generation before the recent ones
---@field _count integer  the number of recent ones
---@field _flights operations.SingleFlight  by digest
local Introspection = {}
Introspection.__index = Introspection

-- At the limit, drops the older half: entries that were not used meanwhile.
local function keep(self, digest, entry)
  if self._count >= limits.introspections / 2 then
    self._earlier, self._recent, self._count = self._recent, {}, 0
  end
  self._recent[digest], self._count = entry, self._count + 1
end

local function kept(self, digest)
  local entry = self._recent[digest]
  if not entry and self._earlier[digest] then
    entry, self._earlier[digest] = self._earlier[digest], nil
    keep(self, digest, entry)
  end
  local left = entry and entry.till - core.now()
  return left and left > 0 and left <= limits.introspection_age and entry -- longer only if the clock was set back
end

local function till_of(claims)
  local till = core.now() + limits.introspection_age
  local exp = claims and type(claims.exp) == "number" and claims.exp * 1000
  return exp and math.min(exp, till) or till
end

local function ask(self, digest, token)
  local options, headers = self._options, {}
  local fields = { token = token, token_type_hint = "access_token" }
  local ok, err = client.authenticate(options, fields, headers)
  local answer
  if ok then
    answer, err = endpoint.post_form(options.endpoint, self._transport, fields,
      { headers = headers, secrets = { token, options.client_secret } })
  end
  if not answer then
    return nil, errors.new("UNAVAILABLE", ("%s: the token could not be checked: %s"):format(
      url.redact(options.endpoint), err and err.message or "the client's proof failed"))
  end
  local claims = answer.active == true and answer
  keep(self, digest, { claims = claims, till = till_of(claims) })
  return claims
end

local function claims_of(self, token)
  local digest = core.sha256(token)
  local entry = kept(self, digest)
  if entry then
    return entry.claims
  end
  return self._flights:run(function()
    local ok, claims, err = pcall(ask, self, digest, token)
    if not ok then
      return nil, (errors.from(claims))
    end
    return claims, err
  end, digest)
end

-- Returns copies: handlers may change them.
local function copied(value)
  if type(value) ~= "table" then
    return value
  end
  local copy = members.mark({}, value)
  for name, each in pairs(value) do
    copy[name] = copied(each)
  end
  return copy
end

--- Asks the authorization server about a token. May wait.
---@param token string
---@return table|false|nil claims  false: the token is invalid; a copy
---@return operations.Error? err  UNAVAILABLE
function Introspection:claims(token)
  local claims, err = claims_of(self, token)
  return copied(claims), err
end

--- The error in the options, or nil.
---@param given table
---@return string?
function introspection.flaw(given)
  local problem = endpoint.problem(given.endpoint)
  return problem and "endpoint: " .. problem or client.problem(given)
end

---@param given operations.oauth.IntrospectionOptions
---@param transport operations.oauth.Transport
---@return operations.oauth.Introspection
function introspection.new(given, transport)
  return setmetatable({ _options = given, _transport = transport, _recent = {}, _earlier = {}, _count = 0,
    _flights = single_flight.new() }, Introspection)
end

return introspection
