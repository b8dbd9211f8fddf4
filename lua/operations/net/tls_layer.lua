--- TLS below a stream of a listener: the stream's handle is this layer, which has the same methods and decrypts the
--- connection's bytes. The session, in C, does no I/O.
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")

local tls_layer = {}

local UNCHECKED = 65536 -- bytes sent before the queue is checked for room

---@class operations.TlsPeer  a client's connection and certificate
---@field protocol string  "TLSv1.2", "TLSv1.3"
---@field cipher string
---@field server_name? string  requested by the client
---@field resumed boolean  the session was resumed
---@field subject? string  of its certificate, as RFC 2253 writes it: "CN=ada,O=Example"
---@field fingerprint? string  of its certificate: SHA-256, in hexadecimal

-- Layers in their handshake, with its deadline.
---@type table<operations.TlsLayer, operations.TlsLayer>
local shaking = {}

---@class operations.TlsLayer
---@field limit? number  deadline of the handshake, ms since the epoch
---@field peer_tls? operations.TlsPeer  after the handshake
---@field _up fun(event: string, ...)  the event handler of the stream
---@field _plain? string  decrypted and not yet taken
---@field _state? "closed"|"http"|"failed"|"truncated"  why nothing more comes
---@field _reason? string
---@field _unchecked integer  bytes sent since the queue was checked for room
local Layer = {}
Layer.__index = Layer

local fail

local deadlines = waiters.deadlines(shaking, function(self)
  fail(self, "timeout", "the handshake took too long")
end)

-- Called at the end of the handshake.
local function release(self)
  shaking[self], self.limit = nil, nil
  if next(shaking) == nil then
    deadlines:stop()
  end
end

-- Sends TLS's own answers, for which the queue reserves no room. False for a client that causes such answers without
-- reading them.
local function answer(self, out)
  if (self._handle:unsent() or 0) > limits.send_queue + limits.window then
    return false
  end
  self._handle:transmit(out, true)
  return true
end

-- Passes received bytes through the session.
local function pull(self)
  local bytes = not self._state and self._handle:receive()
  if not bytes then
    return
  end
  local plain, out, state, reason = self._session:receive(bytes)
  if out and not answer(self, out) then
    state, reason = "failed", "the client does not read the answers of TLS"
  end
  if plain then
    self._plain = self._plain and self._plain .. plain or plain
  end
  self._state, self._reason = state, reason
end

-- The kind of error that the stream ends with; nil if the other side closed it properly.
local function kind_of(self)
  return self._state ~= "closed" and "tls" or nil
end

--- The bytes so far, whether they are the last, and why.
---@return string? bytes
---@return boolean? ended
---@return string? kind
---@return string? message
function Layer:receive()
  if self.peer_tls then
    pull(self)
  end
  local plain = self._plain
  self._plain = nil
  if self._state then
    return plain, true, kind_of(self), self._reason
  end
  return plain
end

--- As for the handle of a stream; "full" leaves the session unchanged.
---@param bytes string
---@param urgent? boolean
---@return "sent"|"full"|"closed"
function Layer:transmit(bytes, urgent)
  local handle, unchecked = self._handle, self._unchecked + #bytes
  if unchecked > UNCHECKED and not urgent then
    unchecked = #bytes
    local room = handle:transmit("")
    if room ~= "sent" then
      return room
    end
  end
  self._unchecked = unchecked
  local out = self.peer_tls and not self._closed and self._session:send(bytes)
  if not out then
    return bytes == "" and "sent" or "closed"
  end
  return handle:transmit(out, true)
end

--- Sends close_notify, so that the other side knows that it has everything.
function Layer:finish_sending()
  local out = not self._closed and self._session:finish()
  if out then
    self._handle:transmit(out, true)
  end
  self._handle:finish_sending()
end

---@param flushing? boolean
---@return integer?
function Layer:unsent(flushing)
  return self._handle:unsent(flushing)
end

---@return string? address
---@return integer? port
function Layer:peer()
  return self._handle:peer()
end

--- Closes it at once: the other side can tell that bytes may be missing.
function Layer:cancel()
  release(self)
  self._closed = true
  self._handle:cancel()
  self._session:close() -- the collector does not know its size
  self._state = self._state or "closed"
end

-- Ends a failed handshake.
function fail(self, kind, reason)
  local security = self._security
  security.log("debug", ("TLS with %s: %s"):format(self:peer() or "a client that left", reason))
  if self._state == "http" and security.refusal then
    self._handle:transmit(security.refusal, true)
    self._handle:finish_sending()
  end
  release(self)
  self._state, self._reason = self._state or "failed", reason
  self._up("error", kind, reason)
end

local reasons = {
  http = "the client speaks HTTP without TLS",
  closed = "the client left before the end of the handshake",
}

-- Continues the handshake.
local function shake(self)
  pull(self)
  self.peer_tls = self._session:peer()
  if self.peer_tls then
    release(self)
    return (self._plain or self._state) and self._up("data")
  elseif self._state then
    return fail(self, "tls", reasons[self._state] or self._reason)
  end
end

-- The connection has ended. A close_notify before that distinguishes an end from a truncation (RFC 8446, 6.1).
local function finish(self, event, kind, reason)
  pull(self)
  if self._state == "closed" then
    return self._up("done")
  elseif not self._state then
    self._state = "truncated"
    self._reason = event == "error" and reason or "the connection was cut off without close_notify"
  end
  return self._up("error", event == "error" and kind or "tls", self._reason)
end

--- Handles an event of the connection.
---@param event string
---@param kind? string
---@param reason? string
function Layer:event(event, kind, reason)
  if event == "data" and self.peer_tls and not self._state then
    return self._up("data")
  elseif self._closed or self._state and event ~= "drain" then
    return
  elseif event == "drain" then
    return self._up("drain")
  elseif not self.peer_tls then
    shake(self)
    if event == "data" or self._state then
      return
    elseif not self.peer_tls then
      return fail(self, "tls", reasons.closed)
    end
  end
  return finish(self, event, kind, reason)
end

--- Puts the layer on the handle of an accepted connection.
---@param handle table
---@return operations.TlsLayer
function Layer:begin(handle)
  self._handle, self._session, shaking[self] = handle, self._security:session(), self
  deadlines:watch(self, scheduler.now() + self._security.timeout)
  return self
end

--- A layer without a connection yet, see `begin`.
---@param security operations.Security
---@param up fun(event: string, ...)  gets the events, as from a handle
---@return operations.TlsLayer
function tls_layer.new(security, up)
  return setmetatable({ peer_tls = nil, limit = nil, _security = security, _up = up, _unchecked = 0, _state = nil,
    _plain = nil, _closed = nil }, Layer)
end

return tls_layer
