--- Handlers of streams: opens the connection, has its body read, opens it again where that was asked for.
local call = require("operations.from_openapi.call")
local limits = require("operations.limits")
local media = require("operations.from_openapi.media")
local reader = require("operations.from_openapi.reader")
local reconnect = require("operations.from_openapi.reconnect")
local redact = require("operations.from_openapi.redact")
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
  return reader.run(connection, kind)
end

local function prepare(message, plan, connection)
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
  return message
end

-- One connection from its opening to its end; `fatal` when the message could not even be made.
local function connect(plan, input, context, connection)
  local source, err, credentials = call.exchange(plan, input, context, function(message)
    return plan.http.open(prepare(message, plan, connection))
  end)
  if not source then
    return false, err, credentials == nil
  end
  connection.source, connection.reply = source, { status = source.status, headers = source.headers }
  function connection.read()
    local chunk, problem = source:read()
    return chunk, problem and redact.error(problem, credentials)
  end
  function connection.lend()
    local address, size = (source.lend or source.read)(source)
    return address, address and size or size and redact.error(size, credentials)
  end
  local finished, failure = run(connection)
  source:close()
  connection.source = nil
  return finished, failure and redact.error(failure, credentials)
end

-- Opens the stream until it is over; nil, or what ended it.
local function keep_open(plan, input, context, connection)
  local failures = 0
  while true do
    connection.told = false
    local finished, err, fatal = connect(plan, input, context, connection)
    if finished or fatal or not plan.reconnect or not (connection.is_events or err) then
      return err
    end
    failures = connection.told and 0 or failures + 1
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
    local connection = { plan = plan, context = context }
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
