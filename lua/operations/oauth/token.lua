--- A source of access tokens that needs nobody at a browser: client credentials (RFC 6749, 4.4) or a refresh token
--- (section 6). Tokens are kept until shortly before they expire; of callers at the same time one asks, all get it.
local client = require("operations.oauth.client")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local grant = require("operations.oauth.grant")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local options = require("operations.oauth.options")
local single_flight = require("operations.task.single_flight")

local token = {}

---@class operations.oauth.TokenOptions: operations.oauth.Client, operations.oauth.Transport
---@field token_endpoint string  https, or http on this machine
---@field refresh_token? string  the grant; client credentials when absent
---@field scope? string|string[]
---@field resource? string|string[]  whom the token is for (RFC 8707)
---@field params? table<string, string>  further fields that the server wants, such as `audience`
---@field on_token? fun(token: operations.oauth.Token)  told of every new one: a refresh token may have been replaced

---@class operations.oauth.TokenSource
---@field _options operations.oauth.TokenOptions
---@field _token? operations.oauth.Token
---@field _flight operations.SingleFlight
local Source = {}
Source.__index = Source
Source.__name = "operations.oauth.token_source"

local kinds = {
  token_endpoint = "string", client_id = "string", client_secret = "string", client_auth = "string or function",
  refresh_token = "string", scope = "string or table", resource = "string or table", params = "table",
  on_token = "function",
}

--- Is the token good for a request that is sent now?
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

local function ask(self)
  local held, given = self._token, self._options
  if held and not held.refused and token.is_fresh(held) then
    return held
  end
  local fresh, err = grant.request(given.token_endpoint, given, fields_of(given, held), given)
  if not fresh then
    return nil, err
  end
  self._token = fresh
  if given.on_token then
    given.on_token(fresh)
  end
  return fresh
end

--- An access token that is good now; waits for one when there is none.
---@return string? access_token  goes into `Authorization: Bearer`
---@return operations.Error? err
function Source:get()
  local held = self._token
  if held and not held.refused and token.is_fresh(held) then
    return held.access_token
  end
  local fresh, err = self._flight:run(function()
    return ask(self)
  end)
  if not fresh then
    return nil, err
  end
  return fresh.access_token
end

--- A server did not accept this token: `get` asks for another, unless it has one already.
---@param access_token string
function Source:refuse(access_token)
  if self._token and self._token.access_token == access_token then
    self._token.refused = true
  end
end

--- Makes a source of tokens. Misuse of the options raises; nothing is sent before `get`.
---@param given operations.oauth.TokenOptions
---@return operations.oauth.TokenSource
function token.source(given)
  local copy = options.check("token.source", given, kinds, { "token_endpoint", "client_id" })
  local problem = endpoint.problem(copy.token_endpoint)
  problem = problem and "token_endpoint: " .. problem or client.problem(copy)
  if problem then
    error("token.source: " .. problem, 2)
  end
  return setmetatable({ _options = copy, _flight = single_flight.new() }, Source)
end

return token
