--- One WebSocket connection as a transport of the call protocol: an event is a text message of JSON. Both sides behave
--- the same after the handshake.
local call_event = require("operations.calls.event")
local codec = require("operations.websocket").codec
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

-- The protocol, its version and encoding. A peer without a subprotocol is served the same.
local websocket_connection = { protocol = "ops.v1.json" }

---@class operations.WebSocketConnection : operations.Transport
---@field peer operations.Peer
local Connection = {}
Connection.__index = Connection

-- Small events that others wait for: sent even when the queue is full.
local urgent = { ["call.credit"] = true, ["call.aborted"] = true, ["call.completed"] = true }

-- The connections of this process with unfinished messages, and the bytes of all of these.
local unfinished, unfinished_bytes = {}, 0

local function count_unfinished(self, bytes)
  unfinished_bytes = unfinished_bytes + bytes - (unfinished[self] or 0)
  unfinished[self] = bytes > 0 and bytes or nil
end

-- Ends it; with `grace`, queued bytes are sent first, for at most that many ms.
local function lost(self, err, grace)
  if self._lost then
    return
  end
  self._lost = err
  count_unfinished(self, 0)
  if grace then
    self._stream:linger(grace)
  else
    self._stream:close()
  end
  if self._receiver then
    self._receiver.lost(err)
  end
  if self.on_end then
    self.on_end(err)
  end
end

local function lose(self, kind, message, grace)
  lost(self, errors.new("TRANSPORT_LOST", message, { kind = kind }), grace)
end

-- Closes it with a close frame; does not wait for the other side's.
local function close(self, code, reason, kind, grace)
  local bytes = self._codec:close(code, reason)
  if bytes then
    self._stream:offer(bytes, true)
  end
  lose(self, kind or "closed", reason, grace or limits.close_grace)
end

-- Together they are limited: the connection with the longest one ends.
local function limit_unfinished()
  while unfinished_bytes > limits.websocket_unfinished do
    local longest
    for each, bytes in pairs(unfinished) do
      longest = (not longest or bytes > unfinished[longest]) and each or longest
    end
    close(longest, 1013, ("unfinished messages have more than %d bytes"):format(limits.websocket_unfinished), "full")
  end
end

local messages = {}

function messages.text(self, text)
  local event, err = json.decode(text)
  if err then
    return close(self, 1007, "a message is not JSON: " .. err.message, "protocol")
  end
  self._receiver.event(event, self.peer)
end

function messages.binary(self)
  close(self, 1003, "text messages expected", "protocol")
end

function messages.close(self, payload)
  self._closing = "closed by the other side: " .. payload -- code and reason of the close frame
end

-- The codec has answered the ping; receiving anything is enough.
function messages.ping() end

messages.pong = messages.ping

-- Queues bytes without waiting for room.
local function queue(self, bytes)
  local sent, why = self._stream:offer(bytes)
  if sent then
    self._owed = 0
  elseif why == "full" then
    self._owed = self._owed + #bytes
    self._stream:offer(bytes, true)
  end
end

local take

-- A peer that sends requests without reading answers is not read until it has read them.
local function await_reader(self)
  self:hold(self)
  task.detach(function()
    self._stream:write("") -- waits for room
    self._owed = 0
    self:release(self)
  end)
end

local function on_bytes(self, bytes, err)
  if bytes == nil then
    return lost(self, err or errors.new("TRANSPORT_LOST", self._closing or "the connection ended", { kind = "reset" }))
  end
  self._taking = true
  local open, list, left = self._codec:feed(bytes)
  for i = 1, #list, 2 do
    if not self._lost then
      messages[list[i]](self, list[i + 1])
    end
  end
  self._taking = false
  if not self._lost and (left > 0 or unfinished[self]) then
    count_unfinished(self, left)
    limit_unfinished()
  end
  local answer = not self._lost and self._codec:output()
  if answer then
    queue(self, answer)
  end
  if not open and not self._lost then
    lose(self, self._closing and "closed" or "protocol", self._closing
      or "the other side broke the rules of WebSocket", limits.close_grace)
  elseif self._owed > limits.send_queue and not self._lost then
    await_reader(self)
  elseif next(self._holders) ~= nil then
    self._stream:pause()
  end
end

function take(self)
  self._stream:each_chunk(function(bytes, err)
    on_bytes(self, bytes, err)
  end)
end

-- Tests the connection; it is lost after two intervals without a byte.
local function watch(self)
  self._stream:watch(self._interval, 2, function()
    local bytes = self._codec:ping()
    if bytes then
      self._stream:offer(bytes, true)
    end
    return next(self._holders) ~= nil and not self._holders[self] -- other holders stop reading
  end, function()
    lose(self, "timeout", ("nothing came for %d ms"):format(2 * self._interval))
  end)
end

--- Makes a transport of a connection after the handshake.
---@param stream operations.Stream
---@param server boolean
---@param peer operations.Peer
---@param options { max_message?: integer, ping_interval?: number }
---@return operations.WebSocketConnection
function websocket_connection.new(stream, server, peer, options)
  local max_message = options.max_message or limits.body
  return setmetatable({
    peer = peer,
    _stream = stream,
    _codec = codec(server, max_message),
    _max_message = max_message,
    _interval = options.ping_interval or limits.ping_interval,
    _holders = {}, -- reading stops while there are any
    _owed = 0, -- bytes queued beyond the limit
  }, Connection)
end

function Connection:open(receiver)
  self._receiver = receiver
end

--- Begins to pass events on, starting with `rest`, which followed the handshake.
---@param rest string
function Connection:start(rest)
  watch(self)
  if rest ~= "" then
    on_bytes(self, rest)
  end
  if not self._lost then
    take(self)
  end
end

--- Continues on another stream, after its handshake.
---@param stream operations.Stream
---@param rest string
function Connection:take_over(stream, rest)
  if self._lost then
    return stream:close()
  end
  self._stream = stream
  self:start(rest)
end

--- Stops receiving until each holder was released; TCP holds the other side back.
---@param holder table
function Connection:hold(holder)
  self._holders[holder] = true
  if not self._taking and not self._lost then
    self._stream:pause()
  end
end

--- Receives again when this was the last holder.
---@param holder table
function Connection:release(holder)
  if not self._holders[holder] then
    return
  end
  self._holders[holder] = nil
  if self._taking or self._resume then
    return
  end
  self._resume = scheduler.host().timer(0, function() -- not in the consumer's task: receivers cannot wait
    self._resume = nil
    if next(self._holders) == nil and not self._lost then
      take(self)
    end
  end)
end

function Connection:send(name, payload)
  if self._lost then
    return nil, self._lost
  end
  -- The other side would close the connection, with all its calls, because of a message that is too long.
  local text, err = call_event.encode(call_event.new(name, payload), self._max_message)
  if not text then
    return nil, err
  end
  local bytes = self._codec:text(text)
  if not bytes then
    return nil, errors.new("TRANSPORT_LOST", "the connection is being closed", { kind = "closed" })
  elseif urgent[name] or self._taking and not scheduler.here().task then -- a receiver cannot wait
    queue(self, bytes)
    return true
  end
  return self._stream:write(bytes)
end

--- Closes it after the queued bytes.
---@param grace? number  the longest time in ms, default 2,000
function Connection:close(grace)
  if not self._lost then
    close(self, 1000, "closed", nil, grace)
  end
end

return websocket_connection
