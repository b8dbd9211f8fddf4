--- Answers whose bodies are read as they arrive. Reading suspends the running task until bytes have come.
local core = require("operations.core")
local errors = require("operations.base.error")
local http_failure = require("operations.net.http.failure")
local scheduler = require("operations.task.scheduler")
local turn = require("operations.task.turn")

local http_stream = {}

local PIECE = 65536 -- bytes requested from a reader at once
local LENT = 32768 -- bytes lent at once: parsing them stays in the processor's cache

local failure, interrupted = http_failure.new, http_failure.interrupted

---@class operations.HttpStream
---@field status integer
---@field headers table
---@field content_type? string  from the headers, if known without parsing them
---@field url string
---@field _request table
---@field _handle operations.Handle|false|nil  of the reactor; none for a complete answer
---@field _body? string  the body, if it came at once
---@field _wanted? boolean  the next piece of the request's body is wanted
---@field _given integer  bytes that the source of the request's body has given
---@field _last? string  the piece that completes a body of known size, until the source has ended
---@field _ended? boolean
---@field _failure? operations.Error
---@field _wake? fun()  wakes the task that waits for the next event
local Stream = {}
Stream.__index = Stream
Stream.__name = "operations.http_stream"

-- Streams that are no longer read, until they end: the functions that stop their timers.
local lingering = {}

local function stop_lingering(self)
  local stop = lingering[self]
  lingering[self] = nil
  if stop then
    stop()
  end
end

--- Makes a stream for a request about to be started; its `_handle` is set then.
---@param request table  as `http_message.prepare` makes it
---@return operations.HttpStream
function http_stream.new(request)
  return setmetatable({
    status = nil, headers = nil, url = request.url, _request = request, _handle = nil, _ended = nil, _wake = nil,
    _wanted = request.upload_size == 0, _given = 0, -- libcurl does not ask for an empty body, which is checked too
  }, Stream)
end

-- A stream of a complete answer: its headers are parsed on first use.
local Whole = { __name = Stream.__name }

function Whole.__index(self, key)
  if key == "headers" then
    self.headers = core.http_fields(self._head)
    return self.headers
  end
  return Stream[key]
end

--- Makes a stream of a complete answer.
---@param url string
---@param status integer
---@param head string  the lines of its headers
---@param body string
---@param content_type? string
---@return operations.HttpStream
function http_stream.whole(url, status, head, body, content_type)
  return setmetatable({
    status = status, content_type = content_type, url = url, _head = head, _body = body, _ended = true,
    _handle = false, _wake = false,
  }, Whole)
end

local function wake_reader(self)
  local wake = self._wake
  self._wake = nil
  if wake then
    wake()
  end
end

--- Handles an event of the handle.
---@param self operations.HttpStream
---@param kind string
function http_stream.on_event(self, kind, a, b, c)
  if kind == "head" then
    self.status, self.headers = a, core.http_fields(b)
  elseif kind == "want" then
    self._wanted = true
  elseif kind == "done" then
    self._ended = true
    if a then -- the complete answer
      self.status, self.headers, self._body = a, core.http_fields(b), c
    end
  elseif kind == "error" then
    self._ended, self._failure = true, failure(self._request, a, b, c)
  end
  if self._ended then
    stop_lingering(self)
  end
  wake_reader(self)
end

-- Waits for the next event; returns the error that interrupted the wait, if any.
local function next_event(self)
  local raised = scheduler.try_await(function(wake)
    self._wake = wake
    return function()
      self._wake = nil
      self:close()
    end
  end)
  if raised ~= nil then
    self:close()
    return interrupted(self._request, raised)
  end
end

--- Is it something that `next_piece` reads: a function, or an object with a method `read`?
---@param value any
---@return boolean
function http_stream.is_source(value)
  local kind = type(value)
  if kind == "table" or kind == "userdata" then
    local ok, read = pcall(function()
      return value.read
    end)
    return ok and type(read) == "function"
  end
  return kind == "function"
end

--- The next piece from a function, or from an object with a method `read`.
---@param source function|{ read: function }
---@return string?
---@return any err
function http_stream.next_piece(source)
  if type(source) == "function" then
    return source()
  end
  return source:read(PIECE)
end

local function miscounted(self, more)
  self:close()
  return failure(self._request, "body", ("the body has %s bytes than its size says (%.0f)"):format(
    more and "more" or "fewer", self._request.upload_size))
end

-- Passes a piece on to libcurl; nil ends the body. Bytes beyond the announced size would be read as the next request.
-- The piece that completes a body waits for the end of its source, so a server never sees a wrong body as a whole one.
local function pass_on(self, piece)
  local size, given = self._request.upload_size, self._given + #(piece or "")
  self._given = given
  if size and (given > size or not piece and given < size) then
    return miscounted(self, given > size)
  elseif size and piece and given == size then
    self._last, self._wanted = piece, true
    return
  elseif self._last then
    self._handle:write(self._last)
  end
  self._handle:write(piece or "")
end

-- A source that never waits must not keep the loop, and with it the time of the request, from running.
local function give_way(self, piece)
  local raised = piece and turn.spend(self, math.max(#piece, turn.PIECE), true)
  if raised ~= nil then
    self:close()
    return interrupted(self._request, raised)
  end
end

-- Sends the next piece of a body; returns an error if there is none. Errors raised by the source propagate.
local function send_piece(self)
  self._wanted = false
  local ok, piece, err = pcall(http_stream.next_piece, self._request.source)
  if not ok then
    self:close()
    error(piece, 0)
  elseif err ~= nil or (piece ~= nil and type(piece) ~= "string") then
    self:close()
    if errors.is_error(err) then
      return err
    end
    local text = err ~= nil and tostring(err) or ("it gave a %s"):format(type(piece))
    return failure(self._request, "body", "the body could not be read: " .. text)
  elseif piece == "" then
    self._wanted = true -- nothing yet; the client would take "" for the end
  elseif not self._ended then
    err = pass_on(self, piece)
  end
  return err or give_way(self, piece)
end

--- Waits for an event, or sends the wanted piece.
---@param self operations.HttpStream
---@return operations.Error? err
function http_stream.advance(self)
  if self._wanted then
    return send_piece(self)
  end
  return next_event(self)
end

-- The body bytes that `method` of the handle returns, as soon as there are some.
local function take(self, method, max)
  if self._wake then
    error("stream:read() is already waiting", 3)
  end
  local body = self._body
  if body then -- the answer was complete
    self._body = nil
    if body ~= "" then
      return body
    end
  end
  while true do
    local handle, chunk, size = self._handle, nil, nil
    if handle then
      chunk, size = handle[method](handle, max)
    end
    if chunk then
      return chunk, size
    elseif self._ended then
      return nil, self._failure
    end
    local err = http_stream.advance(self)
    if err then
      return nil, err
    end
  end
end

--- The body of a complete answer, if none of it was read yet.
---@return string?
function Stream:read_whole()
  local body = self._body
  self._body = nil
  return body
end

--- The next bytes of the body, as soon as there are some. Unread bytes hold the sender back.
---@return string? chunk  never empty; nil at the end
---@return operations.Error? err
function Stream:read()
  return take(self, "read")
end

--- Iterates over the body: `for chunk in stream:chunks() do`. Raises the error of a body that breaks off.
---@return fun(): string?
function Stream:chunks()
  return function()
    local chunk, err = self:read()
    return chunk or err and error(err, 0) or nil
  end
end

--- As `read`, without a copy: the address of the next bytes, for a parser in C. It is valid until the stream is used
--- again or a task waits. A small body that came at once is returned as a string.
---@return lightuserdata|string|nil address
---@return integer|operations.Error|nil size  their number; nil with a string; nil or the error at the end
function Stream:lend()
  return take(self, "lend", LENT)
end

--- Stops reading. If the body ends within `ms`, the connection is kept for reuse; else it is closed.
---@param ms number
function Stream:linger(ms)
  if not self._ended and not lingering[self] then
    lingering[self] = scheduler.host().timer(ms, function()
      self:close()
    end)
  end
end

--- Closes the connection unless the body was read to its end. Closing twice does nothing.
function Stream:close()
  if not self._ended then
    self._ended, self._failure = true, failure(self._request, "aborted", "the stream was closed")
  end
  stop_lingering(self)
  self._body = nil
  if self._handle then
    self._handle:cancel()
  end
  wake_reader(self)
end

return http_stream
