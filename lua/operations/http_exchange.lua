--- One exchange of request and answer, without redirects and retries: suspends the running task until something comes.
local errors = require("operations.error")
local scheduler = require("operations.scheduler")
local task_wait = require("operations.task_wait")
local url = require("operations.url")

local exchange = {}

local PIECE = 65536 -- bytes asked of a reader at once
local MAX_IDLE = 64 -- waits that are kept for later
local LENT = 32768 -- bytes lent at once: what is made of them stays near the processor

--- The error of a request.
---@param request table
---@param kind string
---@param text string
---@param phase? string  of a timeout: "connect", "first_byte", "idle" or "total"; of a reset: "reused"
---@return operations.Error
function exchange.failure(request, kind, text, phase)
  local code = kind == "timeout" and "TIMEOUT" or kind == "aborted" and "ABORTED" or "EXECUTION_ERROR"
  local shown = url.redact(request.url)
  return errors.new(code, ("%s %s: %s"):format(request.method, shown, text), {
    kind = kind,
    phase = phase,
    method = request.method,
    url = shown,
  })
end

local failure = exchange.failure

-- What interrupted a wait, as the request's failure; an error that is not ours stays itself.
local function interrupted(request, raised)
  if not errors.is_error(raised) then
    error(raised, 0)
  elseif raised.code == "TIMEOUT" then
    return failure(request, "timeout", raised.message, "deadline")
  elseif raised.code == "ABORTED" then
    return failure(request, "aborted", raised.message)
  end
  return raised
end
exchange.interrupted = interrupted

--- Was the request lost with a connection that served others too, and nothing of an answer handed out?
---@param err operations.Error
---@return boolean
function exchange.is_stale(err)
  return type(err.details) == "table" and err.details.phase == "reused"
end

local function start(request, on_event)
  local host = scheduler.host()
  if not host.start then
    error(("the host '%s' has no HTTP"):format(host.name), 0)
  end
  return host.start("http", request, on_event)
end

---@class operations.HttpStream
---@field status integer
---@field headers table
---@field url string
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

local function on_event(self, kind, a, b, c)
  if kind == "head" then
    self.status, self.headers = a, b
  elseif kind == "want" then
    self._wanted = true
  elseif kind == "done" then
    self._ended = true
    if a then -- all at once
      self.status, self.headers, self._body = a, b, c
    end
  elseif kind == "error" then
    self._ended, self._failure = true, failure(self._request, a, b, c)
  end
  if self._ended then
    stop_lingering(self)
  end
  local wake = self._wake
  self._wake = nil
  if wake then
    wake()
  end
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

local function next_piece(source)
  if type(source) == "function" then
    return source()
  end
  return source:read(PIECE)
end

-- Sends the next piece of a body; nil, or why there is none. What the body's source raises passes through.
local function send_piece(self)
  self._wanted = false
  local ok, piece, err = pcall(next_piece, self._request.source)
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

-- Waits until something happened, or sends what is asked for.
local function advance(self)
  if self._wanted then
    return send_piece(self)
  end
  return next_event(self)
end

local function begin(request)
  local self = setmetatable({ _request = request, url = request.url }, Stream)
  local kind, why
  self._handle, kind, why = start(request, function(...)
    on_event(self, ...)
  end)
  if not self._handle then
    return nil, failure(request, kind, why)
  end
  return self
end

--- Sends a request and waits for the head of its answer.
---@param request table  as `http_message.prepare` makes it
---@return operations.HttpStream?
---@return operations.Error? err
function exchange.open(request)
  local self, err = begin(request)
  while self and not self.status and not self._ended do
    err = advance(self)
    if err then
      return nil, err
    end
  end
  if not self or (self._failure and not self.status) then
    return nil, err or self._failure
  end
  return self
end

-- As `run`, with a body that comes piece by piece.
local function run_with_source(request)
  local self, err = begin(request)
  while self and not self._ended do
    err = advance(self)
    if err then
      return nil, err
    end
  end
  if not self or self._failure then
    return nil, err or self._failure
  end
  return { status = self.status, headers = self.headers, body = self._body, url = request.url }
end

-- Waits of requests that are over, with all that they need, for the next.
local idle, idle_count = {}, 0

local function cancel(wait)
  wait.handle:cancel()
end

local function new_wait()
  local wait = task_wait.new()
  wait.cancel = cancel
  wait.on_event = function(kind, a, b, c)
    wait[1], wait[2], wait[3], wait[4] = kind, a, b, c
    if not wait.done then
      task_wait.settle(wait)
    end
  end
  return wait
end

local function take_wait()
  local wait = idle[idle_count]
  if not wait then
    return new_wait()
  end
  idle[idle_count] = nil
  idle_count = idle_count - 1
  wait.done, wait.task = false, nil
  return wait
end

local function give_back(wait)
  wait[3], wait[4] = nil, nil
  if idle_count < MAX_IDLE then
    idle_count = idle_count + 1
    idle[idle_count] = wait
  end
end

--- Sends a request and waits for its whole answer.
---@param request table
---@return operations.HttpResponse?
---@return operations.Error? err
function exchange.run(request)
  if request.source then
    return run_with_source(request)
  end
  local wait = take_wait()
  request.handle = wait.handle
  local handle, refused, why = start(request, wait.on_event)
  if not handle then
    return nil, failure(request, refused, why)
  end
  wait.handle = handle
  local raised = scheduler.wait(wait)
  if raised ~= nil then
    cancel(wait)
    return nil, interrupted(request, raised)
  elseif wait[1] == "error" then
    return nil, failure(request, wait[2], wait[3], wait[4])
  end
  local response = { status = wait[2], headers = wait[3], body = wait[4], url = request.url }
  give_back(wait)
  return response
end

-- What `method` of the handle gives of the body, as soon as something is there.
local function take(self, method, max)
  if self._wake then
    error("stream:read() is already waiting", 3)
  end
  while true do
    local chunk, size = self._handle[method](self._handle, max)
    if chunk then
      return chunk, size
    elseif self._ended then
      return nil, self._failure
    end
    local err = advance(self)
    if err then
      return nil, err
    end
  end
end

--- The next bytes of the body, as soon as some are there. What is not read holds the sender back.
---@return string? chunk  never empty; nil at the end
---@return operations.Error? err
function Stream:read()
  return take(self, "read")
end

--- As `read`, without a copy: where the next bytes lie, for a parser in C. They stay there until the stream is used
--- again or something waits.
---@return lightuserdata? address
---@return integer|operations.Error|nil size  how many they are; nil or the error when there are none
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
  self._handle:cancel()
  local wake = self._wake
  self._wake = nil
  if wake then
    wake()
  end
end

return exchange
