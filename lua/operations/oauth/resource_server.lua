--- Identifies a caller by its access token, for `authorize` of a server. Tokens are JWTs, whose signatures and claims
--- are checked here (RFC 9068, RFC 8725), or opaque ones, which the authorization server checks.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local exchange = require("operations.oauth.exchange")
local errors = require("operations.base.error")
local introspection = require("operations.oauth.introspection")
local jwk = require("operations.oauth.jwk")
local jwt = require("operations.oauth.jwt")
local key_set = require("operations.oauth.key_set")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local options = require("operations.oauth.options")

local resource_server = {}

---@class operations.oauth.ResourceServerOptions: operations.oauth.Transport
---@field issuer string  of the authorization server, as in its tokens
---@field audience string|string[]  of tokens for this server: its URL or name, or a list of which one must match
---@field jwks_uri? string  the URL of the issuer's keys; default: from its metadata
---@field jwks? table  the keys themselves: `{ keys = { ... } }`
---@field introspection? operations.oauth.IntrospectionOptions  asks about each token (RFC 7662) instead of using keys;
---  `audience` may then be absent if the server does not return it
---@field algorithms? string[]  accepted algorithms; default: RS, PS and ES 256 to 512, and EdDSA
---@field typ? string  required type, such as "at+jwt"; default: "at+jwt", "JWT" or none
---@field scopes_claim? string|fun(claims: table): string|string[]|nil  the claim with the scopes; default: "scope",
---  else "scp"
---@field leeway? number  seconds that clocks may differ, default 60
---@field resource? string  the URL of the server, for clients that look for its authorization server (RFC 9728);
---  default: the audience, if it is a URL
---@field scopes? string[]  scopes that clients may request, published with it
---@field authorization_endpoint? string  with `token_endpoint`: shown in the OpenAPI document
---@field token_endpoint? string

local kinds = {
  issuer = "string", audience = "string or table", jwks_uri = "string", jwks = "table", introspection = "table",
  algorithms = "table", typ = "string", scopes_claim = "string or function", leeway = "number", resource = "string",
  scopes = "table", authorization_endpoint = "string", token_endpoint = "string",
}

---@class operations.oauth.ResourceServer  called with a request: `identity | nil, reason`
---@field issuer string
---@field metadata? operations.ResourceMetadata  what to_http and to_mcp publish
---@field endpoints? { authorization: string, token: string }
local ResourceServer = {}
ResourceServer.__index = ResourceServer

local function scopes_of(self, claims)
  local claim = self._scopes_claim
  if type(claim) == "function" then
    return jwt.scopes(claim(claims))
  elseif claim then
    return jwt.scopes(claims[claim])
  end
  return jwt.scopes(claims.scope ~= nil and claims.scope or claims.scp)
end

local function is_name(value)
  return type(value) == "string" and value ~= ""
end

local function identity_of(self, claims)
  local id = is_name(claims.sub) and claims.sub or is_name(claims.client_id) and claims.client_id
  if not id then
    return nil, "the token names no subject (sub)"
  end
  return { id = id, issuer = is_name(claims.iss) and claims.iss or self.issuer, scopes = scopes_of(self, claims),
    claims = claims }
end

local function introspect(self, token)
  if #token > limits.jwt then
    return nil, ("the token is longer than %d bytes"):format(limits.jwt)
  end
  local claims, err = self._introspection:claims(token)
  if not claims then
    return nil, err or "the token is not valid"
  end
  local flaw = jwt.flaw(claims, self._rules, core.now() / 1000)
  return not flaw and claims or nil, flaw
end

-- The token of a request; nil: no credentials; nil and the problem: invalid ones.
local function token_of(request)
  local given = request.headers and request.headers.authorization
  if request.token or not given then
    return request.token
  end
  local token = given:match("^[Bb][Ee][Aa][Rr][Ee][Rr] +([^ ]+)$")
  return token, not token and "Authorization: Bearer and one token expected" or nil
end

-- The digest of the client's certificate as in `x5t#S256`; nil without one, as behind a proxy that ends TLS.
local function thumbprint_of(request)
  local peer = request.peer and request.peer.tls
  local fingerprint = type(peer) == "table" and peer.fingerprint
  return fingerprint and base64.encode_url((fingerprint:gsub("%x%x", function(digits)
    return string.char(tonumber(digits, 16))
  end)))
end

-- The error in the key that a token is bound to (RFC 7800), or nil: only that of the client's certificate can be
-- compared (RFC 8705, 3). A token that is bound to any other key is not a bearer token, so it is refused.
local function binding_flaw(cnf, request)
  if cnf == nil then
    return nil
  end
  local name, wanted = nil, nil
  if core.kind(cnf) == "object" then
    name, wanted = next(cnf)
  end
  if name ~= "x5t#S256" or next(cnf, name) ~= nil then
    return "the token is bound to a key in a way that cannot be checked (cnf)"
  elseif type(wanted) ~= "string" or wanted ~= thumbprint_of(request) then
    return "the token is bound to another certificate than the client's (cnf)"
  end
end

function ResourceServer:__call(request)
  local token, flaw = token_of(request)
  if not token then
    return nil, flaw
  end
  local claims, reason
  if self._introspection then
    claims, reason = introspect(self, token)
  else
    claims, reason = jwt.verify(token, self._rules, self._find, core.now() / 1000)
  end
  reason = claims and binding_flaw(claims.cnf, request) or reason
  if not claims or reason then
    return nil, reason
  end
  local identity, problem = identity_of(self, claims)
  return identity and exchange.of_caller(identity, token), problem
end

local function audiences_of(audience)
  return audience and members.set(type(audience) == "table" and audience or { audience })
end

-- The error in options of the right types, or nil.
local function flaw_of(given)
  local sources = 0
  for _, name in ipairs({ "jwks_uri", "jwks", "introspection" }) do
    sources = sources + (given[name] ~= nil and 1 or 0)
  end
  for _, name in ipairs(given.algorithms or {}) do
    if not members.contains(jwk.algorithms, name) then
      return ("algorithms: %s expected, got %q"):format(table.concat(jwk.algorithms, ", "), tostring(name))
    end
  end
  if sources > 1 then
    return "one of jwks_uri, jwks and introspection expected"
  elseif given.audience == nil and not given.introspection or type(given.audience) == "table" and not given.audience[1]
  then
    return "audience: what tokens for this server are for expected"
  elseif given.leeway and not (given.leeway >= 0 and given.leeway <= 3600) then
    return "leeway: 0 to 3600 seconds expected"
  end
  for _, name in ipairs({ "jwks_uri", "authorization_endpoint", "token_endpoint" }) do
    local problem = given[name] and endpoint.problem(given[name])
    if problem then
      return ("%s: %s"):format(name, problem)
    end
  end
  local problem = given.introspection and introspection.flaw(given.introspection)
  return problem and "introspection." .. problem
    or not given.jwks_uri and not given.jwks and not given.introspection and endpoint.problem(given.issuer)
    and "issuer: " .. endpoint.problem(given.issuer)
    or given.algorithms and not given.algorithms[1] and "algorithms: at least one expected" or nil
end

local function metadata_of(given)
  local resource = given.resource or type(given.audience) == "string" and given.audience
  if resource and resource:find("^https?://[^/?#]+") then
    return { resource = resource, authorization_servers = { given.issuer }, scopes_supported = given.scopes }
  end
end

-- Selects how tokens are checked: by keys, or by asking the server.
local function connect(self, given)
  local transport = { http = given.http, timeout = given.timeout or limits.jwks_timeout, ca_file = given.ca_file,
    proxy = given.proxy, public_only = given.public_only }
  if given.introspection then
    self._introspection = introspection.new(given.introspection, transport)
    return
  elseif not jwk.has_crypto then
    error(errors.new("UNAVAILABLE", "operations.crypto is not built: it needs the headers of OpenSSL 3"))
  end
  local keys, flaw
  if given.jwks then
    keys, flaw = key_set.fixed(given.jwks)
  else
    keys = key_set.remote(given.issuer, given.jwks_uri, transport)
  end
  if not keys then
    error(("bad option 'jwks' to 'resource_server' (%s)"):format(flaw), 3)
  end
  self._find = function(algorithm, kid)
    return keys:find(algorithm, kid)
  end
end

--- Makes the `authorize` function of a server whose callers have tokens from an authorization server. The identity is
--- `{ id = sub, scopes, claims }`. Wrong options raise.
---@param given operations.oauth.ResourceServerOptions
---@return operations.oauth.ResourceServer
function resource_server.new(given)
  local checked = options.check("resource_server", given, kinds, { "issuer" })
  local flaw = flaw_of(checked)
  if flaw then
    error(("bad options to 'resource_server' (%s)"):format(flaw), 2)
  end
  local is_jwt = checked.introspection == nil
  local self = setmetatable({ issuer = checked.issuer, metadata = metadata_of(checked),
    endpoints = checked.authorization_endpoint and checked.token_endpoint and {
      authorization = checked.authorization_endpoint, token = checked.token_endpoint } or nil,
    _scopes_claim = checked.scopes_claim,
    _rules = { algorithms = members.set(checked.algorithms or jwk.algorithms), typ = checked.typ
      and checked.typ:lower():gsub("^application/", "") or nil, issuer = checked.issuer, complete = is_jwt,
      audiences = audiences_of(checked.audience), leeway = checked.leeway or limits.token_leeway } }, ResourceServer)
  connect(self, checked)
  return self
end

return resource_server
