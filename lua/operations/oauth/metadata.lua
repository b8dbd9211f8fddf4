--- Finds the authorization server of a server: protected resource metadata (RFC 9728) and authorization server
--- metadata (RFC 8414, OpenID Connect Discovery 1.0), found in the order that MCP prescribes.
local endpoint = require("operations.oauth.endpoint")
local json = require("operations.base.json")
local members = require("operations.base.members")
local url = require("operations.base.url")

local metadata = {}

---@class operations.oauth.Resource
---@field resource string  as published; sent in every token request (RFC 8707)
---@field issuers string[]
---@field scope? string  all supported scopes

---@class operations.oauth.Server  the metadata of an authorization server that is used
---@field issuer string
---@field iss string  the same as its metadata spells it: with or without a slash at the end
---@field authorization_endpoint? string
---@field token_endpoint string
---@field registration_endpoint? string
---@field scopes? string[]
---@field auth_methods? string[]
---@field takes_metadata_urls boolean  supports client id metadata documents
---@field names_issuer boolean  names itself in authorization responses (RFC 9207)
---@field has_s256 boolean  supports PKCE with SHA-256

-- The strings of an array; nil when it is not one.
local function strings(value)
  if type(value) ~= "table" or getmetatable(value) ~= json.array_mt then
    return nil
  end
  local list = {}
  for _, item in ipairs(value) do
    list[#list + 1] = type(item) == "string" and item or nil
  end
  return list
end

-- Scheme and authority of a URL as written, and its path.
local function split(address)
  return address:match("^(%a[%w+.-]*://[^/?#]*)([^?#]*)")
end

--- Do two names mean the same issuer? They are compared letter by letter, but an empty path and "/" are the same: some
--- servers write one in one place and one in another.
---@param a any
---@param b string
---@return boolean
function metadata.same_issuer(a, b)
  local root = "^(%a[%w+.-]*://[^/?#]+)/?$"
  return a == b or type(a) == "string" and a:match(root) ~= nil and a:match(root) == b:match(root)
end

--- Default locations of a server's metadata: at its path, then at the root.
---@param server string
---@return string[]
function metadata.resource_urls(server)
  local origin, path = split(server)
  local root = origin .. "/.well-known/oauth-protected-resource"
  return (path == "" or path == "/") and { root } or { root .. path, root }
end

--- Locations of an issuer's metadata.
---@param issuer string
---@return string[]
function metadata.issuer_urls(issuer)
  local origin, path = split(issuer)
  path = path:gsub("/$", "")
  local urls = {
    origin .. "/.well-known/oauth-authorization-server" .. path,
    origin .. "/.well-known/openid-configuration" .. path,
  }
  urls[3] = path ~= "" and origin .. path .. "/.well-known/openid-configuration" or nil
  return urls
end

-- The first existing document; or nil, the error that left this unknown, and the addresses tried.
local function first(urls, transport)
  local tried = {}
  for _, address in ipairs(urls) do
    local document, err, absent = endpoint.get(address, transport)
    if document then
      return document, nil, nil, address
    elseif not absent then
      return nil, err
    end
    tried[#tried + 1] = ("%s (%s)"):format(url.redact(address), absent)
  end
  return nil, nil, table.concat(tried, ", ")
end

--- Does a resource's name cover the server: the same origin, and the server at its path or below?
---@param resource string
---@param server string
---@return boolean
function metadata.covers(resource, server)
  local a, b = url.parse(resource), url.parse(server)
  if not a or a.fragment or a.userinfo or url.origin(a) ~= url.origin(b) then
    return false
  elseif a.query then
    return a.query == b.query and a.path == b.path
  end
  local path = a.path:gsub("/$", "")
  return b.path == path or b.path:sub(1, #path + 1) == path .. "/"
end

-- The error in a resource's metadata, or nil.
local function resource_problem(document, server)
  if type(document.resource) ~= "string" then
    return "it names no resource"
  elseif not metadata.covers(document.resource, server) then
    return ("it is about another resource, %s"):format(url.redact(document.resource))
  elseif not (strings(document.authorization_servers) or {})[1] then
    return "it names no authorization server"
  end
end

--- Finds the authorization server of a server. A server without metadata is its own, as until 2025-03-26.
---@param server string  its URL
---@param named? string  the metadata's location in its challenge
---@param transport operations.oauth.Transport
---@return operations.oauth.Resource?
---@return operations.Error? err
function metadata.resource(server, named, transport)
  local urls = metadata.resource_urls(server)
  if named and named:find("^%a[%w+.-]*:") then
    urls = { named }
  elseif named then -- a relative reference, which RFC 9728 does not have
    table.insert(urls, 1, url.resolve(server, named))
  end
  local document, err, tried, address = first(urls, transport)
  if err then
    return nil, err
  elseif tried and named then
    return nil, endpoint.failure("no protected resource metadata: tried " .. tried)
  elseif tried then
    return { resource = server:gsub("#.*$", ""), issuers = { (split(server)) } }
  end
  local problem = resource_problem(document, server)
  if problem then
    return nil, endpoint.failure(("protected resource metadata at %s: %s"):format(url.redact(address), problem))
  end
  local scopes = strings(document.scopes_supported)
  return {
    resource = document.resource,
    issuers = strings(document.authorization_servers),
    scope = scopes and scopes[1] and table.concat(scopes, " ") or nil,
  }
end

local endpoints = { "authorization_endpoint", "token_endpoint", "registration_endpoint" }

-- The error in an authorization server's metadata, or nil.
local function server_problem(document, issuer, transport)
  local named = document.issuer
  if not metadata.same_issuer(named, issuer) then
    return ("it is of another issuer, %s"):format(url.redact(type(named) == "table" and json.encode(named)
      or tostring(named)))
  elseif document.token_endpoint == nil then
    return "it names no token_endpoint"
  end
  for _, name in ipairs(endpoints) do
    local problem = document[name] ~= nil and endpoint.problem(document[name], transport.remote)
    if problem then
      return ("%s: %s"):format(name, problem)
    end
  end
end

--- Reads the metadata of an authorization server.
---@param issuer string
---@param transport operations.oauth.Transport
---@return operations.oauth.Server?
---@return operations.Error? err
function metadata.server(issuer, transport)
  local problem = endpoint.problem(issuer, transport.remote)
  if problem then
    return nil, endpoint.failure(("authorization server %s: refused: %s"):format(url.redact(issuer), problem))
  end
  local document, err, tried, address = first(metadata.issuer_urls(issuer), transport)
  if err then
    return nil, err
  elseif tried then
    return nil, endpoint.failure("no authorization server metadata: tried " .. tried)
  end
  problem = server_problem(document, issuer, transport)
  if problem then
    return nil, endpoint.failure(("authorization server metadata at %s: %s"):format(url.redact(address), problem))
  end
  return {
    issuer = issuer, iss = document.issuer, authorization_endpoint = document.authorization_endpoint,
    token_endpoint = document.token_endpoint, registration_endpoint = document.registration_endpoint,
    scopes = strings(document.scopes_supported),
    auth_methods = strings(document.token_endpoint_auth_methods_supported),
    takes_metadata_urls = document.client_id_metadata_document_supported == true,
    names_issuer = document.authorization_response_iss_parameter_supported == true,
    has_s256 = members.contains(strings(document.code_challenge_methods_supported), "S256"),
  }
end

--- The location of an authorization server's keys.
---@param issuer string
---@param transport operations.oauth.Transport
---@return string?
---@return operations.Error? err
function metadata.key_address(issuer, transport)
  local document, err, tried, address = first(metadata.issuer_urls(issuer), transport)
  if not document then
    return nil, err or endpoint.failure("no authorization server metadata: tried " .. tried)
  end
  local problem = document.issuer ~= issuer and "it is of another issuer" or endpoint.problem(document.jwks_uri)
    and "jwks_uri: " .. endpoint.problem(document.jwks_uri)
  if problem then
    return nil, endpoint.failure(("authorization server metadata at %s: %s"):format(url.redact(address), problem))
  end
  return document.jwks_uri
end

return metadata
