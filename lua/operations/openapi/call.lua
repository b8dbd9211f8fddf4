--- Makes calls: the only part of the adapter that uses an HTTP client.
local credential = require("operations.openapi.credential")
local members = require("operations.base.members")
local request = require("operations.openapi.request")
local response = require("operations.openapi.response")
local senders = require("operations.net.http.sender")
local url = require("operations.base.url")

local call = {}

local none = {}

-- The message of a call and its credentials, including configured headers; or nil and the error.
local function new_message(plan, input, context, extra)
  local credentials, message, err = none, nil, nil
  if plan.security[1] then
    credentials, err = credential.make(plan.security, context)
  end
  if credentials then
    message, err = request.build(plan, input, credentials, extra)
  end
  if not message then
    err.mayHaveRun = false
    return nil, err
  elseif err and type(context) == "table" and context.log then
    context.log("warn", "the input does not fit: " .. err.message)
  end
  if credentials == none then
    return message, plan.configured
  end
  credential.bind(message, credentials)
  for _, made in ipairs(plan.configured) do
    credentials[#credentials + 1] = made
  end
  return message, credentials
end

local unreached = { dns = true, connect = true, tls = true }

-- Did an attempt end before anything was sent?
local function is_unsent(err)
  local details = err and type(err.details) == "table" and err.details or none
  return (unreached[details.kind] or details.phase == "connect") and err.mayHaveRun == false
end

-- Sends a message to the address that was reached last; to the next one where nothing could be sent.
local function send_to_any(plan, message)
  local bases, path, before = plan.bases, message.url:sub(#plan.base + 1), message.before
  local answer, err
  for _ = 1, #bases do
    local at = bases.at
    message.url, message.before = bases[at] .. path, before
    answer, err = plan.sender:send(message)
    if answer or not is_unsent(err) then
      break
    elseif bases.at == at then -- else another call has found one
      bases.at = at % #bases + 1
    end
  end
  return answer, err
end

local function send(plan, message)
  if not plan.sender then
    local options = members.merged(plan.options, { headers = plan.head.headers })
    plan.sender = senders.new(options, plan.is_stream or false, plan.http)
  end
  if plan.bases and message.url:sub(1, #plan.base) == plan.base then
    return send_to_any(plan, message)
  end
  return plan.sender:send(message)
end

-- Closes the files of a message.
local function release(message)
  if type(message.body) == "table" then
    message.body.close()
  end
end

local function index(context, name)
  return context[name]
end

local function absent() end

--- The function that reads fields of a context: the one of a call that was given none has those that were set since.
---@param context any
---@return fun(context: any, name: string): any
function call.reader(context)
  if type(context) ~= "table" then
    return absent
  end
  local bare = rawget(context, "_running") and not rawget(context, "_given") and not rawget(context, "_parent")
  return bare and rawget or index
end

-- Adds the headers of this call: its trace (W3C Trace Context), and the ETag of a known answer.
local function with_own(plan, context, extra)
  local get, address = call.reader(context), extra and extra.address
  local trace, etag = get(context, "traceparent"), not address and get(context, "ifNoneMatch") or nil
  local prefer = plan.task and not address and plan.task(context) or nil
  if not (trace or etag or prefer) then
    return extra
  end
  return members.merged(extra, { headers = members.merged(
    { Prefer = prefer, traceparent = trace, ["If-None-Match"] = etag }, extra and extra.headers) })
end

-- Reports how much of a body that is read in pieces was sent.
local function report_upload(message, context)
  local body, done = message.body, 0
  if type(context) ~= "table" or not context.progress_wanted then
    return
  end
  message.body = members.merged(body, { read = function(...)
    local piece, err = body.read(...)
    if piece then
      done = done + #piece
      context.progress(done, message.body_size)
    end
    return piece, err
  end })
end

--- Sends a request. If the server rejects the credentials and they can be renewed, sends it once more.
---@param plan operations.openapi.Plan
---@param input table
---@param context any
---@param extra? operations.openapi.Extra
---@return table? answer
---@return operations.Error? err
---@return operations.openapi.Credential[]? credentials  which errors must not show; nil when nothing was sent
function call.exchange(plan, input, context, extra)
  extra = with_own(plan, context, extra)
  local pace = type(context) == "table" and rawget(context, "_pace") or nil
  for try = 1, 2 do
    local message, credentials = new_message(plan, input, context, extra)
    if not message then
      return nil, credentials
    end
    local body = message.body
    local is_read = type(body) == "table"
    if is_read then
      report_upload(message, context)
    end
    local refusal = pace and pace()
    if refusal then
      release(message)
      return nil, refusal
    end
    message.before = pace
    local answer, err = send(plan, message)
    if is_read then
      release(message)
    end
    local is_refused = answer and answer.status == 401 and try == 1 and credential.refuse(credentials)
    if not is_refused or is_read and body.again ~= true then
      return answer, err and credential.redact(err, credentials), credentials
    elseif answer.close then
      answer:close()
    end
  end
end

--- The outcome of a complete answer; reports what was repaired in it.
---@param plan operations.openapi.Plan
---@param reply operations.HttpResponse
---@param context any
---@param credentials operations.openapi.Credential[]
---@return operations.Envelope? envelope
---@return operations.Error? err
function call.outcome(plan, reply, context, credentials)
  local envelope, failure, warning = response.outcome(reply, plan)
  if envelope and not warning then
    return envelope
  elseif warning and context and context.misread and plan.lenient then
    context:misread(plan.id, warning)
  elseif warning and context and context.log then
    context.log("warn", "the API's answer: " .. warning) -- MCP clients read it, so it has no address
  end
  local details = failure and failure.details
  if failure and failure.code:find("^HTTP_%d") and type(details) == "table" then
    -- What a script needs to know which request it was.
    details.method, details.url = plan.method, url.redact(reply.url or plan.base)
    details.operation, details.attempts = plan.id, reply.attempts
  end
  return envelope, failure and credential.redact(failure, credentials)
end

--- Makes a plan's requests streams: their silence is limited, their time and size are not.
---@param plan operations.openapi.Plan  changed here
function call.open_ended(plan)
  local options = members.merged(plan.options, { first_byte_timeout = plan.timeout })
  options.timeout, options.max_body = nil, nil
  plan.options, plan.is_stream, plan.sender = options, true, nil
end

--- Calls an operation: the answer of its API as an envelope, or as an error.
---@param plan operations.openapi.Plan
---@param input table
---@param context any
---@param extra? operations.openapi.Extra
---@return operations.Envelope? envelope
---@return operations.Error? err
---@return operations.HttpResponse? reply
function call.run(plan, input, context, extra)
  local reply, err, credentials = call.exchange(plan, input, context, extra)
  if not reply then
    return nil, err
  end
  local envelope, failure = call.outcome(plan, reply, context, credentials)
  return envelope, failure, reply
end

return call
