--- One exchange at a token endpoint: a grant for a token (RFC 6749, 4.1.3, 4.4.2, 5 and 6).
local client = require("operations.oauth.client")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local members = require("operations.base.members")
local secrets = require("operations.base.secrets")
local url = require("operations.base.url")

local grant = {}

---@class operations.oauth.Token
---@field access_token string
---@field expires_at? integer  ms since the epoch; nil when the server did not say
---@field lifetime? number  ms
---@field refresh_token? string
---@field scope? string  what was granted; when the server said nothing, what was asked for

-- What the answer's `expires_in` says, in ms; some servers send a string.
local function lifetime_of(answer)
  local seconds = tonumber(answer.expires_in)
  return seconds and seconds >= 0 and seconds < 1e9 and math.floor(seconds * 1000) or nil
end

local function is_text(value)
  return type(value) == "string" and value ~= ""
end

-- What is wrong with an answer that is no error.
local function problem_of(answer)
  local token, kind = answer.access_token, answer.token_type
  if not is_text(token) then
    return "answered without an access token"
  elseif token:find("[^\33-\126]") then
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

-- The values that no error may repeat.
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

--- Asks for a token.
---@param address string  the token endpoint
---@param who operations.oauth.Client
---@param fields table<string, string|string[]>  `grant_type` and what belongs to it
---@param transport operations.oauth.Transport
---@return operations.oauth.Token?
---@return operations.Error? err  `details.kind` is "oauth" for what the server said, with its `details.error` such as
---  "invalid_grant"; else that of the HTTP client
function grant.request(address, who, fields, transport)
  local headers, sent = {}, members.merged(fields)
  local ok, err = client.authenticate(who, sent, headers)
  if not ok then
    return nil, err or endpoint.failure("the client's own proof failed")
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

return grant
