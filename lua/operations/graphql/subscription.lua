--- Subscriptions: over WebSocket (graphql-transport-ws), or over server-sent events (GraphQL over SSE, distinct
--- connections mode). Each has a connection of its own, so that a slow reader holds only its service back.
local answers = require("operations.graphql.answer")
local core = require("operations.core")
local credential = require("operations.openapi.credential")
local errors = require("operations.base.error")
local exchange = require("operations.graphql.exchange")
local limits = require("operations.base.limits")
local requests = require("operations.openapi.request")
local response = require("operations.openapi.response")
local runtime = require("operations.base.runtime")
local sse = require("operations.base.sse")
local url = require("operations.base.url")

local subscription = {}

---@class operations.graphql.Feed  a running subscription
---@field endpoint operations.graphql.Endpoint
---@field request operations.graphql.Request
---@field context operations.Context
---@field statusCode integer
---@field headers table

local function lost()
  local err = errors.new("TRANSPORT_LOST", "the stream ended unexpectedly", { kind = "closed" })
  err.retryable, err.mayHaveRun = true, true
  return err
end

-- Emits the result of an execution; returns the error that ends the subscription, if any.
local function emit(feed, body)
  if core.kind(body) ~= "object" then
    return errors.new("EXECUTION_ERROR", "the service sent an event that is no result", { kind = "protocol" })
  end
  local envelope, err = answers.outcome({ body = body, statusCode = feed.statusCode, headers = feed.headers },
    feed.request, feed.endpoint.options, feed.context)
  if envelope then
    feed.context.emit(envelope)
  end
  return err
end

-- Server-sent events.

local function read_rest(source)
  local pieces, size = {}, 0
  while size <= limits.body do
    local piece, err = source:read()
    if not piece then
      return not err and table.concat(pieces) or nil, err
    end
    pieces[#pieces + 1], size = piece, size + #piece
  end
  return table.concat(pieces):sub(1, limits.body)
end

-- An answer that is no stream: a refusal, or one result.
local function take_whole(feed, source)
  local bytes, err = read_rest(source)
  if err then
    return err
  end
  local answer
  answer, err = answers.read(response.outcome({ status = source.status, headers = source.headers, body = bytes }, {}))
  if not answer then
    return err
  elseif answer.failure or answer.body.data == nil then
    return answers.failure(answer)
  end
  return emit(feed, answer.body)
end

-- Why a stream ended without a completion that the parser saw. An event without data is none, but some services
-- complete by one.
local function ending(failure, tail)
  local kind = failure and type(failure.details) == "table" and failure.details.kind
  if not failure and ("\n" .. tail):find("\nevent: ?complete\r?\n\r?\n$") then
    return nil
  end
  return failure and kind ~= "reset" and kind ~= "truncated" and failure or lost()
end

local TAIL = 32 -- bytes that are kept of the end

-- Reads events to the end; returns the error that ended them, if any.
local function take_events(feed, source)
  local tail = ""
  local parser = sse.parser(nil, { json = true, max_event = feed.endpoint.options.max_event or limits.event })
  while true do
    local bytes, failure = source:read()
    if not bytes then
      return ending(failure, tail)
    end
    tail = (tail .. bytes:sub(-TAIL)):sub(-TAIL)
    local fed, err = parser:feed(bytes)
    for event in function() return parser:next() end do
      if event.event == "complete" then
        return nil
      elseif event.event == "next" or event.event == "message" then
        err = err or emit(feed, event.data)
      end
    end
    if err or not fed then
      return err
    end
  end
end

local function over_events(feed)
  local source, err, credentials = exchange.open(feed.endpoint, feed.request, feed.context)
  if not source then
    return err
  end
  feed.context.defer(function()
    source:close()
  end)
  feed.statusCode, feed.headers = source.status, source.headers
  local is_stream = source.status == 200 and (source.headers["content-type"] or ""):find("^text/event%-stream")
  err = (is_stream and take_events or take_whole)(feed, source)
  source:close()
  return err and credential.redact(err, credentials or {})
end

-- WebSocket.

-- The address of subscriptions: the configured one, or that of the service.
local function address_of(options)
  local given = options.subscriptions
  local address = given and given:find("://", 1, true) and given or options.endpoint
  return (address:gsub("^http", "ws", 1))
end

-- The URL of the handshake, and its options: headers, with the credentials, and the connection.
local function target_of(options, list, traceparent)
  local parsed, own = url.parse(address_of(options)), { traceparent = traceparent }
  for _, made in ipairs(list) do
    if made.location == "header" then
      own[made.name] = made.value
    elseif made.location == "cookie" then
      own.Cookie = ("%s=%s"):format(made.name, made.value)
    elseif made.location == "query" then
      parsed.query = ("%s%s=%s"):format(parsed.query and parsed.query .. "&" or "", url.encode(made.name),
        url.encode(made.value))
    end
  end
  local target = { headers = requests.head(options.headers, own).headers, ca_file = options.ca_file,
    max_event = options.max_event, proxy = options.proxy == false and "" or options.proxy,
    cert_file = options.cert_file, key_file = options.key_file }
  credential.bind(target, list)
  return parsed, target
end

local function parameters_of(options, context)
  local given = options.connection_params
  if type(given) == "function" then
    return given(context)
  end
  return given
end

-- The error of a message of type "error": the request was refused.
local function refusal(feed, payload)
  local body = { errors = core.kind(payload) == "array" and payload or { payload } }
  if type(body.errors[1]) ~= "table" or type(body.errors[1].message) ~= "string" then
    body.errors = { { message = "the service refused the subscription" } }
  end
  return answers.failure({ body = body, statusCode = feed.statusCode, headers = feed.headers })
end

-- Emits the events of the subscription.
local function follow(feed, socket)
  socket:send({ id = "1", type = "subscribe", payload = exchange.message(feed.endpoint, feed.request) })
  local message, err
  repeat
    message, err = socket:receive()
    if not message then
      return err
    elseif message.type == "next" and message.id == "1" then
      err = emit(feed, message.payload)
    elseif message.type == "error" and message.id == "1" then
      err = refusal(feed, message.payload)
    end
  until err or message.type == "complete" and message.id == "1"
  if err then
    socket:send({ id = "1", type = "complete" })
  end
  return err
end

-- Does the server speak HTTP, but not WebSocket?
local function speaks_no_websocket(err)
  return err.code == "TRANSPORT_LOST" and type(err.details) == "table" and err.details.kind == "handshake"
end

-- Connects; once more with new credentials where the service refuses these and they can be renewed.
local function connect(feed, websocket)
  local socket, err, list
  for _ = 1, 2 do
    list, err = credential.make(exchange.security(feed.endpoint), feed.context)
    if not list then
      return nil, err
    end
    socket, err = websocket.open(target_of(feed.endpoint.options, list, feed.context.traceparent))
    if socket or err.code ~= "ACCESS_DENIED" or not credential.refuse(list) then
      break
    end
  end
  return socket, err and credential.redact(err, list), list
end

-- Returns the error that ended it, and "none" where the service has no WebSocket, "now" where it has none for now.
local function over_websocket(feed)
  local ok, websocket = runtime.optional("operations.graphql.websocket") -- late: it needs a C module of its own
  if not ok then
    return errors.new("EXECUTION_ERROR", "subscriptions over WebSocket need the module operations.websocket",
      { kind = "configuration" }), "none"
  end
  local options = feed.endpoint.options
  local parameters, wrong = parameters_of(options, feed.context)
  if wrong then
    return wrong
  end
  local socket, err, list = connect(feed, websocket)
  if not socket then
    return err, speaks_no_websocket(err) and (err.retryable and "now" or "none")
  end
  feed.context.defer(function()
    socket:close()
  end)
  feed.statusCode, feed.headers, feed.endpoint.streams = 101, {}, "websocket"
  local begun
  begun, err = socket:begin(parameters, options.timeout or limits.handshake_timeout)
  if begun then
    err = follow(feed, socket)
  end
  socket:close()
  return err and credential.redact(err, list)
end

--- Runs a subscription inside its handler: emits each event as an envelope, returns at the end.
---@param endpoint operations.graphql.Endpoint
---@param request operations.graphql.Request
---@param context operations.Context
---@return nil
---@return operations.Error? err
function subscription.run(endpoint, request, context)
  local wrong = exchange.unplaced(endpoint) or exchange.misfit(request)
  if wrong then
    return nil, wrong
  end
  local feed = { endpoint = endpoint, request = request, context = context }
  local given = endpoint.options.subscriptions
  if given ~= "sse" and endpoint.streams ~= "sse" then
    local err, missing = over_websocket(feed)
    if not missing or given or endpoint.streams then
      return nil, err
    end
    endpoint.streams = missing == "none" and "sse" or nil
  end
  return nil, over_events(feed)
end

return subscription
