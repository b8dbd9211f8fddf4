--- Answers to what is POSTed (Streamable HTTP): a JSON body, or a stream of events that in the legacy era is taken up
--- again where it broke off.
local errors = require("operations.base.error")
local event_reader = require("operations.mcp.client.event_reader")
local limits = require("operations.base.limits")
local requester = require("operations.mcp.client.requester")
local task = require("operations.task")

--- LINGER: how long a stream that has given its answer may go on before its connection is closed, ms.
local reply = { LINGER = 2000 }

local function protocol_error(text, details)
  details.kind = details.kind or "protocol"
  return errors.new("EXECUTION_ERROR", text, details)
end

-- Is the request answered, or did its time run out?
local function is_over(entry, err)
  return entry.answered or err and (err.code == "TIMEOUT" or err.code == "ABORTED")
end

-- Opens a broken stream again behind its last event.
local function resume(self, reader, failures)
  task.sleep(reader:delay(failures) / 1000)
  local all = self:headers("text/event-stream")
  all["Last-Event-ID"] = reader.last_id
  local request = { url = self._config.url, method = "GET", headers = all }
  local stream, err = requester.open(self._config, request)
  if stream and (stream.status ~= 200 or requester.media_type(stream) ~= "text/event-stream") then
    return nil, requester.failure(request, stream, requester.body(stream, self._config.max_message) or "")
  end
  return stream, err
end

local function lost(method, cause)
  return errors.new("EXECUTION_ERROR",
    ("%s: the stream ended without the answer%s"):format(method, cause and ": " .. cause.message or ""),
    { kind = "lost", cause = cause })
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
  local reader, failures, refusal = event_reader.new(self._config.max_message), 0, nil
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
  -- What refuses a request may speak JSON and not the protocol, as OAuth does.
  if is_json(media, body) and (is_success or body:find('"jsonrpc"', 1, true)) then
    self:receive(body, entry, stream.status)
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
    return protocol_error(method .. ": the server has ended the session",
      { kind = "session", statusCode = status })
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
