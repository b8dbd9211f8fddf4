--- The spoke's side of WebSocket (RFC 6455): connects to a hub, and again when the connection is lost. Calls go in both
--- directions.
local argument = require("operations.base.argument")
local backoff = require("operations.base.backoff")
local call_event = require("operations.calls.event")
local connection = require("operations.calls.websocket.connection")
local core = require("operations.core")
local handshake = require("operations.net.handshake")
local members = require("operations.base.members")
local task = require("operations.task")
local trace = require("operations.calls.trace")
local urls = require("operations.base.url")

local websocket = {}

---@class operations.WebSocketOptions : operations.StreamOptions
---@field token? string  sent as "Authorization: Bearer"
---@field max_message? integer  bytes, default 16 MiB
---@field ping_interval? number  ms, default 15,000; the connection is lost after two without a byte
---@field handshake_timeout? number  ms, default 10,000
---@field reconnect? boolean|operations.WebSocketReconnect  reconnects when the connection is lost

---@class operations.WebSocketReconnect
---@field delay? number  ms before the first attempt, default 100; doubles each time
---@field max_delay? number  ms, default 30,000
---@field jitter? number  random share added to a delay, default 0.25

-- Connects and performs the handshake.
local function open(parsed, options)
  return handshake.connect(parsed, members.merged(options, { protocol = connection.protocol,
    headers = options.token and { Authorization = "Bearer " .. options.token } or nil }))
end

---@class operations.WebSocket : operations.Transport
local Spoke = {}
Spoke.__index = Spoke

local option_kinds = {
  token = "string", max_message = "number", ping_interval = "number", handshake_timeout = "number",
  reconnect = "boolean or table", ca_file = "string", cert_file = "string", key_file = "string",
  key_password = "string", proxy = "string", public_only = "boolean", connect_timeout = "number",
}

local reconnect_defaults = { delay = 100, max_delay = 30000, jitter = 0.25 }
local reconnect_kinds = { delay = "number", max_delay = "number", jitter = "number" }

-- Misuse raises two levels up.
local function policy_of(given)
  if not given then
    return nil
  end
  local policy = {}
  if given ~= true then
    argument.options(given, reconnect_kinds, "reconnect", 4)
  end
  for name, default in pairs(reconnect_defaults) do
    local value = given ~= true and given[name] or default
    if value ~= value or value < 0 then
      error(("bad option '%s' to 'reconnect' (a number from 0 expected, got %s)"):format(name, value), 3)
    end
    policy[name] = value
  end
  return policy
end

local function adopt(self, stream, rest)
  self._since = core.now()
  local mine = connection.new(stream, false, self.peer, self._options)
  mine.on_end = function(err)
    self:_lost(err)
  end
  mine:open(self._receiver)
  self._connection = mine
  mine:start(rest)
end

-- Tries to connect until it succeeds or the spoke is closed. A connection lost at once counts as another failure.
local function reconnect(self)
  local policy = self._reconnect
  local failures = core.now() - self._since < policy.max_delay and self._failures or 0
  while not self._closed do
    local delay = backoff.delay(policy.delay, failures + 1, policy.max_delay)
    task.sleep(backoff.spread(delay, policy.jitter) / 1000)
    if self._closed then
      return
    end
    local stream, err, rest = open(self._parsed, self._options)
    if stream and not self._closed then
      self._failures = failures + 1
      trace.connected(self._address, self._lost_at)
      adopt(self, stream, rest)
      self._receiver.ready()
      return
    elseif err and err.code == "ACCESS_DENIED" then
      self._gave_up, self.reconnects = err, nil
      trace.refused(self._address, self._lost_at, err)
      return self._receiver.lost(err)
    end
    failures = failures + 1
  end
end

function Spoke:_lost(err)
  self._connection = nil
  if self._closed then
    return
  end
  self._lost_at = trace.lost(self._address, err)
  if self._reconnect then
    self._retrying = task.detach(reconnect, self)
  end
end

function Spoke:open(receiver)
  self._receiver = receiver
  local stream, rest = self._stream, self._rest
  self._stream, self._rest = nil, nil
  adopt(self, stream, rest)
end

function Spoke:send(name, payload)
  if self._connection then
    return self._connection:send(name, payload)
  end
  return nil, call_event.error({ code = "TRANSPORT_LOST", details = { kind = "connect" }, mayHaveRun = false,
    message = self._gave_up and tostring(self._gave_up) or "not connected",
    retryable = self._reconnect ~= nil and not self._gave_up })
end

function Spoke:hold(holder)
  self._connection:hold(holder) -- the connection that is receiving now
end

function Spoke:release(holder)
  if self._connection then
    self._connection:release(holder)
  end
end

function Spoke:close()
  self._closed = true
  if self._retrying then
    self._retrying:cancel()
  end
  if self._stream then -- not yet used by a call map
    self._stream:close()
    self._stream = nil
  end
  if self._connection then
    self._connection:close()
  end
end

--- Connects to a hub and waits for the connection. The transport is for one call map.
---@param url string  "ws://" or "wss://"
---@param options? operations.WebSocketOptions
---@return operations.WebSocket?
---@return operations.Error? err  TRANSPORT_LOST (details.kind), ACCESS_DENIED, TIMEOUT, ABORTED
function websocket.connect(url, options)
  argument.expect(url, "string", 1, "websocket")
  argument.optional(options, "table", 2, "websocket")
  local parsed = urls.parse(url)
  if not parsed or parsed.scheme ~= "ws" and parsed.scheme ~= "wss" or url:find("[%c ]")
    or tonumber(parsed.port or 0) > 65535 then
    error(("bad argument #1 to 'websocket' (URL of ws or wss expected, got %s)"):format(urls.redact_any(url)), 2)
  end
  options = options or {}
  argument.options(options, option_kinds, "websocket")
  local policy = policy_of(options.reconnect)
  if options.token and options.token:find("[%c ]") then
    error("bad option 'token' to 'websocket' (no blanks or control characters expected)", 2)
  end
  local stream, err, rest = open(parsed, options)
  if not stream then
    return nil, err
  end
  return setmetatable({
    peer = {}, _failures = 0, _address = urls.redact(url),
    _parsed = parsed, _options = options, _stream = stream, _rest = rest,
    _reconnect = policy, reconnects = options.reconnect and true or nil,
  }, Spoke)
end

return websocket
