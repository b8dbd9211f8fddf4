--- From a request to its answer: identifies the caller, finds the operation, reads the input, makes the call.
local admission = require("operations.server.admission")
local answer = require("operations.server.answer")
local caching = require("operations.server.caching")
local caller = require("operations.server.caller")
local disclosure = require("operations.base.disclosure")
local document = require("operations.server.document")
local errors = require("operations.base.error")
local event_stream = require("operations.server.event_stream")
local idempotency = require("operations.server.idempotency")
local identity_key = require("operations.base.identity_key")
local input = require("operations.server.input")
local limits = require("operations.base.limits")
local problem = require("operations.server.problem")
local request_head = require("operations.server.request_head")
local sink = require("operations.server.sink")
local task = require("operations.task")

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
local exchange = {}

---@class operations.ServerCall
---@field server operations.Server
---@field request operations.ServerRequest
---@field id string  of the request
---@field path string  raw, without the query
---@field below? string  the path below the server's prefix; nil: it is elsewhere
---@field query? string  raw
---@field time? integer  ms since the epoch, where the access log wants it
---@field route? operations.Route  once it is admitted
---@field identity? operations.Identity
---@field code? string  of the error
---@field streams? boolean  the body is still sent after `handle`
---@field counted? boolean  among the running requests
---@field lasts? boolean  it continues when its caller leaves: the caller will ask again

-- A request counts as running until its answer was made, or its stream has ended.
local function enter(call)
  call.counted = true
  call.server.running = call.server.running + 1
end

local function leave(call)
  local server = call.server
  if server.workers[call] then -- LuaJIT adds a key to set it to nil
    server.workers[call] = nil
  end
  if call.counted then
    call.counted = false
    server:_left()
  end
end

-- A call is cancelled when its caller leaves, or when the drain of the server runs out of time.
local function watch(call, worker)
  call.server.workers[call] = worker
  local left = call.request.left
  if left then
    left(function()
      if not call.lasts then
        worker:cancel(errors.new("ABORTED", "the caller left"))
      end
    end)
  end
end

-- Makes the answer to a call that has ended.
local function conclude(call, envelope, err)
  local response
  if envelope then
    local cache = call.route.cache
    response, err = answer.of(envelope, call.route, cache and caching.control(call, cache))
  end
  if response then
    return (call.route.cache or call.request.headers["if-none-match"]) and caching.validated(call, response) or response
  elseif err.code == "ACCESS_DENIED" and not disclosure.failure(err) then
    local _, refusal, status, headers = caller.deny(call.route.spec, call.identity, call.server.options.authorize, err)
    return problem.answer(call, refusal, status, headers)
  end
  return problem.answer(call, err, call.server.draining and err.code == "ABORTED" and 503 or nil)
end

local function some_headers(headers, names)
  local some = {}
  for _, name in ipairs(names or {}) do
    some[name:lower()] = headers[name:lower()]
  end
  return some
end

-- The context of the operation's call.
local function context_of(call, request)
  local options, headers = call.server.options, request.headers
  local made = { requestId = call.id, identity = call.identity, timeout = unset, metadata = unset,
    traceparent = headers.traceparent and request_head.traceparent(headers), lastEventId = unset }
  if call.route.kind ~= "subscription" then
    made.timeout = request_head.timeout(headers, options)
  end
  if call.route.takes_context then
    made.metadata = { http = {
      method = request.method, path = call.path, address = request.peer and request.peer.address,
      scheme = request.scheme or (request.peer and request.peer.tls and "https" or "http"), host = headers.host,
      tracestate = made.traceparent and headers.tracestate,
      headers = some_headers(headers, options.metadata_headers),
    } }
  end
  return made
end

local function run(call, request, value)
  return conclude(call, call.server.registry:execute(call.route.id, value, context_of(call, request)))
end

-- Calls an operation whose result is a body, which it may send in pieces.
local function run_sink(call, request, value)
  local server = call.server
  local response, envelope, err = sink.run(server.registry, call.route, value,
    context_of(call, request), function(worker)
      watch(call, worker)
    end, function()
      leave(call)
    end)
  call.streams = response ~= nil
  return response or conclude(call, envelope, err)
end

-- Whose share a stream takes.
local function owner_of(call, request)
  local address = tostring(request.peer and request.peer.address)
  local identity = call.identity
  return not identity and address or identity_key.of(identity) .. (identity.id == nil and address or "")
end

-- Counts a stream; false when its owner has too many.
local function begin_stream(server, owner)
  local count = (server.streams_of[owner] or 0) + 1
  if count > (server.options.max_identity_streams or limits.identity_streams) then
    return false
  end
  server.streams_of[owner] = count
  return true
end

local function end_stream(server, owner)
  local count = server.streams_of[owner] - 1
  server.streams_of[owner] = count > 0 and count or nil
end

local function stream(call, request, value, last_event_id)
  local server, media = call.server, event_stream.choose(request.headers.accept)
  if not media then
    return problem.refuse(call, 406, "VALIDATION_ERROR", "a stream is text/event-stream or application/x-ndjson")
  end
  local context, owner = context_of(call, request), owner_of(call, request)
  context.lastEventId = last_event_id
  if not begin_stream(server, owner) then
    return problem.refuse(call, 503, "BUSY", ("%d streams of this caller are open, no more are accepted"):format(
      server.streams_of[owner]), { ["retry-after"] = "1" })
  end
  local subscription, err = server.registry:subscribe(call.route.id, value, context)
  if not subscription then
    end_stream(server, owner)
    return exchange.conclude(call, nil, err)
  end
  local response, close = event_stream.response(subscription, media, {
    problem = function(failure)
      call.code = failure.code
      return failure.code ~= "ABORTED" and problem.answer(call, failure).body or nil
    end,
    heartbeat = server.options.heartbeat or limits.heartbeat,
    done = function()
      end_stream(server, owner)
      server.streams[call] = nil
      leave(call)
    end,
  })
  call.streams, server.streams[call] = true, close
  if request.left then
    request.left(function()
      close()
    end)
  end
  return response
end

-- The id of the last event that the reader of a stream saw: from the header, or from the query, because a page cannot
-- set headers.
local function take_last_event_id(request, query)
  local kept, found = {}, request.headers["last-event-id"]
  for pair in (query or ""):gmatch("[^&]+") do
    local id = pair:match("^lastEventId=(.*)$")
    if id then
      found = found or request_head.decode((id:gsub("%+", " ")))
    else
      kept[#kept + 1] = pair
    end
  end
  return found, table.concat(kept, "&")
end

-- The refusal of a request because too many run, or because the server drains; nil: it accepts one more.
local function refuse_more(call)
  local server = call.server
  if not server.draining and server.running < (server.options.max_requests or limits.requests) then
    return nil
  elseif server.draining then
    return problem.refuse(call, 503, "DRAINING", "the server is about to stop", { connection = "close" })
  end
  return problem.refuse(call, 503, "BUSY", ("%d requests are running, no more are accepted"):format(server.running))
end

-- Counts a call as running. Returns the refusal if the server accepts no further one.
local function admit_more(call)
  local refusal = refuse_more(call)
  if not refusal then
    enter(call)
  end
  return refusal
end

-- Reads the input of a call. Returns the refusal as well if it cannot be read.
local function read(call, request, query, values)
  local value, err, status = input.read(call.route, request, query, values, call.server.options)
  return value, err and problem.answer(call, err, status) or not call.counted and admit_more(call)
end

local function serve_stream(call, request, values)
  local last_event_id, query = take_last_event_id(request, call.query)
  local value, refusal = read(call, request, query, values)
  return refusal or stream(call, request, value, last_event_id)
end

local function serve_sink(call, request, values)
  local value, refusal = read(call, request, call.query, values)
  return refusal or run_sink(call, request, value)
end

-- Runs in a task of its own, which is cancelled when the caller leaves.
local function serve(worker, call, request, values)
  local server, route = call.server, call.route
  worker:on_wait(watch, call)
  local value, err, status = input.read(route, request, call.query, values, server.options)
  local refusal = err and problem.answer(call, err, status) or not call.counted and admit_more(call)
  if refusal then
    return refusal
  elseif server.answers and idempotency.concerns(route) then
    return idempotency.answer(call, request, value, run, problem.refuse)
  end
  return run(call, request, value)
end

-- Answers a request for the document.
local function describe(call, request)
  local method = request.method
  if method == "OPTIONS" then
    return { status = 204, headers = { allow = "GET, HEAD, OPTIONS" }, body = "" }
  elseif method ~= "GET" and method ~= "HEAD" then
    return problem.refuse(call, 405, "VALIDATION_ERROR", ("GET, HEAD, OPTIONS expected, got %s"):format(method),
      { allow = "GET, HEAD, OPTIONS" })
  end
  return document.answer(call.server, request, call.query, call.identity)
    or problem.refuse(call, 422, "VALIDATION_ERROR", "the query: version=3.1, version=3.2 or denied=true expected")
end

-- Serves an admitted call. An error that is raised here is a bug of the server: 500.
local function respond(call, request, route, values)
  local ok, response, err
  if route.kind ~= "subscription" and not route.output_media then
    response, err = task.enclose(nil, serve, call, request, values)
  else
    ok, response = pcall(route.output_media and serve_sink or serve_stream, call, request, values)
    if not ok then
      response, err = nil, (errors.from(response))
    end
  end
  if not call.streams then
    leave(call)
  end
  return response or problem.answer(call, err, 500)
end

-- Identifies the caller. Returns the refusal if the credentials are missing or invalid.
local function identify(call, request)
  local identity, err, status, headers = caller.identify(request, call.server.options)
  if err then
    return problem.answer(call, err, status, headers)
  end
  call.identity = identity
end

--- Answers a request that has passed the guard.
---@param call operations.ServerCall
---@param request operations.ServerRequest
---@return operations.ServerResponse
function exchange.answer(call, request)
  local server, below = call.server, call.below
  local response = server.options.authorize and identify(call, request)
  if response then
    return response
  elseif below == "/openapi.json" and server.options.openapi ~= false then
    return describe(call, request)
  end
  local place, values
  if below then
    place, values = server.routes:find(below)
  end
  if not place then
    return values and problem.answer(call, values) or admission.not_found(call)
  end
  local route = place.methods[request.method]
  response = admission.admit(call, request, place, route) or refuse_more(call)
  if response then
    return response
  elseif not request.breaks_off then
    enter(call)
  end
  return respond(call, request, route, values)
end

return exchange
