--- TLS below a stream of a listener: what the stream calls its handle is this layer, which has the same methods and
--- decrypts what the connection brings. The session, in C, does no I/O.
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")

local tls_layer = {}

local UNCHECKED = 65536 -- bytes that are sent before the queue is asked for room

---@class operations.TlsPeer  how a client is connected, and who its certificate says it is
---@field protocol string  "TLSv1.2", "TLSv1.3"
---@field cipher string
---@field server_name? string  that it asked for
---@field resumed boolean  the session is one of an earlier connection
---@field subject? string  of its certificate, as RFC 2253 writes it: "CN=ada,O=Example"
---@field fingerprint? string  of its certificate: SHA-256, in hexadecimal

-- Those whose handshake goes on, and until when it may.
---@type table<operations.TlsLayer, operations.TlsLayer>
local shaking = {}

---@class operations.TlsLayer
---@field limit? number  ms since the epoch, while the handshake goes on
---@field peer_tls? operations.TlsPeer  when it has ended
---@field _up fun(event: string, ...)  the stream's
---@field _plain? string  came and was not taken
---@field _state? "closed"|"http"|"failed"|"truncated"  nothing more comes
---@field _reason? string
---@field _unchecked integer  bytes that were sent since the queue was asked for room
local Layer = {}
Layer.__index = Layer

local fail

local deadlines = waiters.deadlines(shaking, function(self)
  fail(self, "timeout", "the handshake took too long")
end)

-- The handshake has ended.
local function release(self)
  shaking[self], self.limit = nil, nil
  if next(shaking) == nil then
    deadlines:stop()
  end
end

-- Sends TLS's own answers, which have no room of their own in the queue. False for a client that sends requests for
-- such answers and does not read them.
local function answer(self, out)
  if (self._handle:unsent() or 0) > limits.send_queue + limits.window then
    return false
  end
  self._handle:transmit(out, true)
  return true
end

-- Passes the bytes that came through the session.
local function pull(self)
  local bytes = not self._state and self._handle:receive()
  if not bytes then
    return
  end
  local plain, out, state, reason = self._session:receive(bytes)
  if out and not answer(self, out) then
    state, reason = "failed", "what TLS itself answers is not read"
  end
  if plain then
    self._plain = self._plain and self._plain .. plain or plain
  end
  self._state, self._reason = state, reason
end

-- The kind of error that the stream ends with; nil when it was the other side that ended it, as it should.
local function kind_of(self)
  return self._state ~= "closed" and "tls" or nil
end

--- The bytes that came so far, and whether that was all, and why.
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

--- As the handle of a stream: "full" leaves the session as it was.
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

--- Says that we send no more, so that the other side knows that it has all.
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

--- Ends it at once: the other side can tell that something may be missing.
function Layer:cancel()
  release(self)
  self._closed = true
  self._handle:cancel()
  self._session:close() -- the collector does not see how much it is
  self._state = self._state or "closed"
end

-- The handshake failed.
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

-- The handshake goes on.
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

-- The connection has ended. That the other side said so before is what tells an end from a cut (RFC 8446, 6.1).
local function finish(self, event, kind, reason)
  pull(self)
  if self._state == "closed" then
    return self._up("done")
  elseif not self._state then
    self._state = "truncated"
    self._reason = event == "error" and reason or "the connection was cut off: there was no close_notify"
  end
  return self._up("error", event == "error" and kind or "tls", self._reason)
end

--- Takes an event of the connection.
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

--- Puts the layer above the handle of a connection that was accepted.
---@param handle table
---@return operations.TlsLayer
function Layer:begin(handle)
  self._handle, self._session, shaking[self] = handle, self._security:session(), self
  deadlines:watch(self, scheduler.host().now() + self._security.timeout)
  return self
end

--- A layer whose connection is still to come, see `begin`.
---@param security operations.Security
---@param up fun(event: string, ...)  takes the events, as those of a handle
---@return operations.TlsLayer
function tls_layer.new(security, up)
  return setmetatable({ peer_tls = nil, limit = nil, _security = security, _up = up, _unchecked = 0, _state = nil,
    _plain = nil, _closed = nil }, Layer)
end

return tls_layer
