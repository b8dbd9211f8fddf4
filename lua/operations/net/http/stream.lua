--- Answers whose bodies are read as they come. Reading suspends the running task until something is there.
local core = require("operations.core")
local errors = require("operations.base.error")
local http_failure = require("operations.net.http.failure")
local scheduler = require("operations.task.scheduler")

local http_stream = {}

local PIECE = 65536 -- bytes asked of a reader at once
local LENT = 32768 -- bytes lent at once: what is made of them stays near the processor

local failure, interrupted = http_failure.new, http_failure.interrupted

---@class operations.HttpStream
---@field status integer
---@field headers table
---@field content_type? string  as the headers have it, where that is known without reading them
---@field url string
---@field _request table
---@field _handle operations.Handle|false|nil  of the reactor; none when the answer was there whole
---@field _body? string  what came all at once
---@field _wanted? boolean  the next piece of what is sent is asked for
---@field _ended? boolean
---@field _failure? operations.Error
---@field _wake? fun()  somebody waits for the next event
local Stream = {}
Stream.__index = Stream
Stream.__name = "operations.http_stream"

-- Streams that nobody reads any more, until they end: what stops their timers.
local lingering = {}

local function stop_lingering(self)
  local stop = lingering[self]
  lingering[self] = nil
  if stop then
    stop()
  end
end

--- Makes a stream of a request that is about to be started; its `_handle` is set then.
---@param request table  as `http_message.prepare` makes it
---@return operations.HttpStream
function http_stream.new(request)
  return setmetatable({
    status = nil, headers = nil, url = request.url, _request = request, _handle = nil, _ended = nil, _wake = nil,
  }, Stream)
end

-- A stream of an answer that was there whole: its headers are read when somebody asks for them.
local Whole = { __name = Stream.__name }

function Whole.__index(self, key)
  if key == "headers" then
    self.headers = core.http_fields(self._head)
    return self.headers
  end
  return Stream[key]
end

--- Makes a stream of an answer that is there whole.
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

--- Takes an event of the handle in.
---@param self operations.HttpStream
---@param kind string
function http_stream.on_event(self, kind, a, b, c)
  if kind == "head" then
    self.status, self.headers = a, core.http_fields(b)
  elseif kind == "want" then
    self._wanted = true
  elseif kind == "done" then
    self._ended = true
    if a then -- all at once
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

-- Waits for the next event; nil, or what interrupted.
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

--- The next piece of what a function, or an object with a method `read`, gives.
---@param source function|{ read: function }
---@return string?
---@return any err
function http_stream.next_piece(source)
  if type(source) == "function" then
    return source()
  end
  return source:read(PIECE)
end

-- Sends the next piece of a body; nil, or why there is none. What the body's source raises passes through.
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
    self._wanted = true -- nothing yet; to the client it would be the end
  elseif not self._ended then
    self._handle:write(piece or "")
  end
end

--- Waits until something happened, or sends what is asked for.
---@param self operations.HttpStream
---@return operations.Error? err
function http_stream.advance(self)
  if self._wanted then
    return send_piece(self)
  end
  return next_event(self)
end

-- What `method` of the handle gives of the body, as soon as something is there.
local function take(self, method, max)
  if self._wake then
    error("stream:read() is already waiting", 3)
  end
  local body = self._body
  if body then -- it was there whole
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

--- The body of an answer that was there whole, if nothing of it was read yet.
---@return string?
function Stream:read_whole()
  local body = self._body
  self._body = nil
  return body
end

--- The next bytes of the body, as soon as some are there. What is not read holds the sender back.
---@return string? chunk  never empty; nil at the end
---@return operations.Error? err
function Stream:read()
  return take(self, "read")
end

--- As `read`, without a copy: where the next bytes lie, for a parser in C. They stay there until the stream is used
--- again or something waits. A small body that came whole is given as it is.
---@return lightuserdata|string|nil address
---@return integer|operations.Error|nil size  how many they are; nil of a string; nil or the error when there are none
function Stream:lend()
  return take(self, "lend", LENT)
end

--- Reads no further. When the end of the body comes within `ms`, the connection is kept for other streams; else it is
--- closed.
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
