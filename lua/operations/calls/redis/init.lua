--- Processes that share a Redis find each other through it and call each other's operations. In mode `fast` a request
--- goes to one process that serves the operation, at most once. In mode `reliable` it waits in a queue until a worker
--- has finished it: it runs at least once, with exactly one outcome. Subscriptions always use mode `fast`.
local addresses = require("operations.calls.redis.address")
local argument = require("operations.base.argument")
local callers = require("operations.calls.redis.caller")
local core = require("operations.core")
local fasts = require("operations.calls.redis.fast")
local jobs = require("operations.calls.redis.jobs")
local letters = require("operations.calls.redis.letters")
local limits = require("operations.base.limits")
local link = require("operations.calls.redis.link")
local members = require("operations.base.members")
local presences = require("operations.calls.redis.presence")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")
local signatures = require("operations.calls.redis.signature")
local workers = require("operations.calls.redis.worker")

local redis = {}

---@class operations.RedisOptions : operations.StreamOptions
---@field mode? "fast"|"reliable"  default "fast"
---@field prefix? string  of all channels and keys, default "ops"
---@field vouches? boolean  trust the identities in requests: every client that may publish is trusted
---@field nodes? string[]  "host:port", further nodes of a cluster: asked where that of the URL cannot be reached
---@field user? string  instead of the URL's
---@field password? string
---@field secret? string  at least 16 bytes, shared by all: messages are signed with it, and others are refused
---@field max_message? integer  bytes of a request or an answer, default 16 MiB
---@field proxy? string  URL; default: none, also if the environment names one
---@field lease? number  ms, `reliable`: a worker silent for this long loses its requests; default 5,000
---@field attempts? integer  `reliable`: workers that may lose a request before it is a dead letter, default 5
---@field max_queue? integer  `reliable`: requests for one operation, default 10,000; further ones are refused
---@field retention? number  ms, `reliable`: how long an outcome is kept that was not fetched, default 10 minutes
---@field on_state? fun(state: "lost"|"connected", err: operations.Error?)  the connections were lost, and are there
---  again

-- The state shared by the parts of a transport.
---@class operations.RedisShared
---@field link operations.RedisLink  for everything except reading
---@field subscriber operations.RedisLink
---@field address operations.RedisAddress
---@field keys operations.RedisKeys
---@field presence operations.RedisPresence
---@field signature operations.RedisSignature
---@field receiver operations.Receiver  set when it is opened
---@field vouches? boolean
---@field lease number  ms
---@field attempts integer
---@field max_queue integer
---@field retention number  ms
---@field max_message integer

---@class operations.Redis : operations.Transport
---@field id string  of this process
local Redis = members.merged(letters, jobs)
Redis.__index = Redis

local option_kinds = addresses.options({
  mode = "string", prefix = "string", vouches = "boolean", secret = "string", lease = "number", attempts = "number",
  max_queue = "number", max_message = "number", retention = "number", on_state = "function",
})

local function refuse(self)
  self._receiver.event(false, {}) -- logged and counted
end

-- Is it signed with the secret, for this channel, and not a replay?
local function is_signed(signature, channel, line, message)
  return signature:fits(channel, line) and signature:is_new(message)
end

local function on_event(self, channel, line, event)
  local payload = type(event.payload) == "table" and event.payload or {}
  local id, caller, worker = payload.requestId, self._caller, self._worker
  local signature = self._shared.signature
  if type(event.from) ~= "string" then
    return refuse(self)
  elseif caller and caller:knows(id) and signature:fits(self._shared.keys:record(id), line)
    and caller:take(event.type, payload, event) then
    return
  elseif worker and event.type == "call.aborted" and worker:knows(id) and signature:fits(worker:place(id), line) then
    return worker:drop(id) and self._receiver.event(event, {})
  elseif is_signed(signature, channel, line, event) then
    return self._fast:take(event, payload)
  end
  refuse(self)
end

local function on_news(self, channel, line, news)
  if is_signed(self._shared.signature, channel, line, news) then
    self._presence:hear(news)
  elseif self._shared.signature.secret then
    refuse(self)
    if news.ask and news.sig == nil then
      self._presence:show_signature()
    end
  end
end

local function on_line(self, channel, line, message)
  if type(message) ~= "table" then
    refuse(self)
  elseif channel == self._presence.common then
    on_news(self, channel, line, message)
  elseif self._fast and not self._closed then -- otherwise there is no receiver
    on_event(self, channel, line, message)
  end
end

-- Events in one message are separated by newlines.
local function on_message(self, channel, bytes)
  if #bytes > self._shared.max_message + fasts.slack then
    return refuse(self)
  end
  local secret, following = self._shared.signature.secret, 1
  repeat
    local from, message = following
    following, message = core.json_line(bytes, from)
    on_line(self, channel, secret and bytes:sub(from, following and following - 2), message)
  until not following
end

-- Queued requests survive a connection.
local function keeps(self)
  local caller, worker = self._caller, self._worker
  return caller and function(id)
    return caller:knows(id) or worker:knows(id)
  end
end

-- Entry ids use Redis' clock: measures its difference from ours.
local function read_clock(self)
  local asked = core.now()
  self._commands:post(function(reply)
    if reply then
      local now = tonumber(reply[1]) * 1000 + tonumber(reply[2]) / 1000
      self._worker:set_clock(now - (asked + core.now()) / 2)
    end
  end, "TIME")
end

local function is_connected(self)
  return self._commands.connected and self._subscriber.connected
end

local function look_after(self)
  self._timer = scheduler.host().timer(limits.presence / 2, function()
    if is_connected(self) then
      read_clock(self)
      self._caller:check()
    end
    look_after(self)
  end)
end

function Redis:open(receiver)
  local shared = self._shared
  local events = {}
  function events.unbegun(payload, failure)
    self._fast:send_on(payload, failure)
  end
  self._receiver, shared.receiver = receiver, receiver
  self._fast = fasts.new(shared)
  if self._mode == "reliable" then
    self._caller, self._worker = callers.new(shared), workers.new(shared)
    read_clock(self)
    look_after(self)
    function events.changed(offered)
      self._worker:serve(offered)
    end
    function events.released()
      self._worker:look_after()
    end
  end
  self._presence:begin(self._commands, receiver, events)
end

--- Announces the operations that this process serves.
function Redis:serves()
  self._presence:hello()
end

--- Leaves the requests that are queued to other workers.
function Redis:drains()
  if self._worker then
    self._worker:serve({})
  end
end

function Redis:send(name, payload, peer, named)
  if name == "call.requested" then
    -- Subscriptions and the discovery of services always use mode `fast`.
    if self._caller and payload.credit == nil and not payload.operationId:find("^services%.") then
      return self._caller:submit(payload, named)
    end
    return self._fast:request(payload)
  elseif peer and peer.job then
    return self._worker:finish(peer.job, name, payload)
  elseif name == "call.aborted" and self._caller and self._caller:knows(payload.requestId) then
    self._caller:abort(payload)
    return true
  end
  return self._fast:send(name, payload, peer)
end

--- Waits until Redis has received everything sent before.
---@return operations.Error? err
function Redis:settle()
  self._fast:flush()
  local _, err = self._commands:call("PING")
  return err
end

-- Waits until both connections are there or this process leaves; returns why it waits no longer.
local function await_connections(self)
  return scheduler.try_await(function(wake)
    self._connected = wake
  end)
end

--- Waits until Redis has the answers of all requests that have ended; if a connection is lost, for the next one. A
--- script that Redis does not know is sent twice, so that one answer does not tell.
function Redis:drained()
  local worker, err = self._worker, self:settle()
  while (not err or err.code == "TRANSPORT_LOST") and worker and not self._closed and worker:stores() do
    if not is_connected(self) and await_connections(self) then
      return
    end
    err = self:settle()
  end
end

--- The ids of all operations served on this Redis, as far as known here.
---@return string[]
function Redis:offered()
  return self._presence.nodes:offered()
end

-- Waits until the last events were sent.
local function leave(self)
  self._presence:leave()
  self._commands:post(function()
    self._commands:close()
    self._subscriber:close()
  end, "PING")
end

--- Announces that this process stops, and ends its connections.
function Redis:close()
  if self._closed then
    return
  end
  self._closed = true
  if self._connected then
    self._connected()
  end
  if self._worker then
    self._timer()
    self._worker:close()
    self._caller:close()
  end
  if self._fast then
    self._fast:flush()
    self._fast:forget()
  end
  if not self._worker then
    return leave(self)
  end
  self._commands:post(function() -- Redis has seen the end of the reading connection
    self._worker:release_rest(function()
      leave(self)
    end)
  end, "PING")
end

-- Called when both connections were re-established.
local function resume(self)
  self._presence:announce()
  if self._worker then
    read_clock(self)
    self._worker:resume()
    self._caller:resume()
  end
  if self._connected then
    self._connected()
  end
  self._receiver.ready()
end

--- Connects to Redis and waits for the connection. The transport is for one call map, which may call, serve, or both.
---@param url string  "redis://user:password@host:port/database", "rediss://" over TLS
---@param options? operations.RedisOptions
---@return operations.Redis?
---@return operations.Error? err  TRANSPORT_LOST, ACCESS_DENIED, ABORTED, TIMEOUT
function redis.connect(url, options)
  argument.expect(url, "string", 1, "redis")
  argument.optional(options, "table", 2, "redis")
  options = options or {}
  argument.options(options, option_kinds, "redis")
  if options.mode and options.mode ~= "fast" and options.mode ~= "reliable" then
    error(("bad option 'mode' to 'redis' (\"fast\" or \"reliable\" expected, got %q)"):format(options.mode), 2)
  end
  if options.secret and #options.secret < signatures.least then
    error(("bad option 'secret' to 'redis' (%d bytes or more expected)"):format(signatures.least), 2)
  end
  local address = addresses.read(url, options)
  local prefix = options.prefix or "ops"
  local signature = signatures.new(options.secret)
  local keys, presence = scripts.keys(prefix), presences.new(prefix, signature)
  address.key, address.writes = keys:any(), options.mode == "reliable"
  local shared = {
    address = address, keys = keys, presence = presence, signature = signature, vouches = options.vouches,
    lease = options.lease or limits.redis_lease, attempts = options.attempts or limits.redis_attempts,
    max_queue = options.max_queue or limits.redis_queue, retention = options.retention or limits.redis_retention,
    max_message = options.max_message or limits.body,
  }
  local self = setmetatable({
    id = presence.id, reconnects = true, keeps_jobs = options.mode == "reliable",
    _presence = presence, _shared = shared, _mode = options.mode,
    _receiver = { event = function() end },
  }, Redis)
  local is_lost = false
  local function tell(lost_now, err)
    if options.on_state and lost_now ~= is_lost and not self._closed then
      is_lost = lost_now
      options.on_state(lost_now and "lost" or "connected", err)
    end
  end
  local function ready()
    local both = self._commands and self._subscriber and is_connected(self)
    if both then
      tell(false)
    end
    if both and self._receiver.ready then
      resume(self)
    end
  end
  local function lost(err)
    tell(true, err)
    presence:forget()
    if self._fast then
      self._fast:forget()
    end
    if self._receiver.lost then
      self._receiver.lost(err, keeps(self))
    end
  end
  local err
  self._commands, err = link.connect(address, { ready = ready, lost = lost, refused = function(why)
    if self._caller then
      self._caller:refuse(why)
    end
  end })
  if not self._commands then
    return nil, err
  end
  shared.link = self._commands
  self._subscriber, err = link.connect(address, {
    channels = { presence:channel(self.id), presence.common },
    ready = ready,
    lost = lost,
    message = function(...)
      on_message(self, ...)
    end,
  })
  if not self._subscriber then
    self._commands:close()
    return nil, err
  end
  shared.subscriber = self._subscriber
  return self
end

return redis
