--- Authenticates callers by the option `authorize` and makes refusals with their challenges (RFC 6750, section 3).
local errors = require("operations.base.error")
local members = require("operations.base.members")

local caller = {}

--- Checks an `authorize` of options: raises when it is a table that cannot be called.
---@param authorize any
---@param name string  of the public function
---@param level integer  as of `error`
function caller.check(authorize, name, level)
  local meta = getmetatable(authorize)
  if type(authorize) == "table" and (type(meta) ~= "table" or type(meta.__call) ~= "function") then
    error(("bad option 'authorize' to '%s' (something that can be called expected)"):format(name), level + 1)
  end
end

--- The challenge of a refusal with status 401: that of `authorize` if it has one (`oauth.basic` does), else Bearer.
---@param authorize any
---@param parameters? string  of the challenge for a token
---@return string
function caller.challenge(authorize, parameters)
  local own = type(authorize) == "table" and authorize.challenge
  return own or "Bearer" .. (parameters and " " .. parameters or "")
end

-- With 403 only Bearer has a challenge: a token with more scopes.
local function headers_of(authorize, status, parameters)
  local challenge = caller.challenge(authorize, parameters)
  return (status == 401 or challenge:find("^Bearer")) and { ["www-authenticate"] = challenge } or {}
end

local function quoted(text)
  return '"' .. text:gsub("[^\32-\126]", "?"):gsub('["\\]', "\\%0") .. '"'
end

local function denied(authorize, status, message, parameters)
  return nil, errors.new("ACCESS_DENIED", message), status, headers_of(authorize, status, parameters)
end

-- If `authorize` fails, the answer is 500; no caller is let in.
local function ask(authorize, request, log)
  local ok, identity, reason = xpcall(authorize, function(raised)
    log("error", "authorize: " .. errors.traced(raised, 2))
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
    return denied(authorize, 401, reason, 'error="invalid_token", error_description=' .. quoted(reason))
  elseif options.anonymous then
    return nil
  end
  return denied(authorize, 401, "credentials are required")
end

-- The scopes that an identity lacks: those of requiredScopes, and the first of requiredScopesAny if it has none of
-- them.
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

-- The scopes that a token for the operation needs: all required ones, and those that this token lacks.
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
---@param authorize any  of the server's options
---@param err? operations.Error  what the registry said
---@return nil
---@return operations.Error err
---@return integer status
---@return table headers
function caller.deny(spec, identity, authorize, err)
  if err and type(err.details) == "table" and err.details.rule then -- of a policy: no other credentials help
    return nil, err, 403, {}
  elseif not identity then
    local needed = missing(spec.accessControl or {}, {})
    return denied(authorize, 401, "credentials are required",
      needed[1] and "scope=" .. quoted(table.concat(needed, " ")) or nil)
  end
  local scopes = missing(spec.accessControl or {}, identity)
  if #scopes == 0 then
    local message = err and err.message or "this identity has not the rights on the resource that are required"
    return denied(authorize, 403, message, 'error="insufficient_scope"')
  end
  local text = table.concat(scopes, " ")
  local _, refusal, status, headers = denied(authorize, 403, "missing scopes: " .. text,
    'error="insufficient_scope", scope=' .. quoted(needed_by(spec.accessControl, scopes)))
  refusal.details = { requiredScopes = scopes }
  return nil, refusal, status, headers
end

return caller
