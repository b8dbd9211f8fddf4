--- One posted message on its way to its answer: JSON, or an event stream when messages precede the answer or it takes
--- long.
local channels = require("operations.mcp.server.channel")
local dispatch = require("operations.mcp.server.dispatch")
local limits = require("operations.base.limits")
local message = require("operations.mcp.protocol.message")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

local posted = {}

local codes = message.codes

--- A message as the answer.
---@param status integer
---@param value operations.mcp.Message
---@param more? table  headers
---@return operations.ServerResponse
function posted.json_response(status, value, more)
  local headers = { ["content-type"] = "application/json", ["cache-control"] = "no-store" }
  for name, field in pairs(more or {}) do
    headers[name] = field
  end
  local text, err = message.encode(value)
  if not text then
    text = assert(message.encode(message.failure(value.id, codes.INTERNAL_ERROR,
      "the result is not JSON: " .. err.message)))
  end
  return { status = status, headers = headers, body = text }
end

--- Refuses a request.
---@return operations.ServerResponse
function posted.refuse(status, text, code, id, more)
  return posted.json_response(status, message.failure(id, code or codes.INVALID_REQUEST, text), more)
end

--- An answer without a body.
---@return operations.ServerResponse
function posted.empty(status, more)
  return { status = status, headers = more or {}, body = "" }
end

local EVENTS = { ["content-type"] = "text/event-stream", ["cache-control"] = "no-store, no-transform",
  ["x-accel-buffering"] = "no" }

--- An event stream.
---@param server operations.McpServer
---@param body fun(): string?
---@return operations.ServerResponse
function posted.stream_response(server, body, more)
  local headers = {}
  for name, field in pairs(EVENTS) do
    headers[name] = field
  end
  for name, field in pairs(more or {}) do
    headers[name] = field
  end
  return { status = 200, headers = headers, body = body,
    heartbeat = { after = server.options.heartbeat, bytes = ":\n\n" } }
end

-- How much a client wants a media type, by the most specific entry of its Accept field (RFC 9110, 12.5.1), and how
-- specific that is: 2 the type, 1 its main type, 0 any type. A client without the field takes everything.
local function weight(accept, media)
  local any = { [media] = 2, [media:match("^[^/]+") .. "/*"] = 1, ["*/*"] = 0 }
  local found, level = 0, -1
  for entry in (accept and accept:find("%S") and accept or "*/*"):gmatch("[^,]+") do
    local specific = any[(entry:match("^%s*([^;%s]+)") or ""):lower()]
    if specific and specific > level then
      found, level = tonumber(entry:match(";%s*[qQ]=([%d.]+)")) or 1, specific
    end
  end
  return found, level
end

--- Does a client accept a media type?
---@param accept? string
---@param media string
---@return boolean
function posted.accepts(accept, media)
  return weight(accept, media) > 0
end

--- The form of a POST's answer, see `operations.mcp.Posted`; nil: the client takes neither.
---@param accept? string
---@return "json"|"events"|"both"|"any"|nil
function posted.form(accept)
  local wanted, level = weight(accept, "text/event-stream")
  if wanted <= 0 then
    return posted.accepts(accept, "application/json") and "json" or nil
  elseif not posted.accepts(accept, "application/json") then
    return "events"
  end
  return level > 0 and "both" or "any"
end

--- A POST on its way to its answer.
---@class operations.mcp.Posted
---@field server operations.McpServer
---@field form "json"|"events"|"both"|"any"  of its answer, by its Accept field; "any": JSON unless messages precede it
---@field call operations.mcp.ServerCall
---@field session? operations.mcp.ServerSession
---@field channel? operations.mcp.Channel  set when messages precede the answer
---@field answer? operations.mcp.Message
---@field failure? operations.mcp.Failure

local function is_resumable(session)
  return session ~= nil and session.peer.version ~= nil and session.peer.version >= "2025-11-25"
end

-- The stream for a request's messages, made when the first one is sent.
local function channel_of(self)
  local channel, session = self.channel, self.session
  if not channel then
    channel = session and session:stream() or channels.new()
    self.channel = channel
    if is_resumable(session) then
      channel:prime()
    end
    if self.wake then
      self.wake()
    end
  end
  return channel
end

-- Sends a message that precedes the answer. A client that takes no events gets it on the stream of its session.
local function send(self, value)
  if self.form == "json" then
    return self.session ~= nil and self.session:tell(value)
  end
  local text, err = message.encode(value)
  if text then
    channel_of(self):put(text, value.id == nil)
  else
    self.server.options.log("error", "a message is not JSON: " .. err.message)
  end
  return text ~= nil
end

local function enter(self)
  local server, call = self.server, self.call
  server.running, server.calls[call] = server.running + 1, true
  if self.session then
    self.session.peer.running[call.id] = call
  end
end

local function leave(self)
  local server, call = self.server, self.call
  server.running = server.running - 1
  server.calls[call] = nil
  if self.session then
    self.session.peer.running[call.id] = nil
    server.sessions:touch(self.session)
  end
  if server.running == 0 and server.on_idle then
    server.on_idle()
  end
end

local function run(self)
  self.call.worker = task.current()
  self.answer, self.failure = dispatch.answer(self.call)
  leave(self)
  local is_refused = self.failure and self.failure.status
  local channel = self.form == "events" and not is_refused and channel_of(self) or self.channel
  if channel then
    if not self.call.cancelled then
      local text, err = message.encode(self.answer)
      channel:put(text or message.encode(message.failure(self.call.id, codes.INTERNAL_ERROR,
        "the result is not JSON: " .. err.message)))
    end
    if self.session then
      self.session:finish(channel)
    else
      channel:close()
    end
  elseif self.wake then
    self.wake()
  end
end

--- The first output: the answer, or the beginning of a stream.
---@param self operations.mcp.Posted
---@param more? table  headers
---@return operations.ServerResponse
function posted.response(self, more)
  local channel = self.channel
  if channel then
    local body, reader = channel:body(0)
    self.reader = reader
    return posted.stream_response(self.server, body, more)
  elseif self.call.cancelled then
    return posted.empty(self.session and 202 or 499, more)
  end
  local failure, noted = self.failure or {}, self.call.http.call
  if noted and self.failure then
    noted.code = noted.code or ("MCP_%d"):format(failure.code)
  end
  return posted.json_response(failure.status or 200, self.answer, failure.headers or more)
end

-- Waits for the answer, or for the first message before it. A slow call begins its stream meanwhile, so that a client
-- whose connection is cut resumes and gets the result (2025-11-25); without such ids, so that comments keep the
-- connection open.
local function wait_for_output(self)
  local names_events = self.form == "both" or self.form == "events"
  local stop
  task.await(function(wake)
    self.wake = wake
    stop = names_events and scheduler.host().timer(is_resumable(self.session) and limits.mcp_slow
      or self.server.options.heartbeat, function()
      if self.wake then
        channel_of(self)
      end
    end)
    return stop or nil
  end)
  self.wake = nil
  if stop then
    stop()
  end
end

-- When the caller disconnects, cancels the request (modern era).
local function watch(self, request)
  if not request.left then
    return
  end
  request.left(function()
    if not self.session then
      self.call:cancel("the client has left")
    elseif self.reader and self.channel.reader == self.reader then
      self.channel:hang_up()
    end
  end)
end

--- Runs a request in its own task, and waits for the first output.
---@param server operations.McpServer
---@param request operations.ServerRequest
---@param value operations.mcp.Message
---@param peer operations.mcp.Peer
---@param session? operations.mcp.ServerSession
---@return operations.mcp.Posted
function posted.begin(server, request, value, peer, session)
  local self = { server = server, session = session, form = posted.form(request.headers.accept) }
  local call = dispatch.call(peer, value, function(sent)
    return send(self, sent)
  end, request)
  call.hang_up = is_resumable(session) and self.form ~= "json" and function(retry)
    channel_of(self):prime(retry)
    task.sleep(0)
    self.channel:hang_up()
  end or nil
  call.takes_events = self.form ~= "json"
  request.peer = request.peer -- nginx tells it only here, in the thread of the request
  self.call, call.request_id = call, request.call and request.call.id
  enter(self)
  watch(self, request)
  call.worker = task.detach(run, self)
  if not self.answer and not self.channel then
    wait_for_output(self)
  end
  return self
end

--- Runs a request of a batch in the calling task; its notifications go to the session's stream.
---@return operations.mcp.Message? answer  nil: it was cancelled
function posted.of_batch(server, request, value, session)
  local self = { server = server, session = session }
  self.call = dispatch.call(session.peer, value, function(sent)
    return session:tell(sent)
  end, request)
  enter(self)
  run(self)
  return not self.call.cancelled and self.answer or nil
end

return posted
