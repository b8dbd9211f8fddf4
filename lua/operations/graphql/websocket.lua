--- A subscription over a WebSocket connection of its own (subprotocol graphql-transport-ws).
local codec = require("operations.websocket").codec
local core = require("operations.core")
local errors = require("operations.base.error")
local handshake = require("operations.net.handshake")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")

local websocket = {}

---@class operations.graphql.Socket
---@field _stream operations.Stream
---@field _codec table
---@field _queue table[]  received messages, the first at `_first`
---@field _first integer
---@field _last integer
---@field _ended? boolean
---@field _err? operations.Error  why it ended
---@field _wake? fun()  wakes the task that waits for a message
---@field _paused? boolean
local Socket = {}
Socket.__index = Socket

local function lost(kind, message)
  local err = errors.new("TRANSPORT_LOST", message, { kind = kind })
  err.retryable, err.mayHaveRun = true, true
  return err
end

local function wake(self)
  local woken = self._wake
  self._wake = nil
  if woken then
    woken()
  end
end

local function stop(self, err, grace)
  if self._ended then
    return
  end
  self._ended, self._err = true, err
  if grace then
    self._stream:linger(grace)
  else
    self._stream:close()
  end
  wake(self)
end

-- Closes it with a close frame.
local function close(self, code, reason, err)
  local bytes = not self._ended and self._codec:close(code, reason)
  if bytes then
    self._stream:offer(bytes, true)
  end
  stop(self, err, limits.close_grace)
end

-- Close codes of the subprotocol that refuse this client: it need not try again.
local refusals = { [4401] = "ACCESS_DENIED", [4403] = "ACCESS_DENIED", [4400] = "EXECUTION_ERROR",
  [4406] = "EXECUTION_ERROR", [4409] = "EXECUTION_ERROR" }

-- The error of a close frame of the service.
local function closed(payload)
  local code, reason = payload:match("^(%d+) ?(.*)$")
  local message = ("the service closed the connection (%s)"):format(reason ~= "" and code .. ": " .. reason or code)
  local refusal = refusals[tonumber(code)]
  if not refusal then
    return lost("closed", message)
  end
  local err = errors.new(refusal, message, { kind = "protocol" })
  err.retryable = false
  return err
end

local function queue(self, bytes)
  if bytes then
    self._stream:offer(bytes, true)
  end
end

local function send(self, message)
  queue(self, self._codec:text(assert(json.encode(message, { keep_order = true }))))
end

local messages = {}

function messages.text(self, text)
  local message, err = json.decode(text)
  if err or core.kind(message) ~= "object" or type(message.type) ~= "string" then
    close(self, 4400, "invalid message", errors.new("EXECUTION_ERROR", "the service sent an invalid message",
      { kind = "protocol" }))
  elseif message.type == "ping" then
    send(self, { type = "pong" })
  elseif message.type ~= "pong" then
    self._last = self._last + 1
    self._queue[self._last] = message
  end
end

function messages.binary(self)
  close(self, 4400, "text expected", errors.new("EXECUTION_ERROR", "the service sent an invalid message",
    { kind = "protocol" }))
end

function messages.close(self, payload)
  self._closed = payload
end

-- The codec has answered the ping.
function messages.ping() end

messages.pong = messages.ping

local function on_bytes(self, bytes, err)
  if bytes == nil then
    return stop(self, err or self._closed and closed(self._closed) or lost("reset", "the connection ended"))
  end
  local open, list = self._codec:feed(bytes)
  for i = 1, #list, 2 do
    if not self._ended then
      messages[list[i]](self, list[i + 1])
    end
  end
  if self._ended then
    return
  end
  queue(self, self._codec:output())
  if not open then
    stop(self, self._closed and closed(self._closed)
      or lost("protocol", "the service broke the rules of WebSocket"), limits.close_grace)
  elseif self._last - self._first >= limits.unconsumed_events then
    self._paused = true
    self._stream:pause()
  end
  wake(self)
end

local function take(self)
  self._paused = false
  self._stream:each_chunk(function(bytes, err)
    on_bytes(self, bytes, err)
  end)
end

-- Tests the connection; it is lost after two intervals without a byte.
local function watch(self)
  self._stream:watch(limits.ping_interval, 2, function()
    queue(self, self._codec:ping())
    return self._paused
  end, function()
    stop(self, lost("timeout", ("nothing came for %d ms"):format(2 * limits.ping_interval)))
  end)
end

---@class operations.graphql.SocketTarget : operations.StreamOptions
---@field headers? table<string, string>
---@field max_event? integer  bytes of a message

--- Connects to a service.
---@param parsed table  a URL of ws or wss, as `url.parse` gives it
---@param options operations.graphql.SocketTarget
---@return operations.graphql.Socket?
---@return operations.Error? err  with `details.kind` "handshake" the server speaks HTTP, but not this protocol
function websocket.open(parsed, options)
  local target = { protocol = "graphql-transport-ws" }
  for name, value in pairs(options) do
    target[name] = value
  end
  local stream, err, rest = handshake.connect(parsed, target)
  if not stream then
    return nil, err
  end
  local self = setmetatable({ _stream = stream, _codec = codec(false, options.max_event or limits.event), _queue = {},
    _first = 1, _last = 0 }, Socket)
  watch(self)
  if rest ~= "" then
    on_bytes(self, rest)
  end
  if not self._ended and not self._paused then
    take(self)
  end
  return self
end

--- Waits for the next message.
---@return table? message
---@return operations.Error? err  why there is none
function Socket:receive()
  while self._first > self._last and not self._ended do
    if self._paused then
      take(self)
    end
    if self._first > self._last and not self._ended then
      local raised = scheduler.try_await(function(woken)
        self._wake = woken
        return function()
          self._wake = nil
        end
      end)
      if raised ~= nil then
        return nil, (errors.from(raised))
      end
    end
  end
  if self._first > self._last then
    return nil, self._err
  end
  local message = self._queue[self._first]
  self._queue[self._first] = nil
  self._first = self._first + 1
  return message
end

local function await_acknowledgement(self)
  local message, err
  repeat
    message, err = self:receive()
  until not message or message.type == "connection_ack"
  return message, err
end

--- Introduces this client, and waits until the service has acknowledged the connection.
---@param parameters? table
---@param timeout number  ms
---@return table? acknowledgement
---@return operations.Error? err
function Socket:begin(parameters, timeout)
  self:send({ type = "connection_init", payload = parameters })
  return handshake.within(timeout, await_acknowledgement, self)
end

--- Sends a message; nothing happens once the connection has ended.
---@param message table
function Socket:send(message)
  if not self._ended then
    send(self, message)
  end
end

--- Closes the connection.
function Socket:close()
  close(self, 1000, "", lost("closed", "the connection was closed"))
end

return websocket
