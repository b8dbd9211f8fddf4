--- Tokens: one exchange at a token endpoint (RFC 6749, 4.1.3, 4.4.2, 5 and 6), and a source of tokens that needs no
--- user: client credentials (4.4) or a refresh token (6). Tokens are kept until shortly before they expire; concurrent
--- callers share one request.
local client = require("operations.oauth.client")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local options = require("operations.oauth.options")
local secrets = require("operations.base.secrets")
local single_flight = require("operations.task.single_flight")
local url = require("operations.base.url")

local token = {}

-- Exchange.

---@class operations.oauth.Token
---@field access_token string
---@field expires_at? integer  ms since the epoch; nil if unknown
---@field lifetime? number  ms
---@field refresh_token? string
---@field scope? string  granted scopes; the requested ones if the server did not say

-- The answer's `expires_in`, in ms; some servers send a string.
local function lifetime_of(answer)
  local seconds = tonumber(answer.expires_in)
  return seconds and seconds >= 0 and seconds < 1e9 and math.floor(seconds * 1000) or nil
end

local function is_text(value)
  return type(value) == "string" and value ~= ""
end

-- The error in a successful answer, or nil.
local function problem_of(answer)
  local access_token, kind = answer.access_token, answer.token_type
  if not is_text(access_token) then
    return "answered without an access token"
  elseif access_token:find("[^\33-\126]") then
    return "answered an access token that no header can carry"
  elseif is_text(kind) and kind:lower() ~= "bearer" then
    return "answered a token of another type than Bearer"
  end
end

local function token_of(answer, fields)
  local lifetime = lifetime_of(answer)
  return {
    access_token = answer.access_token,
    lifetime = lifetime,
    expires_at = lifetime and core.now() + lifetime,
    refresh_token = is_text(answer.refresh_token) and answer.refresh_token or fields.refresh_token,
    scope = type(answer.scope) == "string" and answer.scope or fields.scope,
  }
end

local public = {
  grant_type = true, scope = true, resource = true, audience = true, redirect_uri = true, client_id = true,
  subject_token_type = true, requested_token_type = true, client_assertion_type = true,
}

-- The values that errors must not show.
local function secrets_of(who, fields)
  local list = {}
  secrets.add(list, who.client_secret)
  for name, value in pairs(fields) do
    if not public[name] then
      secrets.add(list, value)
    end
  end
  return list
end

--- Requests a token.
---@param address string  the token endpoint
---@param who operations.oauth.Client
---@param fields table<string, string|string[]>  `grant_type` and its fields
---@param transport operations.oauth.Transport
---@return operations.oauth.Token?
---@return operations.Error? err  `details.kind` is "oauth" for a refusal of the server, with its `details.error` such
---  as "invalid_grant"; else that of the HTTP client
function token.request(address, who, fields, transport)
  local headers, sent = {}, members.merged(fields)
  local ok, err = client.authenticate(who, sent, headers)
  if not ok then
    return nil, err or endpoint.failure("the client's proof failed")
  end
  local answer
  answer, err = endpoint.post_form(address, transport, sent, { headers = headers, secrets = secrets_of(who, sent) })
  if not answer then
    return nil, err
  end
  local problem = problem_of(answer)
  if problem then
    return nil, endpoint.failure(("%s: %s"):format(url.redact(address), problem))
  end
  return token_of(answer, fields)
end

-- Source.

---@class operations.oauth.TokenOptions: operations.oauth.Client, operations.oauth.Transport
---@field token_endpoint string  https, or http on this machine
---@field refresh_token? string  the grant; client credentials when absent
---@field scope? string|string[]
---@field resource? string|string[]  the audience of the token (RFC 8707)
---@field params? table<string, string>  further fields of the request, such as `audience`
---@field on_token? fun(token: operations.oauth.Token)  called with every new token: its refresh token may be new

---@class operations.oauth.TokenSource
---@field _options operations.oauth.TokenOptions
---@field _token? operations.oauth.Token
---@field _flight operations.SingleFlight
local Source = {}
Source.__index = Source
Source.__name = "operations.oauth.token_source"

local kinds = { refresh_token = "string", on_token = "function" }

--- Is the token valid for a request that is sent now?
---@param held operations.oauth.Token
---@return boolean
function token.is_fresh(held)
  if not held.expires_at then
    return true
  end
  local margin = math.min(limits.oauth_margin, (held.lifetime or math.huge) / 10)
  return core.now() < held.expires_at - margin
end

local function fields_of(self, held)
  local fields = members.merged(self.params)
  fields.scope, fields.resource = options.scope(self.scope), self.resource
  if self.refresh_token then
    fields.grant_type, fields.refresh_token = "refresh_token", held and held.refresh_token or self.refresh_token
  else
    fields.grant_type = "client_credentials"
  end
  return fields
end

local function good_token(self)
  local held = self._token
  return held and not held.refused and token.is_fresh(held) and held or nil
end

local function ask(self)
  local held, given = good_token(self), self._options
  if held then
    return held
  end
  local fresh, err = token.request(given.token_endpoint, given, fields_of(given, self._token), given)
  if not fresh then
    return nil, err
  end
  self._token = fresh
  if given.on_token then
    given.on_token(fresh)
  end
  return fresh
end

--- A valid access token; waits for a new one if necessary.
---@return string? access_token  for `Authorization: Bearer`
---@return operations.Error? err
function Source:get()
  local held, err = good_token(self), nil
  if not held then
    held, err = self._flight:run(function()
      return ask(self)
    end)
  end
  return held and held.access_token, err
end

--- The server rejected this token: `get` requests another one, unless it already has one.
---@param access_token string
function Source:refuse(access_token)
  if self._token and self._token.access_token == access_token then
    self._token.refused = true
  end
end

--- Makes a source of tokens. Wrong options raise; nothing is sent before `get`.
---@param given operations.oauth.TokenOptions
---@return operations.oauth.TokenSource
function token.source(given)
  return setmetatable({ _options = options.request("token.source", given, kinds), _flight = single_flight.new() },
    Source)
end

return token
