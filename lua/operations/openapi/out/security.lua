--- The credentials required by a document's operations: a token, and its issuer if known. Scopes are only listed for
--- schemes that declare them, as linters require; `x-operation` always has them.
local core = require("operations.core")
local members = require("operations.base.members")

local security = {}

---@class operations.openapi.Authority  an authorization server
---@field issuer string
---@field endpoints? { authorization: string, token: string }  nil: from its OpenID Connect metadata

local function list_of(items)
  return setmetatable(items, core.array_mt)
end

-- The alternative lists of scopes for a token: all required ones, with each of the alternatives.
local function alternatives(access)
  local all, any = access and access.requiredScopes or {}, access and access.requiredScopesAny or {}
  local lists = {}
  for i, scope in ipairs(any) do
    lists[i] = list_of(members.joined(all, { scope }))
  end
  return lists[1] and lists or { list_of(members.joined(all)) }
end

--- The security of an operation.
---@param access? operations.AccessControl  nil: no restriction
---@param options operations.openapi.OutOptions
---@return table[]
function security.of(access, options)
  if not options.authorized or options.anonymous and not access then
    return list_of({})
  end
  local requirements = { { [options.scheme or "bearer"] = list_of({}) } }
  local authority = options.authority
  for i, scopes in ipairs(authority and alternatives(authority.endpoints and access) or {}) do
    table.insert(requirements, i, { oauth = scopes })
  end
  return requirements
end

-- All scopes of the operations, each with a description.
local function scopes_of(entries)
  local scopes = setmetatable({}, core.object_mt)
  for _, entry in ipairs(entries) do
    local access = type(entry.spec.accessControl) == "table" and entry.spec.accessControl or {}
    for _, scope in ipairs(members.joined(access.requiredScopes or {}, access.requiredScopesAny or {})) do
      scopes[scope] = scope
    end
  end
  return scopes
end

local function oauth_of(authority, entries)
  local endpoints = authority.endpoints
  if not endpoints then
    return { type = "openIdConnect",
      openIdConnectUrl = authority.issuer:gsub("/$", "") .. "/.well-known/openid-configuration" }
  end
  local scopes = scopes_of(entries)
  return { type = "oauth2", flows = {
    authorizationCode = { authorizationUrl = endpoints.authorization, tokenUrl = endpoints.token, scopes = scopes },
    clientCredentials = { tokenUrl = endpoints.token, scopes = scopes } } }
end

--- The security schemes of a document.
---@param entries operations.openapi.Entry[]
---@param options operations.openapi.OutOptions
---@return table
function security.schemes(entries, options)
  local scheme = options.scheme or "bearer"
  return { [scheme] = { type = "http", scheme = scheme },
    oauth = options.authority and oauth_of(options.authority, entries) or nil }
end

return security
