--- Which credentials go with a request: the operation's security requirement picks among those that are configured.
--- Requirements are alternatives; within one, all schemes count.
local core = require("operations.core")
local errors = require("operations.error")

local security = {}

---@class operations.openapi.Credential
---@field location "header"|"query"|"cookie"
---@field name string
---@field value string

local base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(text)
  local encoded = text:gsub("..?.?", function(group)
    local a, b, c = group:byte(1, 3)
    local bits, digits = a * 65536 + (b or 0) * 256 + (c or 0), {}
    for i = 4, 1, -1 do
      local digit = bits % 64
      bits = (bits - digit) / 64
      digits[i] = i > #group + 1 and "=" or base64_digits:sub(digit + 1, digit + 1)
    end
    return table.concat(digits)
  end)
  return encoded
end

local function secret(value, ...)
  if type(value) == "table" then
    for _, key in ipairs({ ... }) do
      if value[key] ~= nil then
        return value[key]
      end
    end
    return nil
  end
  return value
end

local makers = {}

function makers.apiKey(scheme, value)
  return { location = scheme["in"], name = scheme.name, value = secret(value, "value", "token", "key") }
end

function makers.bearer(_, value)
  local token = secret(value, "token", "value")
  return { location = "header", name = "Authorization", value = type(token) == "string" and "Bearer " .. token or nil }
end

function makers.basic(_, value)
  local pair = value
  if type(value) == "table" then
    pair = type(value.username) == "string" and not value.username:find(":", 1, true)
      and value.username .. ":" .. tostring(value.password or "") or nil
  end
  return { location = "header", name = "Authorization", value = pair and "Basic " .. base64(pair) or nil }
end

--- How a scheme's credential is made: a key of `makers`; nil when the adapter does not know the scheme.
local function kind_of(scheme)
  if type(scheme) ~= "table" then
    return nil
  elseif scheme.type == "apiKey" then
    local known = scheme["in"] == "header" or scheme["in"] == "query" or scheme["in"] == "cookie"
    return known and type(scheme.name) == "string" and "apiKey" or nil
  elseif scheme.type == "oauth2" or scheme.type == "openIdConnect" then
    return "bearer"
  elseif scheme.type == "http" and type(scheme.scheme) == "string" then
    local name = scheme.scheme:lower()
    return (name == "bearer" or name == "basic") and name or nil
  end
end

local simple_kinds = { bearer = true, basic = true, apiKey = true }

--- Is this the form `{ type = "bearer", token = ... }`, which needs no names of schemes?
---@param auth any
---@return boolean
function security.is_simple(auth)
  return type(auth) == "table" and simple_kinds[auth.type] == true
end

--- The credential configured for a scheme; in the simple form, when the kinds agree.
local function configured(auth, name, scheme)
  if not security.is_simple(auth) then
    return auth[name]
  end
  return auth.type == kind_of(scheme) and auth or nil
end

--- One requirement as steps { kind, scheme, name, value }, or nil when something for it is not configured.
local function steps_of(requirement, schemes, auth)
  local steps, names = {}, {}
  for name in pairs(requirement) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local scheme = schemes[name]
    local kind, value = kind_of(scheme), configured(auth, name, scheme)
    if not kind or value == nil then
      return nil
    end
    steps[#steps + 1] = { kind = kind, scheme = scheme, name = name, value = value }
  end
  return steps
end

local fallback_scheme = { ["in"] = "header", name = "X-API-Key" }

--- The steps of the simple form where the document's requirements do not name its kind.
local function simple_steps(auth)
  local scheme = fallback_scheme
  if auth.name or auth["in"] then
    scheme = { ["in"] = auth["in"] or "header", name = auth.name or "X-API-Key" }
  end
  return { { kind = auth.type, scheme = scheme, name = auth.type, value = auth } }
end

--- Decides which credentials an operation's requests carry.
---@param requirements any  the operation's `security`, else the document's
---@param schemes table<string, table>  `components.securitySchemes`, references followed
---@param auth? table  config.auth
---@return table[] steps  for `credentials`
function security.plan(requirements, schemes, auth)
  if not auth then
    return {}
  end
  local is_public = type(requirements) == "table"
  for _, requirement in ipairs(is_public and requirements or {}) do
    if type(requirement) == "table" and next(requirement) ~= nil then
      is_public = false
      local steps = steps_of(requirement, schemes, auth)
      if steps then
        return steps
      end
    end
  end
  return security.is_simple(auth) and not is_public and simple_steps(auth) or {}
end

--- Calls `value`, or the secret within it, when it is a function: credentials may change between requests.
local function current(value, context)
  if type(value) == "function" then
    return value(context)
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    if type(item) == "function" then
      local result, err = item(context)
      if result == nil then
        return nil, err
      end
      item = result
    end
    copy[key] = item
  end
  return copy
end

local function failure(step, reason)
  return errors.new("EXECUTION_ERROR", ("no credential for the security scheme %q: %s"):format(step.name, reason),
    { kind = "credential", scheme = step.name })
end

--- Makes the credentials of one request. No error tells their values.
---@param steps table[]
---@param context any  handed to functions in config.auth
---@return operations.openapi.Credential[]? credentials
---@return operations.Error? err
function security.credentials(steps, context)
  local list = {}
  for _, step in ipairs(steps) do
    local value, err = current(step.value, context)
    if value == nil and core.is_error(err) then
      return nil, err
    end
    local credential = value ~= nil and makers[step.kind](step.scheme, value)
    if not credential or type(credential.value) ~= "string" then
      return nil, failure(step, "the configured value gives none")
    elseif credential.value:find("[%z\1-\31\127]") then
      return nil, failure(step, "it holds control characters")
    end
    list[#list + 1] = credential
  end
  return list
end

--- Names in config.auth that no scheme of the document has.
---@param schemes table<string, table>
---@param auth? table
---@return string[]
function security.unknown(schemes, auth)
  local names = {}
  for name in pairs(auth and not security.is_simple(auth) and auth or {}) do
    if not schemes[name] then
      names[#names + 1] = tostring(name)
    end
  end
  table.sort(names)
  return names
end

return security
