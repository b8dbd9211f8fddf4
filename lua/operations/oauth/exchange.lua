--- Token exchange (RFC 8693): for each caller of a server a token of another API, in exchange for the token that the
--- caller has sent. The caller's own token never reaches that API.
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local lru = require("operations.base.lru")
local members = require("operations.base.members")
local options = require("operations.oauth.options")
local single_flight = require("operations.task.single_flight")
local tokens = require("operations.oauth.token")

local exchange = {}

local GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
local ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"

-- The tokens that callers have sent, by their identities: no field, so that no log, message or handler has one.
local sent = setmetatable({}, { __mode = "k" })

--- Remembers the token of a caller while its identity is in use.
---@param identity operations.Identity
---@param token string
---@return operations.Identity
function exchange.of_caller(identity, token)
  sent[identity] = token
  return identity
end

---@class operations.oauth.ExchangeOptions: operations.oauth.Client, operations.oauth.Transport
---@field token_endpoint string  https, or http on this machine
---@field audience? string  the API that the tokens are for
---@field resource? string|string[]  the same as a URL (RFC 8707)
---@field scope? string|string[]
---@field subject? fun(context: operations.Context): string?, operations.Error?  the caller's token; default: the one
---  that `resource_server` has checked
---@field subject_token_type? string  default: that of an access token
---@field requested_token_type? string
---@field params? table<string, string>  further fields of the request, such as `actor_token`

---@class operations.oauth.TokenExchange
---@field _options operations.oauth.ExchangeOptions
---@field _tokens operations.Lru  by the digest of the caller's token
---@field _flight operations.SingleFlight
local Exchange = {}
Exchange.__index = Exchange
Exchange.__name = "operations.oauth.token_exchange"

local kinds = {
  audience = "string", subject = "function", subject_token_type = "string", requested_token_type = "string",
}

local function subject_of(self, context)
  local identity = type(context) == "table" and context.identity or nil
  if self._options.subject then
    return self._options.subject(context)
  end
  return identity and sent[identity]
end

local function ask(self, subject, digest)
  local given = self._options
  local held, err = tokens.request(given.token_endpoint, given, members.merged(given.params, { grant_type = GRANT,
    subject_token = subject, subject_token_type = given.subject_token_type or ACCESS_TOKEN,
    requested_token_type = given.requested_token_type, audience = given.audience, resource = given.resource,
    scope = options.scope(given.scope) }), given)
  if not held then
    return nil, err
  end
  held.refresh_token = nil -- the caller's next token is exchanged instead
  held.lifetime = held.lifetime or limits.oauth_exchanged
  held.expires_at = held.expires_at or core.now() + held.lifetime
  self._tokens:put(digest, held)
  return held
end

--- The token for the caller of an operation; exchanged once for each token of the caller, and kept until shortly before
--- it expires.
---@param context operations.Context
---@return string? access_token
---@return operations.Error? err  ACCESS_DENIED: the caller has sent no token
---@return string? key  for `refuse`
function Exchange:get(context)
  local subject, err = subject_of(self, context)
  if type(subject) ~= "string" or subject == "" then
    return nil, err or errors.new("ACCESS_DENIED", "the caller has sent no token that could be exchanged")
  end
  local digest = core.sha256(subject)
  local held = self._tokens:get(digest)
  if not held or not tokens.is_fresh(held) then
    held, err = self._flight:run(function()
      return ask(self, subject, digest)
    end, digest)
  end
  return held and held.access_token, err, digest
end

--- The API did not accept a token: the next `get` of this caller exchanges again.
---@param access_token string
---@param key string  from `get`
function Exchange:refuse(access_token, key)
  local held = self._tokens:get(key)
  if held and held.access_token == access_token then
    self._tokens:remove(key)
  end
end

--- Makes an exchange. Wrong options raise; nothing is sent before `get`.
---@param given operations.oauth.ExchangeOptions
---@return operations.oauth.TokenExchange
function exchange.new(given)
  return setmetatable({ _options = options.request("token_exchange", given, kinds),
    _tokens = lru.new(limits.oauth_exchanges), _flight = single_flight.new() }, Exchange)
end

return exchange
