--- One WebSocket connection as a transport of the call protocol: an event is a text message of JSON. Both sides are the
--- same here; who opened it does not matter any more.
local call_event = require("operations.calls.event")
local codec = require("operations.websocket").codec
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

local websocket_connection = {}

---@class operations.WebSocketConnection : operations.Transport
---@field peer operations.Peer
local Connection = {}
Connection.__index = Connection

-- Small, and needed for others to go on: never held back by a full queue.
local urgent = { ["call.credit"] = true, ["call.aborted"] = true, ["call.completed"] = true }

-- With a grace, what is queued is sent first, for so many ms at most.
local function lost(self, err, grace)
  if self._lost then
    return
  end
  self._lost = err
  if self._ping then
    self._ping()
  end
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

-- Ends it with a close frame; what the other side makes of it is not waited for.
local function close(self, code, reason, kind, grace)
  local bytes = self._codec:close(code, reason)
  if bytes then
    self._stream:offer(bytes, true)
  end
  lose(self, kind or "closed", reason, grace or limits.close_grace)
end

local messages = {}

function messages.text(self, text)
  local event, err = json.decode(text)
  if err then
    return close(self, 1007, "a message is no JSON: " .. err.message, "protocol")
  end
  self._receiver.event(event, self.peer)
end

function messages.binary(self)
  close(self, 1003, "text messages expected", "protocol")
end

function messages.close(self, payload)
  self._closing = "closed by the other side: " .. payload -- its code and its reason
end

-- A ping was answered already; that anything comes is what counts.
function messages.ping() end

messages.pong = messages.ping

-- Queues what does not wait for room.
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

-- A peer that asks on and on and reads no answers is itself read no further, until it has.
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
  self._silent, self._taking = 0, true
  local open, list = self._codec:feed(bytes)
  for i = 1, #list, 2 do
    if not self._lost then
      messages[list[i]](self, list[i + 1])
    end
  end
  self._taking = false
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

-- Asks whether the other side is there; it is not after two intervals without a byte.
local function watch(self)
  self._ping = scheduler.host().timer(self._interval, function()
    if self._silent >= 2 then
      return lose(self, "timeout", ("nothing came for %d ms"):format(2 * self._interval))
    end
    if next(self._holders) == nil or self._holders[self] then -- what other holders wait for is no silence
      self._silent = self._silent + 1
    end
    local bytes = self._codec:ping()
    if bytes then
      self._stream:offer(bytes, true)
    end
    watch(self)
  end)
end

--- Makes a transport of a connection whose handshake is done.
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
    _silent = 0,
    _holders = {}, -- those for whom nothing is received
    _owed = 0, -- bytes of answers that are queued beyond what there is room for
  }, Connection)
end

function Connection:open(receiver)
  self._receiver = receiver
end

--- Begins to hand over what comes; first `rest`, which came behind the handshake.
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

--- Goes on over a stream whose handshake is done, instead of the one that it was made with.
---@param stream operations.Stream
---@param rest string
function Connection:take_over(stream, rest)
  if self._lost then
    return stream:close()
  end
  self._stream = stream
  self:start(rest)
end

--- Receives nothing more until each holder was released; TCP holds the other side back.
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
  self._resume = scheduler.host().timer(0, function() -- not in the task of a consumer: receivers cannot wait
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
  -- One that is too long would have the other side end the connection, and all that is called over it.
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

--- Ends it behind what is queued.
---@param grace? number  ms that this may take, default 2,000
function Connection:close(grace)
  if not self._lost then
    close(self, 1000, "closed", nil, grace)
  end
end

return websocket_connection
