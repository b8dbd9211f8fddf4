--- Carries out calls: the only part of the adapter that talks to an HTTP client.
local credential = require("operations.openapi.credential")
local request = require("operations.openapi.request")
local response = require("operations.openapi.response")
local url = require("operations.base.url")

local call = {}

--- Makes the message of a call and its credentials, those of configured headers among them.
---@param plan operations.openapi.Plan
---@param input table
---@param context any
---@param address? string  instead of the URL that plan and input make
---@return operations.openapi.Request? message
---@return operations.openapi.Credential[]|operations.Error credentials  the error when there is no message
local function new_message(plan, input, context, address)
  local credentials, err = credential.make(plan.security, context)
  if not credentials then
    return nil, err
  end
  local message
  message, err = request.build(plan, input, credentials, address)
  if not message then
    return nil, err
  end
  message.timeout, message.max_body, message.retry = plan.timeout, plan.max_body, plan.retry
  message.jar, message.ca_file, message.proxy = plan.jar, plan.ca_file, plan.proxy
  message.credentials, message.query_credentials = plan.bound_headers, plan.bound_query
  credential.bind(message, credentials)
  for _, made in ipairs(plan.configured) do
    credentials[#credentials + 1] = made
  end
  return message, credentials
end

-- Closes the files that a message was made of.
local function release(message)
  if type(message.body) == "table" then
    message.body.close()
  end
end

-- Can the message be made again: is there nothing in it that can be read but once?
local function is_repeatable(message)
  return type(message.body) ~= "table" or message.body.again == true
end

--- Sends a request. Credentials that the server does not accept and that can be had anew are, once.
---@param plan operations.openapi.Plan
---@param input table
---@param context any
---@param send fun(message: operations.openapi.Request): table?, operations.Error?
---@param address? string  of a further page
---@return table? answer
---@return operations.Error? err
---@return operations.openapi.Credential[]? credentials  to be kept out of errors; nil when nothing was sent
function call.exchange(plan, input, context, send, address)
  local answer, err
  for try = 1, 2 do
    local message, credentials = new_message(plan, input, context, address)
    if not message then
      return nil, credentials
    end
    answer, err = send(message)
    release(message)
    local is_refused = answer and answer.status == 401 and try == 1 and credential.refuse(credentials)
    if not is_refused or not is_repeatable(message) then
      return answer, err and credential.redact(err, credentials), credentials
    elseif answer.close then
      answer:close()
    end
  end
end

--- Calls an operation: the answer of its API as an envelope, or as an error.
---@param plan operations.openapi.Plan
---@param input table
---@param context any
---@param address? string  of a further page
---@return operations.Envelope? envelope
---@return operations.Error? err
---@return operations.HttpResponse? reply
function call.run(plan, input, context, address)
  local reply, err, credentials = call.exchange(plan, input, context, plan.http.request, address)
  if not reply then
    return nil, err
  end
  local envelope, failure, warning = response.outcome(reply, plan.redirects)
  if warning and context and context.log then
    context.log("warn", ("%s %s: %s"):format(plan.method, url.redact(reply.url or plan.base or ""), warning))
  end
  return envelope, failure and credential.redact(failure, credentials), reply
end

return call
