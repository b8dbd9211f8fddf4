--- Writes the answers of a connection, whole or piece by piece. Waits for slow readers.
local errors = require("operations.base.error")
local framing = require("operations.server.framing")
local limits = require("operations.base.limits")
local problem = require("operations.server.problem")
local scheduler = require("operations.task.scheduler")
local turn = require("operations.task.turn")
local waiting = require("operations.server.waiting")

local response_writer = {}

-- `write_timeout` has passed. The connection stays open if at least one byte was sent meanwhile.
local function check_progress(self)
  local unsent = self._stream:unsent()
  if unsent < self._queued then
    self._queued = unsent
    waiting.watch(self, self._options.write_timeout, check_progress)
  else
    waiting.abort(self)
  end
end

-- Starts `write_timeout` for the queued bytes.
local function watch(self)
  self._queued = self._stream:unsent()
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
  self._now = false
  return ok ~= nil
end

-- Nothing was sent for a while: sends a heartbeat, if there is room.
local function beat(self)
  local heartbeat = self._heartbeat
  self._stream:offer(self._chunked and framing.chunk(heartbeat.bytes) or heartbeat.bytes)
  waiting.watch(self, heartbeat.after, beat)
end

-- Waits for the next piece of a body; sends heartbeats meanwhile.
local function next_piece(self, body)
  if self._heartbeat then
    waiting.watch(self, self._heartbeat.after, beat)
  end
  local ok, piece, err = xpcall(body, waiting.traced)
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
  local chunked = self._chunked
  while true do
    local piece, err = next_piece(self, body)
    if self._ended then
      return false
    elseif err ~= nil then
      waiting.report(self, "the body of an answer failed: " .. errors.text(err))
      return false
    elseif piece == nil then
      return not chunked or write(self, framing.last_chunk)
    elseif piece ~= "" and not write(self, chunked and framing.chunk(piece) or piece) then
      return false
    elseif turn.spend(self, math.max(#piece, turn.PIECE)) ~= nil then
      return false
    end
  end
end

-- Does the connection stay open after this answer?
local function goes_on(self, response)
  local headers = response.headers
  return self._head.keep_alive and not self._draining and not self._body_err
    and not (self._unread and self._head.expects)
    and self._count < self._options.max_connection_requests
    and not (headers and (headers.connection == "close" or headers.Connection == "close"))
    and (type(response.body) ~= "function" or self._head.minor == 1)
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
  if head_only or framing.is_empty(response.status) then
    waiting.leave(self, "left") -- the body is not needed
    return keep
  end
  self._heartbeat = response.heartbeat
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
  local keep, minor, now = goes_on(self, response), self._head.minor, scheduler.host().now()
  local connection = not keep and "close" or minor == 0 and "keep-alive" or nil
  local bytes, field = framing.bytes(response, now, connection, head_only, minor == 1)
  if not bytes then
    response = replace(self, field)
    bytes = framing.bytes(response, now, connection, head_only)
  end
  self._now = now
  if not write(self, bytes) then
    waiting.leave(self, "left")
    return false
  elseif type(response.body) ~= "function" then
    return keep
  end
  self._now, self._chunked = false, minor == 1
  return send_pieces(self, response, head_only, keep)
end

--- Hands the connection over to another protocol.
---@param self operations.HttpConnection
---@param response operations.ServerResponse
function response_writer.upgrade(self, response)
  local bytes, field = framing.bytes({ status = 101, headers = response.headers }, scheduler.host().now())
  if not bytes then
    self._head.keep_alive = false
    return response_writer.respond(self, replace(self, field))
  end
  self._stream:pause()
  waiting.forget(self)
  self._upgraded = true
  if self._ended or not self._stream:offer(bytes, true) then
    self._stream:close()
  end
  response.upgrade(self._stream, self._bytes:sub(self._from)) -- also if the connection is lost: the stream reports it
end

--- Ends the connection when all queued bytes were sent, so that the client can read them (RFC 9112, 9.6).
---@param self operations.HttpConnection
function response_writer.finish(self)
  if self._ended then
    return waiting.abort(self)
  end
  self._stream:pause()
  watch(self)
  if self._queued > 0 then
    self._stream:flush()
  end
  waiting.forget(self)
  self._stream:linger(limits.close_grace)
end

return response_writer
