--- Callers with fixed credentials, for `authorize` of a server. Credentials are looked up by their digests, so that the
--- time reveals nothing about them.
local argument = require("operations.base.argument")
local base64 = require("operations.base.base64")
local core = require("operations.core")

local static = {}

local function check(identity, name, level)
  if type(identity) ~= "table" then
    error(("bad argument #1 to '%s' (an identity expected for each, got %s)"):format(name, type(identity)), level + 1)
  end
end

--- Makes the `authorize` function of a server whose callers have fixed tokens.
---@param tokens table<string, operations.Identity>  by token
---@return fun(request: operations.ServerRequest): operations.Identity?, string?
function static.tokens(tokens)
  argument.expect(tokens, "table", 1, "static_tokens")
  local identities = {}
  for token, identity in pairs(tokens) do
    check(identity, "static_tokens", 2)
    if type(token) ~= "string" or #token < 1 then
      error("bad argument #1 to 'static_tokens' (a token expected as key)", 2)
    end
    identities[core.sha256(token)] = identity
  end
  return function(request)
    local given = request.headers and request.headers.authorization
    local token = request.token
    if token then
      local identity = identities[core.sha256(token)]
      return identity, not identity and "unknown token" or nil
    end
    return nil, given and "Authorization: Bearer and one token expected" or nil
  end
end

---@class operations.oauth.User
---@field password string
---@field identity operations.Identity

---@class operations.oauth.Basic  called with a request: `identity | nil, reason`
---@field challenge string  for WWW-Authenticate of refusals
---@field scheme "basic"  of the OpenAPI document
---@field _identities table<string, operations.Identity>  by the digest of "user:password"
local Basic = {}
Basic.__index = Basic

function Basic:__call(request)
  local given = request.headers and request.headers.authorization
  if not given then
    return nil
  end
  local encoded = given:match("^[Bb][Aa][Ss][Ii][Cc] +([^ ]+)$")
  local pair = encoded and base64.decode(encoded)
  if not pair then
    return nil, "Authorization: Basic, with user and password in base64, expected"
  end
  local identity = self._identities[core.sha256(pair)]
  return identity, not identity and "unknown user or wrong password" or nil
end

local function is_text(value, unfit)
  return type(value) == "string" and value ~= "" and not value:find(unfit)
end

-- The error in a user, or nil (RFC 7617, 2).
local function flaw_of(name, user)
  if not is_text(name, "[%c:]") then
    return ("a name without colons and control characters expected as key, got %s"):format(tostring(name))
  elseif type(user) ~= "table" or not is_text(user.password, "%c") then
    return ("%s: { password =, identity = } expected, the password without control characters"):format(name)
  end
end

--- Makes the `authorize` function of a server whose callers have names and passwords (Basic, RFC 7617), in UTF-8. Use
--- it only with TLS: every request has the password.
---@param users table<string, operations.oauth.User>  by name
---@param options? { realm: string? }  shown by browsers that ask for the password; default "operations"
---@return operations.oauth.Basic
function static.basic(users, options)
  argument.expect(users, "table", 1, "basic")
  argument.optional(options, "table", 2, "basic")
  argument.options(options or {}, { realm = "string" }, "basic")
  local realm, identities = options and options.realm or "operations", {}
  if realm:find("[^\32-\126]") then
    error("bad option 'realm' to 'basic' (printable ASCII characters expected)", 2)
  end
  for name, user in pairs(users) do
    local flaw = flaw_of(name, user)
    if flaw then
      error(("bad argument #1 to 'basic' (%s)"):format(flaw), 2)
    end
    check(user.identity, "basic", 2)
    identities[core.sha256(name .. ":" .. user.password)] = user.identity
  end
  return setmetatable({ scheme = "basic", _identities = identities,
    challenge = ('Basic realm="%s", charset="UTF-8"'):format((realm:gsub('["\\]', "\\%0"))) }, Basic)
end

return static
