--- A server's messages over HTTP (Streamable HTTP): the answer to a POST, a JSON body or a stream of events that in the
--- legacy era is taken up again where it broke off; and the stream on which a legacy server says things by itself.
local limits = require("operations.base.limits")
local mcp_failure = require("operations.mcp.protocol.failure")
local requester = require("operations.mcp.client.requester")
local sse = require("operations.base.sse")
local task = require("operations.task")

--- LINGER: how long a stream that has given its answer may go on before its connection is closed, ms.
local reply = { LINGER = 2000 }

-- The events of a stream, over as many connections as it takes

-- The shortest time until a stream is opened again, whatever the server says, ms.
local SHORTEST = 50

---@class operations.mcp.EventReader
---@field last_id string  of the last event, "" when there was none with an id
---@field retry? integer  ms, as the server asked
---@field events integer  so far
---@field _parser? operations.SseParser  of the connection that it had enough of: there may be more of it
---@field _stream? operations.HttpStream  the connection
local EventReader = {}
EventReader.__index = EventReader

--- One for a stream that has not been read yet.
---@param max integer  bytes of one event
---@return operations.mcp.EventReader
function reply.reader(max)
  return setmetatable({ _max = max, last_id = "", events = 0 }, EventReader)
end

-- Hands over what the parser has; false when `on_event` has had enough.
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

--- Reads one connection, or goes on with it behind the event that was enough.
---@param stream operations.HttpStream
---@param on_event fun(event: string, data: string): boolean?  false: enough
---@return boolean ended  false: it had enough
---@return operations.Error? err  what ended the connection, when it was no proper end
function EventReader:run(stream, on_event)
  local parser = self._stream == stream and self._parser
  if not parser then
    parser = sse.parser(nil, { max_event = self._max, last_event_id = self.last_id })
  elseif hand_over(self, parser, on_event) == false then
    return false
  end
  while true do
    local chunk, err = stream:read()
    local fed, too_large = parser:feed(chunk or "\n\n") -- a last event without its blank line is one too
    if hand_over(self, parser, on_event) == false then
      self._parser, self._stream = parser, stream
      return false
    elseif not chunk then
      self.retry, self.last_id = parser:retry() or self.retry, parser:last_event_id() or self.last_id
      return true, err
    elseif not fed then
      stream:close()
      return true, too_large
    end
  end
end

--- How long to wait before the stream is opened again: as long as the server asks for, up to five minutes.
---@param failures integer  in a row
---@return number ms
function EventReader:delay(failures)
  local asked = math.min(self.retry or 1000, limits.reconnect_wait)
  return math.max(SHORTEST, asked, math.min(asked * 2 ^ (failures - 1), limits.first_byte_timeout))
end

-- The stream of a legacy server (2025-03-26 to 2025-11-25): opened with GET, opened again when it ends

-- The headers that open a stream behind the last event that was read.
local function resuming(link, reader)
  local all = link:headers("text/event-stream")
  all["Last-Event-ID"] = reader.last_id ~= "" and reader.last_id or nil
  return all
end

-- Opens the stream; nil when there is none to be had, or not now.
local function open(link, reader)
  local stream, err = requester.open(link._config, {
    url = link._config.url, method = "GET", headers = resuming(link, reader),
  })
  if not stream then
    return nil, err
  elseif requester.has_events(stream) then
    return stream
  end
  stream:close()
  return nil, nil, stream.status < 500
end

--- Listens until the link is closed or expired, the server has no such stream, or it fails too often in a row.
---@param link operations.mcp.Http
function reply.listen(link)
  local reader, failures = reply.reader(link._config.max_message), 0
  while not link.closed and not link.expired and failures < limits.reconnects do
    local stream, _, never = open(link, reader)
    if link._on_listening then
      link._on_listening()
    end
    if never then
      break
    end
    local before = reader.events
    if stream then
      reader:run(stream, function(event, data)
        if data ~= "" and event == "message" then
          link:receive(data)
        end
        return not link.closed and not link.expired
      end)
      stream:close()
    end
    failures = reader.events > before and 1 or failures + 1
    task.sleep(reader:delay(failures) / 1000)
  end
  link._listener = nil
end

-- Answers

local function protocol_error(text, details)
  return mcp_failure.new("protocol", text, details)
end

-- Is the request answered, or did its time run out?
local function is_over(entry, err)
  return entry.answered or err and (err.code == "TIMEOUT" or err.code == "ABORTED")
end

-- Opens a broken stream again behind its last event.
local function resume(self, reader, failures)
  task.sleep(reader:delay(failures) / 1000)
  return requester.events(self._config, resuming(self, reader))
end

local function lost(method, cause)
  return mcp_failure.new("lost",
    ("%s: the stream ended without the answer%s"):format(method, cause and ": " .. cause.message or ""),
    { cause = cause })
end

-- Reads one connection until the answer is there.
local function read_answer(self, stream, reader, entry, extend, on_progress)
  local interrupt = entry.wake
  entry.wake = function()
    stream:close()
  end
  local _, err = reader:run(stream, function(event, data)
    if data ~= "" and event == "message" then
      self:receive(data, entry)
    end
    local progress = entry.progress
    entry.progress = nil
    if progress then
      extend()
      if on_progress then
        on_progress(progress)
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

-- Follows a stream of events to the answer, in the legacy era over several connections.
local function follow(self, stream, method, entry, extend, on_progress)
  local reader, failures, refusal = reply.reader(self._config.max_message), 0, nil
  while true do
    local before, err = reader.events, refusal
    if stream then
      err = read_answer(self, stream, reader, entry, extend, on_progress)
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

-- Takes a body that is no stream: JSON, or what no server of the protocol says.
local function read_body(self, stream, media, method, entry, request)
  local body, err = requester.body(stream, self._config.max_message)
  if not body then
    return err
  end
  entry.wake = nil -- what comes now is not waited for
  local is_success = stream.status >= 200 and stream.status < 300
  -- A refusal may be JSON of another protocol, such as OAuth.
  if is_json(media, body) and (is_success or body:find('"jsonrpc"', 1, true)) then
    self:receive(body, entry, stream.status, not is_success and stream.headers or nil)
    if entry.answered then
      return nil
    end
  end
  local details = { statusCode = stream.status, headers = stream.headers, body = body }
  if not is_success then
    return requester.failure(request, stream, body)
  elseif is_json(media, body) then
    return protocol_error(("%s: the server answered something else: %s"):format(method,
      body:gsub("%s+", " "):sub(1, 200)), details)
  end
  return protocol_error(("%s: expected JSON or a stream of events, got content type %s: %s"):format(method,
    stream.headers["content-type"] or "none", body:gsub("%s+", " "):sub(1, 200)), details)
end

--- Takes the answer to a POST: the entry of the request is done then, or there is an error.
---@param self operations.mcp.Http
---@param stream operations.HttpStream
---@param method string
---@param entry operations.mcp.Entry
---@param request operations.mcp.HttpRequest  what was POSTed
---@param extend fun()  has the request's time begin anew
---@param on_progress? fun(params: table)
---@return operations.Error? err
function reply.take(self, stream, method, entry, request, extend, on_progress)
  local status, session, media = stream.status, request.session, requester.media_type(stream)
  if status == 404 and session then
    if self._session == session then
      self.expired, self._session = true, nil
    end
    stream:close()
    return mcp_failure.new("session", method .. ": the server has ended the session", { statusCode = status })
  elseif status == 202 or status == 204 then
    stream:close()
    return protocol_error(("%s: the request was answered with status %d and nothing else"):format(method,
      status), { statusCode = status })
  elseif status == 200 and media == "text/event-stream" then
    return follow(self, stream, method, entry, extend, on_progress)
  end
  return read_body(self, stream, media, method, entry, request)
end

return reply
