--- Streamable HTTP: requests of both eras at one path. A request is answered by JSON, or by an event stream when
--- messages precede the answer.
local caller = require("operations.server.caller")
local core = require("operations.core")
local dispatch = require("operations.mcp.server.dispatch")
local guard = require("operations.server.guard")
local input_reader = require("operations.server.input_reader")
local message = require("operations.mcp.protocol.message")
local negotiation = require("operations.mcp.protocol.negotiation")
local peers = require("operations.mcp.server.peer")
local posted = require("operations.mcp.server.posted")
local request_head = require("operations.server.request_head")
local sessions = require("operations.mcp.server.session")
local state = require("operations.mcp.server.state")
local task = require("operations.task")

local http = {}

local codes = message.codes
local json_response, refuse, empty = posted.json_response, posted.refuse, posted.empty

-- Why one more request of a caller is not accepted; nil: it is.
local function fullness(server, request, identity)
  local most, count = server.options.max_identity_requests, 0
  if server.running >= server.options.max_requests then
    return ("%d requests are running, no more are accepted"):format(server.running)
  elseif server.running < most then
    return nil
  end
  local owner = sessions.owner(request, identity)
  for call in pairs(server.calls) do
    call.owner = call.owner or sessions.owner(call.http, call.identity)
    count = count + (call.owner == owner and 1 or 0)
  end
  return count >= most and ("%d requests of this caller are running, no more are accepted"):format(count) or nil
end

local function busy(server, request, identity, id)
  local full = not server.draining and fullness(server, request, identity)
  if request.call and (full or server.draining) then
    request.call.code = full and "BUSY" or "DRAINING"
  end
  if server.draining then
    return json_response(503, message.failure(id, codes.INTERNAL_ERROR, "the server is about to stop",
      { code = "DRAINING" }), { connection = "close" })
  elseif full then
    return json_response(503, message.failure(id, codes.INTERNAL_ERROR, full, { code = "BUSY" }),
      { ["retry-after"] = "1" })
  end
end

local function modern(server, request, value, kind, identity)
  if kind ~= "request" then
    return empty(202)
  end
  local program = server.workers and type(value.params) == "table" and state.program(value.params.requestState)
  local elsewhere = program and server.workers:forward(request, program, message.encode(value))
  if elsewhere then
    return elsewhere
  end
  return busy(server, request, identity, value.id)
    or posted.response(posted.begin(server, request, value, peers.new(server, function() end, identity)))
end

local function initialize(server, request, value, identity)
  local session = server.sessions:open(sessions.credential(request, identity), identity,
    sessions.owner(request, identity))
  if not session then
    return refuse(503, "there are too many sessions", codes.INTERNAL_ERROR, value.id, { ["retry-after"] = "1" })
  end
  local begun = posted.begin(server, request, value, session.peer, session)
  if begun.failure then
    server.sessions:remove(session, "initialize failed")
    return posted.response(begun)
  end
  return posted.response(begun, { ["mcp-session-id"] = session.id })
end

-- The session of a legacy request; or nil and a refusal.
local function session_of(server, request, identity, id)
  local named = request.headers["mcp-session-id"]
  local version = request.headers["mcp-protocol-version"]
  if not named then
    return nil, refuse(400, "Mcp-Session-Id is missing; initialize gives one", nil, id)
  elseif version and not negotiation.is_known(version) then
    return nil, refuse(400, ("MCP-Protocol-Version: %s is not supported"):format(version), nil, id)
  end
  local session = server.sessions:find(named, sessions.credential(request, identity))
  if not session then
    return nil, refuse(404, "there is no such session; initialize opens a new one", -32001, id)
  end
  session.peer.identity = identity
  return session
end

local function legacy_one(server, request, value, kind, session)
  if kind == "notification" then
    session.peer:notified(value)
    return empty(202)
  elseif kind == "answer" then
    session.peer:answered(value)
    return empty(202)
  elseif session.peer.running[value.id] then
    return refuse(400, "a request with this id is already running", nil, value.id)
  end
  return busy(server, request, session.peer.identity, value.id)
    or posted.response(posted.begin(server, request, value, session.peer, session))
end

local function run_of_batch(server, request, value, session)
  if session.peer.running[value.id] then
    return message.failure(value.id, codes.INVALID_REQUEST, "a request with this id is already running")
  end
  local full = fullness(server, request, session.peer.identity)
  if full then
    return message.failure(value.id, codes.INTERNAL_ERROR, full, { code = "BUSY" })
  end
  return posted.of_batch(server, request, value, session)
end

-- A batch (revision 2025-03-26): answered by an array when all requests are done.
local function legacy_batch(server, request, values, session)
  local answers, tasks, texts = {}, {}, {}
  for i = 1, #values do
    local kind, problem = message.kind(values[i])
    if not kind then
      answers[i] = message.failure(message.id_in(values[i]), codes.INVALID_REQUEST, "Invalid Request: " .. problem)
    elseif kind == "request" then
      tasks[i] = task.spawn(run_of_batch, server, request, values[i], session)
    else
      legacy_one(server, request, values[i], kind, session)
    end
  end
  for i = 1, #values do
    local answer = answers[i] or tasks[i] and tasks[i]:wait()
    texts[#texts + 1] = answer and posted.json_response(200, answer).body
  end
  if #texts == 0 then
    return empty(202)
  end
  return { status = 200, headers = { ["content-type"] = "application/json", ["cache-control"] = "no-store" },
    body = "[" .. table.concat(texts, ",") .. "]" }
end

local function legacy(server, request, value, kind, identity)
  if kind == "request" and value.method == "initialize" then
    return busy(server, request, identity, value.id) or initialize(server, request, value, identity)
  end
  local session, refusal = session_of(server, request, identity, kind == "request" and value.id or nil)
  if not session then
    return refusal
  elseif kind == "batch" then
    if session.peer.version ~= "2025-03-26" then
      return refuse(400, "Invalid Request: batches are not supported")
    elseif #value > server.options.max_batch then
      return refuse(400, ("Invalid Request: a batch of %d messages; %d are allowed"):format(#value,
        server.options.max_batch))
    end
    return busy(server, request, identity) or legacy_batch(server, request, value, session)
  end
  return legacy_one(server, request, value, kind, session)
end

local function post(server, request, identity)
  local media = (request.headers["content-type"] or ""):match("^%s*([^;%s]*)"):lower()
  if media ~= "application/json" then
    return refuse(415, "application/json expected")
  end
  if not posted.form(request.headers.accept) then
    return refuse(406, "Accept has to list application/json or text/event-stream")
  end
  local body, err, status = input_reader.body(request, server.options.max_body)
  if not body then
    return refuse(status or 400, err.message)
  end
  local value, flaw = message.decode(body)
  if flaw then
    return refuse(400, "Parse error: " .. flaw.message, -32700)
  end
  local kind, problem = message.kind(value)
  if request.call then
    request.call.mcp = kind and kind ~= "answer" and value.method or nil
  end
  if core.kind(value) == "array" and value[1] ~= nil then
    kind = "batch"
  elseif not kind then
    return refuse(400, "Invalid Request: " .. problem, nil, message.id_in(value))
  end
  if kind ~= "batch" and kind ~= "answer" and dispatch.is_modern(value, request.headers["mcp-protocol-version"]) then
    return modern(server, request, value, kind, identity)
  end
  return legacy(server, request, value, kind, identity)
end

-- Opens the stream of notifications, or resumes it.
local function get(server, request, identity)
  if not posted.accepts(request.headers.accept, "text/event-stream") then
    return refuse(406, "Accept has to list text/event-stream")
  end
  local session, refusal = session_of(server, request, identity)
  if not session then
    return refusal
  end
  local last, at = request.headers["last-event-id"], 0
  local stream
  if last then
    stream, at = session:find(last)
    if not stream then
      return refuse(400, "Last-Event-ID: the event is no longer available")
    end
  else
    stream = session:stream()
    if session.general then
      session:finish(session.general)
    end
    session.general = stream
    if session.peer.version >= "2025-11-25" then
      stream:prime()
    end
  end
  local body, reader = stream:body(at)
  if request.left then
    request.left(function()
      if stream.reader == reader then
        stream:hang_up()
      end
    end)
  end
  return posted.stream_response(server, body)
end

local function delete(server, request, identity)
  local session, refusal = session_of(server, request, identity)
  if not session then
    return refusal
  end
  server.sessions:remove(session, "the client has ended the session")
  return empty(204)
end

local methods = { POST = post, GET = get, DELETE = delete }

--- Answers one HTTP request. May wait.
---@param server operations.McpServer
---@param request operations.ServerRequest
---@return operations.ServerResponse
function http.handle(server, request)
  local path = request_head.split(request.target)
  local malformed = request_head.path_flaw(path) or server.proxies and server.proxies:apply(request)
  local flaw = malformed or guard.check(request, server.options)
  local cors = server.cors
  local response = flaw and refuse(malformed and 400 or 403, flaw) or cors and cors:preflight(request)
    or server.workers and server.workers:forward(request) or http.answer(server, request)
  if cors then
    cors:share(request, response)
  end
  return response
end

--- Answers a request that passed the guards.
---@param server operations.McpServer
---@param request operations.ServerRequest
---@return operations.ServerResponse
function http.answer(server, request)
  request.token = request_head.bearer(request.headers)
  local options, method = server.options, methods[request.method]
  if not method then
    return refuse(405, "POST, GET or DELETE expected", nil, nil, { allow = "DELETE, GET, POST" })
  end
  local identity, err, status, headers = caller.identify(request, options)
  local noted = request.call or {} -- of the access log
  noted.identity, noted.code = identity, err and err.code
  if err then
    return refuse(status, err.message, nil, nil, headers)
  end
  return method(server, request, identity)
end

return http
