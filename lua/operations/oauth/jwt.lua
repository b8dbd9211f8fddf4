--- JSON Web Tokens (RFC 7519) in the compact form of JWS (RFC 7515), verified as RFC 8725 and RFC 9068 require: the
--- algorithm is allowed and fits the key, the token cannot bring its own key, and all required claims are present.
local base64 = require("operations.base.base64")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")

local jwt = {}

local DECODING = { max_depth = 16, unique = true }

-- Reads a part that must be a JSON object.
local function object(part)
  local text = base64.decode_url(part)
  local value = text and json.decode(text, DECODING)
  if type(value) ~= "table" or getmetatable(value) == json.array_mt then
    return nil
  end
  return value
end

-- "application/at+jwt" and "AT+JWT" are "at+jwt" (RFC 7515, 4.1.9).
local function type_of(header)
  return type(header.typ) == "string" and header.typ:lower():gsub("^application/", "") or nil
end

-- The error in a header, or nil.
local function header_flaw(header, rules)
  local typ = type_of(header)
  if header.crit ~= nil then
    return "the token has critical header parameters (crit), and none is supported"
  elseif type(header.alg) ~= "string" or not rules.algorithms[header.alg] then
    return "the token is signed by an algorithm that is not accepted"
  elseif header.kid ~= nil and type(header.kid) ~= "string" then
    return "the token's kid is not a string"
  elseif rules.typ and typ ~= rules.typ
    or header.typ ~= nil and not rules.typ and typ ~= "at+jwt" and typ ~= "jwt" then
    return "the token is of another type (typ) than an access token"
  end
end

local function is_time(value)
  return type(value) == "number" and value >= 0 and value < 1e15
end

local function time_flaw(claims, rules, now)
  local leeway = rules.leeway
  if claims.exp == nil and rules.complete then
    return "the token has no end (exp)"
  end
  for _, name in ipairs({ "exp", "nbf", "iat" }) do
    if claims[name] ~= nil and not is_time(claims[name]) then
      return ("the token's %s is not a time"):format(name)
    end
  end
  if claims.exp and now >= claims.exp + leeway then
    return "the token has expired"
  elseif claims.nbf and now < claims.nbf - leeway then
    return "the token is not valid yet (nbf)"
  elseif claims.iat and now < claims.iat - leeway then
    return "the token was issued in the future (iat)"
  end
end

-- Is the token for one of our audiences?
local function is_for(aud, audiences)
  if type(aud) == "string" then
    return audiences[aud] == true
  end
  for _, each in ipairs(type(aud) == "table" and aud or {}) do
    if type(each) == "string" and audiences[each] then
      return true
    end
  end
  return false
end

---@class operations.oauth.TokenRules
---@field algorithms table<string, true>
---@field typ? string  in lower case; default: at+jwt, jwt or none
---@field issuer? string
---@field audiences? table<string, true>
---@field leeway number  seconds
---@field complete boolean  requires `iss` and `exp`

--- The error in the claims of a token, or nil.
---@param claims table
---@param rules operations.oauth.TokenRules
---@param now number  seconds since the epoch
---@return string?
function jwt.flaw(claims, rules, now)
  if rules.issuer and claims.iss ~= rules.issuer and (claims.iss ~= nil or rules.complete) then
    return "the token is of another issuer (iss)"
  elseif rules.audiences and not is_for(claims.aud, rules.audiences) then
    return "the token is for another audience (aud)"
  end
  return time_flaw(claims, rules, now)
end

-- Does one of the keys verify the signature?
local function is_signed(keys, algorithm, text, signature)
  for _, key in ipairs(keys) do
    if key.key:verify(algorithm, text, signature) then
      return true
    end
  end
  return false
end

--- Verifies a token.
---@param token string
---@param rules operations.oauth.TokenRules
---@param find fun(algorithm: string, kid: string?): operations.oauth.Key[]?, operations.Error?  may wait
---@param now number  seconds since the epoch
---@return table? claims
---@return string|operations.Error|nil flaw  an error when it could not be checked
function jwt.verify(token, rules, find, now)
  if #token > limits.jwt then
    return nil, ("the token is longer than %d bytes"):format(limits.jwt)
  end
  local head, body, tail = token:match("^([%w_-]+)%.([%w_-]+)%.([%w_-]+)$")
  local header = head and object(head)
  local signature = header and base64.decode_url(tail)
  if not signature then
    return nil, "the token is not a signed JWT"
  end
  local flaw = header_flaw(header, rules)
  if flaw then
    return nil, flaw
  end
  local keys, err = find(header.alg, header.kid)
  if not keys then
    return nil, err
  elseif not is_signed(keys, header.alg, head .. "." .. body, signature) then
    return nil, keys[1] and "the token's signature is wrong" or "no key is known that signs such tokens"
  end
  local claims = object(body)
  if not claims then
    return nil, "the token's claims are not a JSON object with members of different names"
  end
  flaw = jwt.flaw(claims, rules, now)
  return not flaw and claims or nil, flaw
end

--- The scopes of claims: a list, or a text with spaces between them (RFC 8693, 4.2).
---@param value any
---@return string[]
function jwt.scopes(value)
  local list = {}
  if type(value) == "string" then
    for scope in value:gmatch("[^ ]+") do
      list[#list + 1] = scope
    end
  end
  for _, scope in ipairs(type(value) == "table" and value or {}) do
    list[#list + 1] = type(scope) == "string" and scope or nil
  end
  return setmetatable(members.joined(list), json.array_mt)
end

return jwt
