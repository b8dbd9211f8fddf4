--- Answers of the HTTP server as bytes: the length of the message, the Date, checks of what a handler returned. Writes
--- those of a connection, whole or piece by piece, and waits for slow readers.
local codec = require("operations.http_server")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local problem = require("operations.server.problem")
local scheduler = require("operations.task.scheduler")
local turn = require("operations.task.turn")
local waiting = require("operations.server.waiting")

local response_writer = {}

local date, from, till = nil, math.huge, 0 -- of the second from `from` to `till`, ms since the epoch

--- The value of the field Date (RFC 9110, 5.6.7), made once a second.
---@param now number  ms since the epoch
---@return string
function response_writer.date(now)
  if now < from or now >= till then
    local second = math.floor(now / 1000)
    from, till, date = second * 1000, (second + 1) * 1000, codec.date(second)
  end
  return date
end

-- Does an answer with this status never have a body?
local function is_empty(status)
  return status < 200 or status == 204 or status == 304
end

--- How an answer is put on a connection.
---@class operations.Framing
---@field now number  ms since the epoch
---@field connection? string  the value of that field
---@field head_only? boolean
---@field chunked? boolean  pieces are sent as chunks

--- The bytes of an answer, or of its head alone if the body follows in pieces.
---@param response operations.ServerResponse
---@param framing operations.Framing
---@return string? bytes
---@return any field  nil: a field that cannot be sent
function response_writer.bytes(response, framing)
  local body, head_only = response.body, framing.head_only
  if type(body) == "function" then
    body = framing.chunked or false -- until the connection closes
    if response.length then
      body = nil -- the headers have it
    end
  elseif body == nil and not head_only then
    body = ""
  end
  return codec.answer(response.status, response.headers, body, response_writer.date(framing.now), framing.connection,
    head_only)
end

-- A piece of a body as a chunk (RFC 9112, 7.1); it is not empty.
local function chunk(piece)
  return ("%x\r\n"):format(#piece) .. piece .. "\r\n"
end

local LAST_CHUNK = "0\r\n\r\n"

--- The answers that a connection sends.
---@class operations.ConnectionOutput
---@field queued integer  bytes that were not sent when the limit of the wait began
---@field chunked boolean  of a body in pieces
---@field length? integer  bytes of such a body, if its head says so
---@field heartbeat? { after: integer, bytes: string }  of such a body

--- Checks the response of a handler. Returns the error, or nil.
---@param response any
---@return string?
function response_writer.flaw(response)
  if type(response) ~= "table" then
    return ("a response expected, got %s"):format(type(response))
  end
  local status, body = response.status, type(response.body)
  if type(status) ~= "number" or status % 1 ~= 0 or status < 100 or status > 999 then
    return ("a response with a status expected, got %s"):format(tostring(status))
  elseif status < 200 and not (status == 101 and response.upgrade) then
    return ("a final status expected, got %d"):format(status)
  elseif response.headers ~= nil and type(response.headers) ~= "table" then
    return ("headers of a response: table expected, got %s"):format(type(response.headers))
  elseif body ~= "string" and body ~= "function" and body ~= "nil" then
    return ("body of a response: string or function expected, got %s"):format(body)
  end
end

-- `write_timeout` has passed. The connection stays open if at least one byte was sent meanwhile.
local function check_progress(self)
  local unsent = self._stream:unsent()
  if unsent < self._output.queued then
    self._output.queued = unsent
    waiting.watch(self, self._options.write_timeout, check_progress)
  else
    waiting.abort(self)
  end
end

-- Starts `write_timeout` for the queued bytes.
local function watch(self)
  self._output.queued = self._stream:unsent()
  waiting.watch(self, self._options.write_timeout, check_progress)
end

-- Queues bytes; waits while the queue is full. Returns false if the connection is lost.
local function write(self, bytes)
  local sent, why = self._stream:offer(bytes)
  if sent then
    return true
  elseif why ~= "full" then
    return false
  end
  watch(self)
  local ok = self._stream:write(bytes)
  waiting.unwatch(self)
  self._waits.now = false
  return ok ~= nil
end

-- Nothing was sent for a while: sends a heartbeat, if there is room.
local function beat(self)
  local output = self._output
  local heartbeat = output.heartbeat
  self._stream:offer(output.chunked and chunk(heartbeat.bytes) or heartbeat.bytes)
  waiting.watch(self, heartbeat.after, beat)
end

-- Waits for the next piece of a body; sends heartbeats meanwhile.
local function next_piece(self, body)
  local heartbeat = self._output.heartbeat
  if heartbeat then
    waiting.watch(self, heartbeat.after, beat)
  end
  local ok, piece, err = xpcall(body, errors.traced)
  waiting.unwatch(self)
  if not ok then
    return nil, piece
  elseif piece ~= nil and type(piece) ~= "string" then
    return nil, ("a piece of the body: string expected, got %s"):format(type(piece))
  end
  return piece, err
end

-- Sends a body piece by piece. Returns false if the connection has to be closed.
local function write_pieces(self, body)
  local output = self._output
  local chunked, left = output.chunked, output.length
  while true do
    local piece, err = next_piece(self, body)
    if self._input.ended then
      return false
    elseif err ~= nil then
      waiting.report(self, "the body of an answer failed: " .. errors.text(err))
      return false
    elseif piece == nil then
      return (not chunked or write(self, LAST_CHUNK)) and (not left or left == 0)
    end
    left = left and left - #piece
    if left and left < 0 then
      return false
    elseif piece ~= "" and not write(self, chunked and chunk(piece) or piece) then
      return false
    elseif turn.spend(output, math.max(#piece, turn.PIECE)) ~= nil then
      return false
    end
  end
end

-- Does the connection stay open after this answer?
local function goes_on(self, response)
  local current, headers = self._current, response.headers
  return current.keep_alive and not self._draining and not current.flaw and (current.ended or not current.expects)
    and self._count < self._options.max_connection_requests
    and not (headers and (headers.connection == "close" or headers.Connection == "close"))
    and (type(response.body) ~= "function" or current.minor == 1)
end

--- An answer of the server itself.
---@param status integer
---@param detail string
---@return operations.ServerResponse
function response_writer.problem(status, detail)
  return problem.response(errors.new(status < 500 and "VALIDATION_ERROR" or "EXECUTION_ERROR", detail),
    { status = status })
end

-- Replaces an answer that has an invalid field.
local function replace(self, field)
  waiting.report(self, ("a response has a field that cannot be sent: %s"):format(tostring(field)))
  waiting.leave(self, "left") -- its body is not needed
  return response_writer.problem(500, "the answer cannot be sent")
end

-- Sends the body; its head was sent. Returns true if the connection stays open.
local function send_pieces(self, response, head_only, keep)
  if head_only or is_empty(response.status) then
    waiting.leave(self, "left") -- the body is not needed
    return keep
  end
  if write_pieces(self, response.body) then
    return keep
  end
  waiting.abort(self)
  return false
end

--- Sends an answer.
---@param self operations.HttpConnection
---@param response operations.ServerResponse
---@param head_only? boolean
---@return boolean keep  the connection stays open
function response_writer.respond(self, response, head_only)
  local keep, minor, now = goes_on(self, response), self._current.minor, scheduler.now()
  local length = type(response.body) == "function" and response.length or nil
  local framing = { now = now, connection = not keep and "close" or minor == 0 and "keep-alive" or nil,
    head_only = head_only, chunked = not length and minor == 1 }
  local bytes, field = response_writer.bytes(response, framing)
  if not bytes then
    response = replace(self, field)
    bytes = response_writer.bytes(response, framing)
  end
  self._waits.now = now
  if not write(self, bytes) then
    waiting.leave(self, "left")
    return false
  elseif type(response.body) ~= "function" then
    return keep
  end
  local output = self._output
  self._waits.now, output.chunked, output.heartbeat = false, not length and minor == 1, response.heartbeat
  output.length = length
  return send_pieces(self, response, head_only, keep)
end

--- Hands the connection over to another protocol.
---@param self operations.HttpConnection
---@param response operations.ServerResponse
function response_writer.upgrade(self, response)
  local bytes, field = response_writer.bytes({ status = 101, headers = response.headers },
    { now = scheduler.now() })
  if not bytes then
    self._current.keep_alive = false
    return response_writer.respond(self, replace(self, field))
  end
  self._current, self._upgraded = false, true
  self._stream:pause()
  waiting.forget(self)
  local input = self._input
  if input.ended or not self._stream:offer(bytes, true) then
    self._stream:close()
  end
  response.upgrade(self._stream, input.bytes:sub(input.from)) -- also if the connection is lost: the stream reports it
end

--- Ends the connection when all queued bytes were sent, so that the client can read them (RFC 9112, 9.6).
---@param self operations.HttpConnection
function response_writer.finish(self)
  if self._input.ended then
    return waiting.abort(self)
  end
  self._stream:pause()
  watch(self)
  if self._output.queued > 0 then
    self._stream:flush()
  end
  waiting.forget(self)
  self._stream:linger(limits.close_grace)
end

return response_writer
