--- A server's messages over HTTP (Streamable HTTP): the answer to a POST, a JSON body or a stream of events, which in
--- the legacy era is resumed after a lost connection; and the stream for messages of a legacy server.
local limits = require("operations.base.limits")
local mcp_failure = require("operations.mcp.protocol.failure")
local requester = require("operations.mcp.client.requester")
local scheduler = require("operations.task.scheduler")
local sse = require("operations.base.sse")
local task = require("operations.task")

--- LINGER: how long a stream may continue after its answer before its connection is closed, ms.
local reply = { LINGER = 2000 }

-- The events of a stream, over as many connections as necessary.

-- The shortest time before a stream is opened again, ms, whatever the server says.
local SHORTEST = 50

---@class operations.mcp.EventReader
---@field last_id string  of the last event, "" without one
---@field retry? integer  ms, as the server asked
---@field events integer  the number of events so far
---@field _parser? operations.SseParser  of the connection where reading stopped: it may have more events
---@field _stream? operations.HttpStream  the connection
local EventReader = {}
EventReader.__index = EventReader

--- Makes a reader for a new stream.
---@param max integer  bytes of one event
---@return operations.mcp.EventReader
function reply.reader(max)
  return setmetatable({ _max = max, last_id = "", events = 0 }, EventReader)
end

-- Passes the parser's events on; false when `on_event` wants no more.
local function hand_over(self, parser, on_event)
  local data, event, id, retry = parser:next_values()
  while data do
    self.last_id, self.retry, self.events = id or self.last_id, retry or self.retry, self.events + 1
    if on_event(event, data) == false then
      return false
    end
    data, event, id, retry = parser:next_values()
  end
end

--- Reads one connection, or continues it after the event where it stopped.
---@param stream operations.HttpStream
---@param on_event fun(event: string, data: string): boolean?  false: enough
---@return operations.Error? err  the error that ended the connection
function EventReader:run(stream, on_event)
  local parser = self._stream == stream and self._parser
  if not parser then
    parser = sse.parser(nil, { max_event = self._max, last_event_id = self.last_id })
  elseif hand_over(self, parser, on_event) == false then
    return nil
  end
  while true do
    local chunk, err = stream:read()
    local fed, too_large = parser:feed(chunk or "\n\n") -- ends a last event without its blank line
    if hand_over(self, parser, on_event) == false then
      self._parser, self._stream = parser, stream
      return nil
    elseif not chunk then
      self.retry, self.last_id = parser:retry() or self.retry, parser:last_event_id() or self.last_id
      return err
    elseif not fed then
      stream:close()
      return too_large
    end
  end
end

--- The wait before the stream is opened again: the server's, up to five minutes.
---@param failures integer  consecutive ones; 0: the connection had events
---@return number ms
function EventReader:delay(failures)
  local asked = math.min(self.retry or 1000, limits.reconnect_wait)
  return math.max(SHORTEST, asked, math.min(asked * 2 ^ (failures - 1), limits.first_byte_timeout))
end

-- The stream of a legacy server (2025-03-26 to 2025-11-25): opened by GET, and again when it ends.

-- The headers that resume a stream after the last event read.
local function resuming(link, reader)
  local all = link:headers("text/event-stream")
  all["Last-Event-ID"] = reader.last_id ~= "" and reader.last_id or nil
  return all
end

-- Opens the stream; nil if the server has none, or not now, and the status of the refusal or the error.
local function open(link, reader)
  local stream, err = requester.open(link._config, {
    url = link._config.url, method = "GET", headers = resuming(link, reader),
  })
  if not stream or requester.has_events(stream) then
    return stream, nil, err
  end
  stream:close()
  return nil, stream.status
end

-- The session is lost: the server refuses the stream that it had given, or cannot be reached any more.
local function lose(link, session, text, details)
  if session and link._session == session and not link.closed and not link.expired and link._events.expired then
    link._events.expired(mcp_failure.new("session", text, details))
  end
end

--- Listens until the link is closed or expired, or the server has no such stream. A stream that the server had and that
--- cannot be opened again is a lost session.
---@param link operations.mcp.Http
function reply.listen(link)
  local reader, failures, had, session = reply.reader(link._config.max_message), 0, false, link._session
  while not link.closed and not link.expired do
    local stream, status, err = open(link, reader)
    if link._on_listening then
      link._on_listening()
    end
    if status and status < 500 then
      if had and (status == 404 or status == 400) then
        lose(link, session, ("the server has ended the session: status %d"):format(status), { statusCode = status })
      end
      break
    end
    local before, opened = reader.events, scheduler.now()
    if stream then
      had = true
      reader:run(stream, function(event, data)
        if data ~= "" and event == "message" then
          link:receive(data)
        end
        return not link.closed and not link.expired
      end)
      stream:close()
    end
    local lasted = stream and scheduler.now() - opened >= limits.mcp_stable
    failures = (lasted or reader.events > before) and 0 or failures + 1
    if link._session ~= session then -- another session: nothing of the old one is resumed
      reader, session, failures, had = reply.reader(link._config.max_message), link._session, 0, false
    elseif failures >= limits.reconnects then
      if err and had then
        lose(link, session, "the server's stream cannot be opened again" .. (err and ": " .. err.message or ""))
      end
      break
    end
    task.sleep(reader:delay(failures) / 1000)
  end
  link._listener = nil
end

-- Answers.

local function protocol_error(text, details)
  return mcp_failure.new("protocol", text, details)
end

-- Is the request answered, or has its time expired?
local function is_over(entry, err)
  return entry.answered or err and (err.code == "TIMEOUT" or err.code == "ABORTED")
end

-- Resumes a lost stream after its last event.
local function resume(self, reader, failures)
  task.sleep(reader:delay(failures) / 1000)
  return requester.events(self._config, resuming(self, reader))
end

local function lost(method, cause)
  return mcp_failure.new("lost",
    ("%s: the stream ended without the answer%s"):format(method, cause and ": " .. cause.message or ""),
    { cause = cause })
end

-- Reads one connection until the answer comes.
local function read_answer(self, post, stream, reader)
  local entry, is_receiving = post.entry, false
  local interrupt = entry.wake
  entry.wake = function()
    if not is_receiving then -- it was answered on another stream, or failed
      stream:close()
    end
  end
  local err = reader:run(stream, function(event, data)
    if data ~= "" and event == "message" then
      is_receiving = true
      self:receive(data, entry)
      is_receiving = false
    end
    local progress = entry.progress
    entry.progress = nil
    if progress then
      post.extend()
      if post.options.on_progress then
        post.options.on_progress(progress)
      end
    end
    if entry.answered then
      stream:linger(reply.LINGER)
      return false
    end
  end)
  entry.wake = interrupt
  return err
end

-- Reads a stream of events until the answer, in the legacy era over several connections.
local function follow(self, post)
  local stream, method, entry = post.stream, post.method, post.entry
  local reader, failures, refusal = reply.reader(self._config.max_message), 0, nil
  while true do
    local before, err = reader.events, refusal
    if stream then
      err = read_answer(self, post, stream, reader)
    end
    failures = reader.events > before and 1 or failures + 1
    if is_over(entry, err) then
      return err
    elseif self._modern or reader.last_id == "" or err and err.details.kind == "size"
      or failures > limits.reconnects then
      return lost(method, err)
    end
    stream, refusal = resume(self, reader, failures)
    if not stream and not is_over(entry, refusal) and refusal.details.statusCode then
      return lost(method, refusal)
    end
  end
end

local function is_json(media, body)
  return media == "application/json" or media:find("%+json$") ~= nil
    or media == "" and body:find("^[%s\239\187\191]*[{[]") ~= nil
end

-- Handles a body other than a stream: JSON, or something outside the protocol.
local function read_body(self, post, media)
  local stream, method, entry = post.stream, post.method, post.entry
  local body, err = requester.body(stream, self._config.max_message)
  if not body then
    return err
  end
  entry.wake = nil -- later events are ignored
  local is_success = stream.status < 300
  -- A refusal may be JSON of another protocol, such as OAuth.
  if is_json(media, body) and (is_success or body:find('"jsonrpc"', 1, true)) then
    self:receive(body, entry, stream.status, not is_success and stream.headers or nil)
    if entry.answered then
      return nil
    end
  end
  local details = { statusCode = stream.status, headers = stream.headers, body = body }
  if not is_success then
    return requester.failure(post.request, stream, body)
  elseif is_json(media, body) then
    return protocol_error(("%s: the server answered something else: %s"):format(method,
      body:gsub("%s+", " "):sub(1, 200)), details)
  end
  return protocol_error(("%s: expected JSON or a stream of events, got content type %s: %s"):format(method,
    stream.headers["content-type"] or "none", body:gsub("%s+", " "):sub(1, 200)), details)
end

-- The server has ended the session. `details.cause` is its refusal, if it may have another reason.
local function session_lost(self, session, method, details)
  local err = mcp_failure.new("session", method .. ": the server has ended the session", details)
  if self._session == session then
    self.expired, self._session = true, nil
    if self._events.expired then
      self._events.expired(err)
    end
  end
  return err
end

-- Servers that have lost their sessions answer 400 to a request with one; the refusal of a request has its id.
local function read_refusal(self, post, media)
  local method, entry, session = post.method, post.entry, post.request.session
  local err = read_body(self, post, media)
  if err and err.details and err.details.statusCode == 400 then
    return session_lost(self, session, method, { statusCode = 400, cause = err })
  elseif entry.answer and entry.answer.error and entry.was_nameless then
    entry.answer, entry.err = nil, session_lost(self, session, method, { statusCode = 400,
      cause = mcp_failure.of_answer(entry.answer.error, method, { method = method, statusCode = 400 }) })
  end
  return err
end

---@class operations.mcp.Post  a request that was posted, and the beginning of its answer
---@field method string
---@field params? table
---@field options operations.mcp.RequestOptions
---@field entry operations.mcp.Entry
---@field request operations.mcp.HttpRequest
---@field stream operations.HttpStream
---@field extend fun()  restarts the request's timeout

--- Handles the answer to a POST: afterwards the request's entry is done, or there is an error.
---@param self operations.mcp.Http
---@param post operations.mcp.Post
---@return operations.Error? err
function reply.take(self, post)
  local stream, method, session = post.stream, post.method, post.request.session
  local status, media = stream.status, requester.media_type(stream)
  if status == 404 and session then
    stream:close()
    return session_lost(self, session, method, { statusCode = status })
  elseif status == 400 and session and not self._modern then
    return read_refusal(self, post, media)
  elseif status == 202 or status == 204 then
    stream:close()
    return protocol_error(("%s: the request was answered with status %d and nothing else"):format(method,
      status), { statusCode = status })
  elseif status == 200 and media == "text/event-stream" then
    return follow(self, post)
  end
  return read_body(self, post, media)
end

return reply
