--- Handlers of streams: opens the connection, has its body read, opens it again where that was asked for.
local call = require("operations.from_openapi.call")
local limits = require("operations.limits")
local media = require("operations.from_openapi.media")
local reader = require("operations.from_openapi.reader")
local reconnect = require("operations.from_openapi.reconnect")
local response = require("operations.from_openapi.response")
local task = require("operations.task")

local stream = {}

local function rest(read)
  local pieces, size = {}, 0
  while size <= limits.body do
    local chunk, err = read()
    if not chunk then
      return table.concat(pieces), err
    end
    pieces[#pieces + 1] = chunk
    size = size + #chunk
  end
  return table.concat(pieces):sub(1, limits.body)
end

--- What is no stream: an error status, or another kind of body.
local function refuse(connection)
  local reply = connection.reply
  local body, err = rest(connection.read)
  if err then
    return false, err
  end
  local whole = { status = reply.status, headers = reply.headers, body = body }
  if not response.is_success(reply.status) then
    return false, response.failure(whole)
  end
  local content_type = reply.headers["content-type"] or "none"
  return false, response.unreadable(whole, ("expected a stream, got content type %s"):format(content_type))
end

--- Reads one connection to its end.
---@return boolean finished  there is nothing more to come, ever
---@return operations.Error? err
local function run(connection)
  local reply = connection.reply
  local kind = media.stream_kind(media.essence(reply.headers["content-type"]))
  if reply.status == 204 then
    return true -- 9.2.3 of the HTML standard
  elseif reply.status ~= 200 or not kind then
    return refuse(connection)
  end
  connection.is_events = kind == "events"
  return reader[kind](connection)
end

local function prepare(plan, input, context, connection)
  local message, credentials = call.message(plan, input, context)
  if not message then
    return nil, credentials
  end
  message.timeout, message.first_byte_timeout, message.max_body = nil, plan.timeout, nil
  message.idle_timeout = plan.idle_timeout
  if plan.reconnect then
    message.retry = nil -- one way to try again is enough
  end
  if not message.headers["Cache-Control"] then
    message.headers["Cache-Control"] = "no-store"
  end
  if connection.id and connection.id ~= "" then
    message.headers["Last-Event-ID"] = connection.id
  end
  return message, credentials
end

-- One connection from its opening to its end; `fatal` when the message could not even be made.
local function connect(plan, input, context, connection)
  local message, credentials = prepare(plan, input, context, connection)
  if not message then
    return false, credentials, true
  end
  local source, err = plan.http.open(message)
  if not source then
    return false, call.redact(err, credentials)
  end
  connection.source, connection.reply = source, { status = source.status, headers = source.headers }
  function connection.read()
    local chunk, problem = source:read()
    return chunk, problem and call.redact(problem, credentials)
  end
  local finished, failure = run(connection)
  source:close()
  connection.source = nil
  if failure and failure.details and failure.details.statusCode then
    failure = call.redact_message(failure, credentials)
  end
  return finished, failure
end

-- Opens the stream until it is over; nil, or what ended it.
local function keep_open(plan, input, context, connection)
  local failures = 0
  while true do
    local before = connection.events
    local finished, err, fatal = connect(plan, input, context, connection)
    if finished or fatal or not plan.reconnect or not (connection.is_events or err) then
      return err
    end
    failures = connection.events > before and 0 or failures + 1
    local delay = reconnect.delay(plan.reconnect, connection, failures, err)
    if not delay then
      return err
    end
    task.sleep(delay / 1000)
  end
end

--- The handler of a subscription.
---@param plan operations.openapi.Plan
---@return fun(input: table, context: operations.Context): nil, operations.Error?
function stream.handler(plan)
  return function(input, context)
    local connection = { plan = plan, emit = context.emit, events = 0 }
    if context.defer then
      context.defer(function()
        if connection.source then
          connection.source:close()
        end
      end)
    end
    return nil, keep_open(plan, input or {}, context, connection)
  end
end

return stream
