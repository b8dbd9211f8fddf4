--- The credentials of one request, from the configuration of its security schemes. Errors never show their values.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local errors = require("operations.base.error")
local number_text = require("operations.base.number_text")
local secrets = require("operations.base.secrets")

local credential = {}

---@class operations.openapi.Credential
---@field location "header"|"query"|"cookie"|"tls"
---@field name string
---@field value string
---@field secrets? string[]  further texts that must not be shown
---@field cert_file? string  of "tls": as in `operations.http`
---@field key_file? string
---@field key_password? string
---@field refuse? fun()      called when the server rejected it; the next one will be new

---@class operations.openapi.CredentialStep
---@field kind "apiKey"|"basic"|"bearer"|"oauth"|"mutualTLS"|"none"
---@field scheme table  Security Scheme Object
---@field name string
---@field value any  as configured
---@field source? operations.oauth.TokenSource|operations.oauth.TokenExchange  of "oauth"
---@field problem? string  why there is none
---@field steps? operations.openapi.CredentialStep[]  of "none": those that could be made
---@field made? operations.openapi.Credential  kept if its value does not change

local function secret(value, ...)
  if type(value) ~= "table" then
    return value
  end
  for _, key in ipairs({ ... }) do
    if value[key] ~= nil then
      return value[key]
    end
  end
end

local makers = {}

function makers.apiKey(scheme, value)
  return { location = scheme["in"], name = scheme.name, value = secret(value, "value", "token", "key") }
end

local function bearer(token)
  if type(token) ~= "string" then
    return nil
  end
  return { location = "header", name = "Authorization", value = "Bearer " .. token, secrets = { token } }
end

function makers.bearer(_, value)
  return bearer(secret(value, "token", "value"))
end

function makers.basic(_, value)
  local pair = value
  if type(value) == "table" then
    pair = type(value.username) == "string" and not value.username:find(":", 1, true)
      and value.username .. ":" .. number_text.of(value.password or "") or nil
  end
  if type(pair) ~= "string" then
    return nil
  end
  local encoded = base64.encode(pair)
  return {
    location = "header", name = "Authorization", value = "Basic " .. encoded,
    secrets = { encoded, pair, pair:match(":(.*)$") },
  }
end

--- A client certificate belongs to the connection, not to the request.
function makers.mutualTLS(_, value)
  if type(value) ~= "table" or type(value.cert_file) ~= "string" or value.cert_file == "" then
    return nil
  end
  return {
    location = "tls", name = "", value = "", cert_file = value.cert_file, key_file = value.key_file,
    key_password = value.key_password, secrets = { value.key_password },
  }
end

local function from_source(step, context)
  local token, err, key = step.source:get(context)
  if not token then
    return nil, err
  end
  local made = bearer(token)
  function made.refuse()
    step.source:refuse(token, key)
  end
  return made
end

--- Calls `value`, or the function in it: credentials may change between requests.
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

local function make(step, context)
  if step.made then
    return step.made
  elseif step.problem then
    return nil, failure(step, step.problem)
  elseif step.source then
    return from_source(step, context)
  end
  local value, err = current(step.value, context)
  if value == nil and core.is_error(err) then
    return nil, err
  end
  local made = value ~= nil and makers[step.kind](step.scheme, value)
  if not made or type(made.value) ~= "string" then
    return nil, failure(step, "the configured value gives none")
  elseif made.value:find("[%z\1-\31\127]") then
    return nil, failure(step, "it holds control characters")
  end
  if made.location == "header" then
    made.value = made.value:match("^ *(.-) *$")
  end
  step.made = type(step.value) == "string" and made or nil -- it never changes
  return made
end

--- Makes the credentials of one request.
---@param steps operations.openapi.CredentialStep[]
---@param context any  passed to functions in config.auth
---@return operations.openapi.Credential[]? credentials
---@return operations.Error? err
function credential.make(steps, context)
  local list = {}
  for i, step in ipairs(steps) do
    local made, err = make(step, context)
    if not made then
      return nil, err
    end
    list[i] = made
  end
  return list
end

--- An error without the credentials in its message or details: a URL's query, a server's answer.
---@param err operations.Error
---@param list operations.openapi.Credential[]
---@return operations.Error
function credential.redact(err, list)
  local texts = {}
  for _, made in ipairs(list) do
    secrets.add(texts, made.value)
    for _, text in pairs(made.secrets or {}) do
      secrets.add(texts, text)
    end
  end
  if #texts == 0 or not core.is_error(err) then
    return err
  end
  local hidden = errors.new(err.code, secrets.hide(err.message, texts), secrets.hide(err.details, texts))
  hidden.retryable, hidden.mayHaveRun, hidden.retryAfter = err.retryable, err.mayHaveRun, err.retryAfter
  return hidden
end

--- The server rejected these credentials: renews those that can be renewed.
---@param list operations.openapi.Credential[]
---@return boolean any  can any be renewed?
function credential.refuse(list)
  local any = false
  for _, made in ipairs(list) do
    if made.refuse then
      made.refuse()
      any = true
    end
  end
  return any
end

--- Sets the connection options that credentials need in a request's message.
---@param message table
---@param list operations.openapi.Credential[]
function credential.bind(message, list)
  for _, made in ipairs(list) do
    if made.location == "tls" then
      message.cert_file, message.key_file, message.key_password = made.cert_file, made.key_file, made.key_password
    end
  end
end

--- Configured headers that hold credentials, which errors must not show.
---@param headers? table<string, string>
---@return operations.openapi.Credential[]
function credential.configured(headers)
  local list = {}
  for name, value in pairs(headers or {}) do
    if secrets.is_name(name) then
      list[#list + 1] = { location = "header", name = name, value = value, secrets = { value:match("^%a+ +(.+)$") } }
    end
  end
  return list
end

local authorization = { location = "header", name = "Authorization" }

--- The parts of a request that are only for its origin: headers and query parameters with credentials, and the
--- configured headers.
---@param steps operations.openapi.CredentialStep[]
---@param headers? table<string, string>
---@return string[] headers
---@return string[]? query
function credential.bound(steps, headers)
  local names, query = {}, {}
  for name in pairs(headers or {}) do
    names[#names + 1] = name
  end
  for _, step in ipairs(steps) do
    local place = step.kind == "none" and {}
      or step.kind == "apiKey" and { location = step.scheme["in"], name = step.scheme.name } or authorization
    if place.location == "header" then
      names[#names + 1] = place.name
    elseif place.location == "query" then
      query[#query + 1] = place.name
    end
  end
  return names, #query > 0 and query or nil
end

return credential
