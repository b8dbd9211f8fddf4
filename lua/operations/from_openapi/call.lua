--- Carries out calls: the only part of the adapter that talks to an HTTP client.
local core = require("operations.core")
local errors = require("operations.error")
local request = require("operations.from_openapi.request")
local response = require("operations.from_openapi.response")
local security = require("operations.from_openapi.security")
local style = require("operations.from_openapi.style")

local call = {}

local function replace(text, secret)
  local position, pieces = 1, {}
  while true do
    local from, to = text:find(secret, position, true)
    if not from then
      pieces[#pieces + 1] = text:sub(position)
      return table.concat(pieces)
    end
    pieces[#pieces + 1] = text:sub(position, from - 1) .. "***"
    position = to + 1
  end
end

local function hide(value, secrets)
  if type(value) == "string" then
    for _, secret in ipairs(secrets) do
      value = replace(value, secret)
    end
  elseif type(value) == "table" then
    local copy = {}
    for key, item in pairs(value) do
      copy[key] = hide(item, secrets)
    end
    return setmetatable(copy, getmetatable(value))
  end
  return value
end

local function secrets_of(credentials)
  local secrets = {}
  for _, credential in ipairs(credentials) do
    if credential.value ~= "" then
      secrets[#secrets + 1] = credential.value
      secrets[#secrets + 1] = style.encode(credential.value)
    end
  end
  return secrets
end

--- The client's error without the credentials that its URL may hold.
---@param err operations.Error
---@param credentials operations.openapi.Credential[]
---@return operations.Error
function call.redact(err, credentials)
  local secrets = secrets_of(credentials)
  if #secrets == 0 or not core.is_error(err) then
    return err
  end
  return errors.new(err.code, hide(err.message, secrets), hide(err.details, secrets))
end

--- A server's error, whose message may quote a credential. Its body stays as it came.
---@param err operations.Error
---@param credentials operations.openapi.Credential[]
---@return operations.Error
function call.redact_message(err, credentials)
  return errors.new(err.code, hide(err.message, secrets_of(credentials)), err.details)
end

--- The headers that must not follow a redirect to another origin.
local function origin_bound(plan, credentials)
  local names = {}
  for name in pairs(plan.headers or {}) do
    names[#names + 1] = name
  end
  for _, credential in ipairs(credentials) do
    names[#names + 1] = credential.location == "header" and credential.name or nil
  end
  return names
end

--- Makes the message of a call and its credentials.
---@param plan operations.openapi.Plan
---@param input table
---@param context any
---@return operations.openapi.Request? message
---@return operations.openapi.Credential[]|operations.Error credentials  the error when there is no message
function call.message(plan, input, context)
  local credentials, err = security.credentials(plan.security, context)
  if not credentials then
    return nil, err
  end
  local message
  message, err = request.build(plan, input, credentials)
  if not message then
    return nil, err
  end
  message.timeout, message.max_body, message.retry = plan.timeout, plan.max_body, plan.retry
  message.jar, message.ca_file, message.proxy = plan.jar, plan.ca_file, plan.proxy
  message.credentials = origin_bound(plan, credentials)
  return message, credentials
end

--- The handler of a query or mutation.
---@param plan operations.openapi.Plan
---@return fun(input: table, context: any): operations.Envelope?, operations.Error?
function call.handler(plan)
  return function(input, context)
    local message, credentials = call.message(plan, input or {}, context)
    if not message then
      return nil, credentials
    end
    local reply, err = plan.http.request(message)
    if not reply then
      return nil, call.redact(err, credentials)
    end
    local envelope, failure = response.outcome(reply, plan.redirects)
    return envelope, failure and call.redact_message(failure, credentials)
  end
end

return call
