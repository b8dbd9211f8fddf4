--- From a request to its answer: identifies the caller, finds the operation, reads the input, makes the call.
local caching = require("operations.server.caching")
local caller = require("operations.server.caller")
local disclosure = require("operations.base.disclosure")
local document = require("operations.server.document")
local errors = require("operations.base.error")
local event_stream = require("operations.server.event_stream")
local idempotency = require("operations.server.idempotency")
local identity_key = require("operations.base.identity_key")
local input_reader = require("operations.server.input_reader")
local limits = require("operations.base.limits")
local operation_guard = require("operations.registry.guard")
local problem = require("operations.server.problem")
local relaying = require("operations.server.relaying")
local request_head = require("operations.server.request_head")
local respond_async = require("operations.server.respond_async")
local routes = require("operations.server.route")
local sink = require("operations.server.sink")
local success = require("operations.server.success")
local task = require("operations.task")

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
local answering = {}

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
---@field owner? string  whose share it takes, computed on first use
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
    call.counted, server.running = false, server.running - 1
    if server.running == 0 and server.on_idle then
      server.on_idle()
    end
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
    response, err = success.answer(envelope, call.route, cache and caching.control(call, cache))
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
    made.timeout = headers["request-timeout-ms"] and request_head.timeout(headers, options) or options.timeout
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
  local context = context_of(call, request)
  return call.route.task and respond_async.start(call, value, context, conclude)
    or conclude(call, call.server.registry:execute(call.route.id, value, context))
end

-- Calls an operation whose result is a body, which it may send in pieces.
local function run_sink(call, request, value)
  local server, context = call.server, context_of(call, request)
  local begun = call.route.task and respond_async.start(call, value, context, conclude)
  if begun then
    return begun
  end
  local response, envelope, err = sink.run(server.registry, call.route, value, context, function(worker)
      watch(call, worker)
    end, function()
      leave(call)
    end)
  call.streams = response ~= nil
  return response or conclude(call, envelope, err)
end

-- Whose share a request takes.
local function owner_of(call)
  if not call.owner then
    local address, identity = tostring(call.request.peer and call.request.peer.address), call.identity
    call.owner = not identity and address or identity_key.of(identity) .. (identity.id == nil and address or "")
  end
  return call.owner
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

local function too_many_streams(call, owner)
  return problem.refuse(call, 503, "BUSY", ("%d streams of this caller are open, no more are accepted"):format(
    call.server.streams_of[owner]), { ["retry-after"] = "1" })
end

local function end_stream(server, owner)
  local count = server.streams_of[owner] - 1
  server.streams_of[owner] = count > 0 and count or nil
end

-- Sends events until they end or their reader leaves.
local function send_events(call, request, events, media)
  local server, owner = call.server, owner_of(call)
  local response, close = event_stream.response(events, media, {
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

local function stream(call, request, value, last_event_id)
  local server, media = call.server, event_stream.choose(request.headers.accept)
  if not media then
    return problem.refuse(call, 406, "VALIDATION_ERROR", "a stream is text/event-stream or application/x-ndjson")
  end
  local context, owner = context_of(call, request), owner_of(call)
  context.lastEventId = last_event_id
  if not begin_stream(server, owner) then
    return too_many_streams(call, owner)
  end
  local subscription, err = server.registry:subscribe(call.route.id, value, context)
  if not subscription then
    end_stream(server, owner)
    return conclude(call, nil, err)
  end
  return send_events(call, request, subscription, media)
end

-- As `stream`, for the states of a job.
local function stream_states(call, events)
  local owner = owner_of(call)
  if not begin_stream(call.server, owner) then
    return too_many_streams(call, owner)
  end
  return send_events(call, call.request, events, "text/event-stream")
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

-- The refusal of a request whose caller runs as many as one may. Owners are compared only where so many run at all.
local function refuse_owner(call)
  local server, count = call.server, 0
  local most = server.options.max_identity_requests or limits.identity_requests
  if server.running < most then
    return nil
  end
  for running in pairs(server.workers) do
    count = count + (owner_of(running) == owner_of(call) and running ~= call and 1 or 0)
  end
  return count >= most and problem.refuse(call, 503, "BUSY", ("%d requests of this caller are running, no more are "
    .. "accepted"):format(count), { ["retry-after"] = "1" }) or nil
end

-- The refusal of a request because too many run, or because the server drains; nil: it accepts one more.
local function refuse_more(call)
  local server = call.server
  if server.draining then
    return problem.refuse(call, 503, "DRAINING", "the server is about to stop", { connection = "close" })
  elseif server.running >= (server.options.max_requests or limits.requests) then
    return problem.refuse(call, 503, "BUSY", ("%d requests are running, no more are accepted"):format(server.running))
  end
  return refuse_owner(call)
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
  local value, err, status = input_reader.read(call.route, request, query, values, call.server.options)
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

-- Sends a request on, and its answer back; `done` is called at the end.
local function send_on(call, request, relay, done)
  local response, envelope, err = relaying.run(call, relay, context_of(call, request), function(worker)
    watch(call, worker)
    if relay.streams then
      call.server.streams[call] = function()
        worker:cancel("draining")
      end
    end
  end, done)
  call.streams = response ~= nil
  return response or conclude(call, envelope, err)
end

-- As `send_on`, for an answer that is a stream: one of its caller's share.
local function send_on_stream(call, request, relay)
  local server, owner = call.server, owner_of(call)
  if not begin_stream(server, owner) then
    return too_many_streams(call, owner)
  end
  relay.streams = true
  return send_on(call, request, relay, function()
    end_stream(server, owner)
    server.streams[call] = nil
    leave(call)
  end)
end

-- The answer where nothing is. Unknown and hidden operations get the same one.
local function not_found(call)
  return problem.refuse(call, 404, "OPERATION_NOT_FOUND", ("nothing is at %s"):format(call.path))
end

-- Answers a request about a job.
local function serve_job(worker, call, job)
  worker:on_wait(watch, call)
  return respond_async.at(call, job, { conclude = conclude, stream = stream_states, not_found = not_found })
end

-- Serves an imported operation as its own document says.
local function serve_relay(call, request)
  local relay, err, status = relaying.read(call, request, call.route.relay, call.query)
  local refusal = err and problem.answer(call, err, status) or not call.counted and admit_more(call)
  if refusal then
    return refusal
  elseif call.route.kind == "subscription" then
    return send_on_stream(call, request, relay)
  end
  return send_on(call, request, relay, function()
    leave(call)
  end)
end

-- Runs in a task of its own, which is cancelled when the caller leaves.
local function serve(worker, call, request, values)
  local server, route = call.server, call.route
  worker:on_wait(watch, call)
  local value, err, status = input_reader.read(route, request, call.query, values, server.options)
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
    or problem.refuse(call, 422, "VALIDATION_ERROR", "the query: version=3.0, 3.1 or 3.2, or denied=true expected")
end

-- Serves an admitted call. An error that is raised here is a bug of the server: 500.
local function respond(call, request, route, values)
  local ok, response, err
  if route.relay then
    ok, response = pcall(serve_relay, call, request)
    if not ok then
      response, err = nil, (errors.from(response))
    end
  elseif route.kind ~= "subscription" and not route.output_media then
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

-- Answers an admitted request about a job.
local function respond_job(call, job)
  enter(call)
  local response, err = task.enclose(nil, serve_job, call, job)
  if not call.streams then
    leave(call)
  end
  return response or problem.answer(call, err, 500)
end

local function sight_of(call, route)
  local server = call.server
  local sight = server.registry:visible(route.id, call.identity, server.options.filter)
  return sight == "denied" and server.options.hide_denied and "hidden" or sight
end

-- The value of Allow with the methods that this caller may know of; nil: there are none.
local function allowed(call, place)
  if place.public then
    return place.allow
  end
  local seen = {}
  for method, route in pairs(place.methods) do
    seen[method] = sight_of(call, route) ~= "hidden" and route or nil
  end
  return next(seen) and routes.allow(seen)
end

-- The answer to a method that this caller cannot use at a place.
local function tell_methods(call, request, place)
  local allow = allowed(call, place)
  if not allow then
    return not_found(call)
  elseif request.method == "OPTIONS" then
    return { status = 204, body = "", headers = { allow = allow,
      ["accept-query"] = allow:find("QUERY", 1, true) and "application/json" or nil } }
  end
  return problem.refuse(call, 405, "VALIDATION_ERROR", ("%s expected, got %s"):format(allow, request.method),
    { allow = allow })
end

-- Sets the route of a call. Returns the refusal if the caller may not use this method of the path, or nothing has it.
local function admit(call, request, place, route)
  local sight = route and (place.public and "yes" or sight_of(call, route))
  if not route or sight == "hidden" then
    if route then
      operation_guard.hidden(call.server.registry, route.id, { identity = call.identity })
    end
    return tell_methods(call, request, place)
  end
  call.route = route
  if sight == "denied" then
    local _, err, status, headers = caller.deny(route.spec, call.identity, call.server.options.authorize)
    return problem.answer(call, err, status, headers)
  end
end

-- Identifies the caller. Returns the refusal if the credentials are missing or invalid.
local function identify(call, request)
  local identity, err, status, headers = caller.identify(request, call.server.options)
  if err then
    return problem.answer(call, err, status, headers)
  end
  call.identity = identity
end

-- The place of a path that was not found. It may be that of an MCP server that is connecting: it is waited for, as the
-- lists of MCP do.
local function find_later(server, below)
  local place, values
  for _, upstream in ipairs(server.options.upstreams or {}) do
    if upstream.wait then
      upstream:wait(limits.mcp_wait)
      place, values = server.routes:find(below)
    end
    if place or values then
      break
    end
  end
  return place, values
end

--- Answers a request that has passed the guard.
---@param call operations.ServerCall
---@param request operations.ServerRequest
---@return operations.ServerResponse
function answering.answer(call, request)
  local server, below = call.server, call.below
  local response = server.options.authorize and identify(call, request)
  if response then
    return response
  elseif below == "/openapi.json" and server.options.openapi ~= false then
    return describe(call, request)
  end
  local place, values
  local job = below and server.options.tasks ~= false and respond_async.place(below)
  if job then
    return refuse_more(call) or respond_job(call, job)
  elseif below then
    place, values = server.routes:find(below)
    if not place and not values then
      place, values = find_later(server, below)
    end
  end
  if not place then
    return values and problem.answer(call, values) or not_found(call)
  end
  local route = place.methods[request.method]
  response = admit(call, request, place, route) or refuse_more(call)
  if response then
    return response
  elseif not request.breaks_off then
    enter(call)
  end
  return respond(call, request, route, values)
end

return answering
