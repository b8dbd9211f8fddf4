--- Who calls, and whether this caller may: `authorize` of the options, then the operation's access control; refusals
--- with their challenges (RFC 6750, section 3).
local errors = require("operations.base.error")
local members = require("operations.base.members")

local caller = {}

--- The header that tells how to say who one is.
---@param parameters? string
---@return table headers
function caller.challenge(parameters)
  return { ["www-authenticate"] = "Bearer" .. (parameters and " " .. parameters or "") }
end

local challenge = caller.challenge

local function quoted(text)
  return '"' .. text:gsub("[^\32-\126]", "?"):gsub('["\\]', "\\%0") .. '"'
end

local function denied(status, message, parameters)
  return nil, errors.new("ACCESS_DENIED", message), status, challenge(parameters)
end

-- Mistakes of the authoriser are ours, and never let anybody in.
local function ask(authorize, request, log)
  local ok, identity, reason = xpcall(authorize, function(raised)
    log("error", "authorize: " .. debug.traceback(errors.text(raised), 2))
  end, request)
  if ok and identity and type(identity) ~= "table" then
    log("error", ("authorize: an identity or nil expected, got %s"):format(type(identity)))
    ok = false
  end
  return ok, identity or nil, reason
end

--- Asks `authorize` for the caller's identity. Without it every caller is anonymous.
---@param request operations.ServerRequest
---@param options { authorize: function?, anonymous: boolean?, log: function }
---@return operations.Identity? identity
---@return operations.Error? err
---@return integer? status  of the refusal
---@return table? headers
function caller.identify(request, options)
  local authorize = options.authorize
  if not authorize then
    return nil
  end
  local ok, identity, reason = ask(authorize, request, options.log)
  if not ok then
    return nil, errors.new("EXECUTION_ERROR", "the authorization failed"), 500
  elseif identity then
    return identity
  elseif errors.is_error(reason) then
    options.log("error", "authorize: " .. tostring(reason))
    return nil, errors.new("UNAVAILABLE", "credentials cannot be checked now"), 503
  elseif reason ~= nil then
    reason = type(reason) == "string" and reason or "the credentials are invalid"
    return denied(401, reason, 'error="invalid_token", error_description=' .. quoted(reason))
  elseif options.anonymous then
    return nil
  end
  return denied(401, "credentials are required")
end

-- The scopes that an identity lacks: all that are required, and one of those of which one will do.
local function missing(access, identity)
  local owned, list = members.set(type(identity.scopes) == "table" and identity.scopes or {}), {}
  for _, scope in ipairs(access.requiredScopes or {}) do
    list[#list + 1] = not owned[scope] and scope or nil
  end
  local any = access.requiredScopesAny or {}
  for _, scope in ipairs(any) do
    if owned[scope] then
      return list
    end
  end
  list[#list + 1] = any[1]
  return list
end

-- What a token for the operation has to have: what this one lacks, and the rest that is required.
local function needed_by(access, lacked)
  local list, seen = {}, {}
  for _, scopes in ipairs({ access.requiredScopes or {}, lacked }) do
    for _, scope in ipairs(scopes) do
      list[#list + 1], seen[scope] = not seen[scope] and scope or nil, true
    end
  end
  return table.concat(list, " ")
end

--- The refusal of a caller that may not call an operation.
---@param spec operations.Spec
---@param identity? operations.Identity
---@param err? operations.Error  what the registry said
---@return nil
---@return operations.Error err
---@return integer status
---@return table headers
function caller.deny(spec, identity, err)
  if not identity then
    local needed = missing(spec.accessControl or {}, {})
    return denied(401, "credentials are required", needed[1] and "scope=" .. quoted(table.concat(needed, " ")) or nil)
  end
  local scopes = missing(spec.accessControl or {}, identity)
  if #scopes == 0 then
    return denied(403, err and err.message or "this identity has not the rights on the resource that are required",
      'error="insufficient_scope"')
  end
  local text = table.concat(scopes, " ")
  local _, refusal, status, headers = denied(403, "missing scopes: " .. text,
    'error="insufficient_scope", scope=' .. quoted(needed_by(spec.accessControl, scopes)))
  refusal.details = { requiredScopes = scopes }
  return nil, refusal, status, headers
end

return caller
