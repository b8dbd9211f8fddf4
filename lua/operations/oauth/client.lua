--- A client of an authorization server: how it authenticates (RFC 6749, 2.3), and where it comes from: configured,
--- described in a document that the server reads (client id metadata documents), or registered now (RFC 7591).
--- Credentials from an issuer are sent to that issuer only.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local json = require("operations.base.json")
local members = require("operations.base.members")
local stores = require("operations.oauth.store")
local url = require("operations.base.url")

local client = {}

-- Authentication.

---@alias operations.oauth.Proof fun(fields: table, headers: table): boolean?, operations.Error?  adds a proof of the
---  client's identity, such as a signed JWT (RFC 7523), to the form or the headers of a request

---@class operations.oauth.Client
---@field client_id string
---@field client_secret? string
---@field client_auth? "client_secret_basic"|"client_secret_post"|"none"|operations.oauth.Proof  default: basic with a
---  secret, none without

local methods = {}

-- Both parts are percent-encoded first, as in forms.
function methods.client_secret_basic(self, _, headers)
  headers.Authorization = "Basic "
    .. base64.encode(url.encode(self.client_id) .. ":" .. url.encode(self.client_secret or ""))
end

function methods.client_secret_post(self, fields)
  fields.client_id, fields.client_secret = self.client_id, self.client_secret
end

function methods.none(self, fields)
  fields.client_id = self.client_id
end

local function method_of(self)
  return self.client_auth or (self.client_secret and "client_secret_basic" or "none")
end

--- The error in a client's registration, or nil.
---@param self table
---@return string?
function client.problem(self)
  local method = method_of(self)
  if type(self.client_id) ~= "string" then
    return ("client_id: expected a string, got %s"):format(type(self.client_id))
  elseif type(method) == "function" then
    return nil
  elseif not methods[method] then
    return ("client_auth: unknown method %q"):format(tostring(method))
  elseif method ~= "none" and type(self.client_secret) ~= "string" then
    return ("client_auth: %s needs a client_secret"):format(method)
  end
end

--- Adds the client's id and proof to a request.
---@param self operations.oauth.Client
---@param fields table  of the form
---@param headers table
---@return boolean? ok
---@return operations.Error? err
function client.authenticate(self, fields, headers)
  local method = method_of(self)
  if type(method) == "function" then
    fields.client_id = self.client_id
    return method(fields, headers)
  end
  methods[method](self, fields, headers)
  return true
end

-- Registration.

-- The first method that both sides support; with a secret, one that uses it.
local function method_for(has_secret, server)
  local offered = server.auth_methods or { "client_secret_basic" } -- the default of RFC 8414
  for _, method in ipairs(has_secret and { "client_secret_basic", "client_secret_post" } or {}) do
    if members.contains(offered, method) then
      return method
    end
  end
  return "none"
end

-- The client from the options for this issuer: a table, or the result of a function.
local function known(options, server)
  local given, err = options.client, nil
  if type(given) == "function" then
    given, err = given(server.issuer)
  end
  if err or not given then
    return nil, err
  elseif client.problem(given) then
    return nil, endpoint.failure("the option 'client': " .. client.problem(given))
  elseif given.issuer and given.issuer ~= server.issuer then
    return nil, endpoint.failure(("the client is registered with %s, and the server is now protected by %s"):format(
      url.redact(given.issuer), url.redact(server.issuer)))
  end
  return {
    client_id = given.client_id, client_secret = given.client_secret,
    client_auth = given.client_auth or method_for(given.client_secret ~= nil, server),
  }
end

-- OpenID Connect Registration: a program on the user's machine is native.
local function application_type(redirect_uri)
  local parsed = url.parse(redirect_uri)
  return parsed and parsed.scheme == "https" and not url.is_loopback(parsed.host) and "web" or "native"
end

-- `scope`: some servers refuse scopes that were not registered.
local function request_of(options, server, scope)
  local offered = server.auth_methods
  local method = nil -- the server's default
  for _, candidate in ipairs({ "client_secret_post", "client_secret_basic", "none" }) do
    method = offered and members.contains(offered, candidate) and candidate or method
  end
  return {
    client_name = options.client_name or "operations for Lua", client_uri = options.client_uri,
    redirect_uris = { options.redirect_uri }, application_type = application_type(options.redirect_uri),
    grant_types = { "authorization_code", "refresh_token" }, response_types = { "code" },
    token_endpoint_auth_method = method, scope = scope,
  }
end

local function client_of(answer, request, server)
  local secret = type(answer.client_secret) == "string" and answer.client_secret or nil
  local method = answer.token_endpoint_auth_method
  if not methods[method] then
    method = request.token_endpoint_auth_method
  end
  local expires = tonumber(answer.client_secret_expires_at)
  return {
    client_id = answer.client_id,
    client_secret = secret,
    client_auth = method or method_for(secret ~= nil, server),
    expires_at = secret and expires and expires > 0 and expires * 1000 or nil,
    redirect_uri = request.redirect_uris[1],
  }
end

local function register(options, server, scope)
  local request = request_of(options, server, scope)
  local answer, err = endpoint.post(server.registration_endpoint, options, {
    headers = { ["Content-Type"] = "application/json" }, body = json.encode(request), secrets = {},
  })
  if not answer then
    return nil, err
  elseif type(answer.client_id) ~= "string" or answer.client_id == "" then
    return nil, endpoint.failure(url.redact(server.registration_endpoint) .. ": answered without a client_id")
  end
  local made = client_of(answer, request, server)
  if made.client_auth ~= "none" and not made.client_secret then
    return nil, endpoint.failure(("%s: asks for %s and gave no client_secret"):format(
      url.redact(server.registration_endpoint), made.client_auth))
  end
  return made
end

local function key_of(issuer)
  return "client " .. issuer
end

--- The parts of a server's metadata that a registration depends on, as a text to compare.
---@param server operations.oauth.Server
---@return string
function client.basis(server)
  return table.concat({ server.registration_endpoint or "", server.authorization_endpoint or "",
    server.token_endpoint or "", table.concat(server.auth_methods or {}, " ") }, "\n")
end

-- A client that was registered before, if it is still valid.
local function remembered(options, server)
  local held = options.store.load(key_of(server.issuer))
  local good = type(held) == "table" and not client.problem(held) and held.redirect_uri == options.redirect_uri
    and (not held.expires_at or core.now() < held.expires_at)
  return good and held or nil
end

--- Deletes a registration.
---@param options operations.oauth.AuthorizerOptions
---@param issuer string
---@return boolean existed
function client.forget(options, issuer)
  local existed = options.store.load(key_of(issuer)) ~= nil
  options.store.save(key_of(issuer), nil)
  return existed
end

-- The registered client; registers one if there is none.
local function registered(options, server, scope)
  local found, err = remembered(options, server), nil
  if not found then
    found, err = register(options, server, scope)
    if found then
      options.store.save(key_of(server.issuer), found)
    end
  end
  return found, err
end

--- The client for an authorization server.
---@param options operations.oauth.AuthorizerOptions
---@param server operations.oauth.Server
---@param scope? string  to be requested
---@return operations.oauth.Client?
---@return operations.Error? err
function client.of(options, server, scope)
  local found, err = known(options, server)
  if found or err then
    return found, err
  elseif server.takes_metadata_urls and options.client_metadata_url then
    return { client_id = options.client_metadata_url, client_auth = "none" }
  end
  found = remembered(options, server)
  if found then
    return found
  elseif not (server.registration_endpoint and options.redirect_uri) then
    return nil, endpoint.failure(("no client is known for %s: pass a registered one (option 'client')"):format(
      url.redact(server.issuer)))
  end
  return stores.alone(options.store, key_of(server.issuer), registered, options, server, scope)
end

return client
