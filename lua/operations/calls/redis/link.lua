--- One connection to Redis, re-established when it is lost: commands are pipelined, each has its answer; published
--- messages are passed to the subscriber. A link has exactly one owner.
local addresses = require("operations.calls.redis.address")
local backoff = require("operations.base.backoff")
local compat = require("operations.base.compat")
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local number_text = require("operations.base.number_text")
local redis_reply = require("operations.calls.redis.reply")
local resp = require("operations.redis")
local scheduler = require("operations.task.scheduler")
local streams = require("operations.net.stream")
local task = require("operations.task")
local trace = require("operations.calls.trace")

local redis_link = {}

---@class operations.RedisLink
---@field connected boolean
---@field outage operations.Error  the reason of the current or last outage
local Link = {}
Link.__index = Link

local function failure(kind, message)
  local err = errors.new("TRANSPORT_LOST", message, { kind = kind })
  err.retryable = true
  return err
end

-- Records why it is not connected, and for how long Redis itself has refused us.
local function note(self, err)
  self.outage = err
  self._refused = redis_reply.lasts(err) and (self._refused or core.now()) or nil
end

local function fail_all(self, err)
  local waiting, subjects, first, last = self._waiting, self._subjects, self._first, self._last
  self._waiting, self._subjects, self._sent, self._first, self._last = {}, {}, {}, 1, 0
  for i = first, last do
    waiting[i](nil, err, subjects[i])
  end
end

-- The connection for the log: a transport has one for commands, and one for messages.
local function name_of(self)
  return addresses.text(self._found or self._address) .. (self._channels and " (messages)" or "")
end

local function lost(self, err)
  if self._stream then
    local stream, worked = self._stream, self.connected
    self._stream, self.connected = nil, false
    note(self, err)
    stream:close()
    fail_all(self, err)
    if self._kept then
      self._lost_at = worked and trace.lost(name_of(self), err) or self._lost_at
      if self._on.lost then
        self._on.lost(err)
      end
      if self._wake then
        self._wake()
      end
    end
  end
end

-- An answer that this command cannot have: the others on this connection cannot be trusted, either.
local function unexpected(name, reply)
  local shown = type(reply) == "table" and "a list" or reply == false and "nil" or tostring(reply)
  shown = shown:gsub("[^\32-\126]", "?"):sub(1, 60)
  local err = errors.new("EXECUTION_ERROR", ("an unexpected answer of Redis to %s: %s"):format(name, shown),
    { kind = "protocol" })
  err.retryable, err.mayHaveRun = false, true
  return err
end

-- Handles a reply on a subscribing link; true when it ends the answer to a command.
local pushed = {}

function pushed.message(self, reply)
  self._on.message(reply[2], reply[3])
end

function pushed.subscribe(self)
  self._unconfirmed = self._unconfirmed - 1
  return self._unconfirmed == 0
end

function pushed.pong() end

local function take(self, reply)
  local plain = type(reply) ~= "table"
  local push = not plain and self._channels and pushed[reply[1]]
  if push and not push(self, reply) then
    return
  end
  local first = self._first
  if first > self._last then -- later answers would be assigned to the wrong commands
    return lost(self, not plain and reply.err and redis_reply.error(reply.err)
      or failure("protocol", "Redis sent an answer without a command"))
  end
  local waiting, subject, sent = self._waiting[first], self._subjects[first], self._sent[first]
  self._waiting[first], self._subjects[first], self._sent[first] = nil, nil, nil
  self._first = first + 1
  if plain or not reply.err then
    if sent.shape and not redis_reply.fits(sent.shape, reply) then
      local err = unexpected(sent.name, reply)
      waiting(nil, err, subject)
      return lost(self, failure("protocol", err.message))
    end
    return waiting(reply, nil, subject)
  end
  local err = redis_reply.error(reply.err)
  if waiting then
    waiting(nil, err, subject)
  end
  if err.code == "TRANSPORT_LOST" then
    lost(self, err)
  end
end

local function take_all(self, stream, replies)
  for i = 1, #replies do
    take(self, replies[i])
    if stream ~= self._stream then
      return
    end
  end
end

local function on_bytes(self, stream, bytes, err)
  if stream ~= self._stream then
    return
  elseif bytes == nil then
    return lost(self, err or failure("reset", "Redis closed the connection"))
  end
  local replies, problem = self._reader:feed(bytes)
  self._begun = replies and replies[1] == nil and self._begun + #bytes or 0
  if not replies then
    return lost(self, failure("protocol", "not an answer of Redis: " .. problem))
  elseif not self.connected and self._begun > limits.redis_handshake then
    return lost(self, failure("protocol", "an endless answer of Redis"))
  end
  -- A reply of an unexpected kind must end the connection, not the program.
  local ok, raised = pcall(take_all, self, stream, replies)
  if not ok and stream == self._stream then
    lost(self, failure("protocol", "an unexpected answer of Redis: " .. tostring(raised)))
  end
end

local function nothing() end

-- Tests the connection; it is lost after three intervals without a byte.
local function watch(self)
  self._stream:watch(limits.redis_silence, 3, function()
    if self._unconfirmed then -- subscribing: replies are pushed
      self._stream:offer(resp.command("PING"), true)
    else
      self:post(nothing, "PING")
    end
  end, function()
    lost(self, failure("timeout", ("Redis said nothing for %d ms"):format(3 * limits.redis_silence)))
  end)
end

---@class operations.RedisSent
---@field name string  of the command
---@field shape? string|table  of its reply

-- Commands by name.
local commands = setmetatable({}, { __index = function(known, name)
  known[name] = { name = name, shape = redis_reply.shapes[name] }
  return known[name]
end })

local function send(self, sent, bytes, fn, subject)
  local stream, last = self._stream, self._last + 1
  if not stream then
    return fn(nil, self:unconnected(), subject)
  elseif self._first == last then -- no command waits: reuses the places
    self._first, last = 1, 1
  end
  self._last, self._waiting[last], self._subjects[last], self._sent[last] = last, fn, subject, sent
  stream:offer(bytes, true) -- where it has ended, `on_bytes` is told
end

--- The error of commands while it is not connected.
---@return operations.Error
function Link:unconnected()
  local why = self.outage
  local refused = redis_reply.lasts(why)
  local err = errors.new(refused and why.code or "TRANSPORT_LOST",
    refused and why.message or "not connected to Redis: " .. why.message, { kind = "connect" })
  err.retryable, err.mayHaveRun = not refused or why.retryable, false
  return err
end

--- The error when Redis has refused us for so long that waiting is useless.
---@return operations.Error?
function Link:refusal()
  return self._refused and core.now() - self._refused >= limits.redis_patience and self.outage or nil
end

--- Sends a command; calls `fn(reply)` or `fn(nil, err)` with its answer; `fn` must not wait.
---@param fn fun(reply: any, err: operations.Error?)
---@param ... string|number
function Link:post(fn, ...)
  send(self, commands[...], resp.command(...), fn)
end

--- Runs a script, as `post`.
---@param fn fun(reply: any, err: operations.Error?)
---@param sent operations.RedisSent
---@param ... string|number  EVAL or EVALSHA and its arguments
function Link:evaluate(fn, sent, ...)
  send(self, sent, resp.command(...), fn)
end

--- Publishes; calls `fn(receivers, nil, subject)` or `fn(nil, err, subject)` with the answer; `fn` must not wait.
---@param channel string
---@param bytes string
---@param fn fun(receivers: integer?, err: operations.Error?, subject: any)
---@param subject? any
function Link:publish(channel, bytes, fn, subject)
  send(self, commands.PUBLISH, resp.command("PUBLISH", channel, bytes), fn, subject)
end

--- Waits for the answer of what `start` sends.
---@param start fun(wake: fun(reply: any, err: operations.Error?))
---@return any reply
---@return operations.Error? err
function Link.await(_, start)
  local raised, reply, err = scheduler.try_await(start)
  if raised ~= nil then
    return nil, (errors.from(raised))
  end
  return reply, err
end

--- Sends a command and waits for its answer.
---@param ... string|number
---@return any reply  false for nil
---@return operations.Error? err
function Link:call(...)
  local command = { n = select("#", ...), ... }
  return self:await(function(wake)
    self:post(wake, compat.unpack(command, 1, command.n))
  end)
end

-- Does this node of a cluster have our keys, and accept writes if we write? A user without access to keys accepts any
-- node.
local function has_key(self, key)
  local _, err = self:call(self._address.writes and "UNLINK" or "GET", key)
  return err == nil or err.code == "ACCESS_DENIED" or nil, err
end

-- Connects to a node and authenticates; true, or nil and the reason.
local function connect_to(self, at)
  local stream, err = streams.connect(at.host, at.port, at)
  if not stream then
    return nil, err
  end
  self._stream, self._reader, self._unconfirmed, self._begun = stream, resp.reader(), nil, 0
  watch(self)
  stream:each_chunk(function(bytes, why)
    on_bytes(self, stream, bytes, why)
  end)
  local ok = true
  if at.password then
    ok, err = self:call("AUTH", compat.unpack(at.user and { at.user, at.password } or { at.password }))
  end
  if ok and at.database then
    ok, err = self:call("SELECT", at.database)
  end
  if ok then
    ok, err = self:call("PING") -- it may accept connections before it is ready
  end
  if ok and at.key then
    ok, err = has_key(self, at.key)
  end
  if ok and self._channels then
    self._unconfirmed = #self._channels
    ok, err = self:call("SUBSCRIBE", compat.unpack(self._channels))
  end
  if ok and self._stream ~= stream then
    ok, err = nil, failure("reset", "Redis closed the connection")
  end
  if not ok then
    lost(self, err)
    return nil, err
  end
  self.connected, self._refused = true, nil
  return true
end

local HOPS = 4 -- redirections in a cluster that is being reconfigured

-- Connects to a node and follows its cluster's redirections to the one with our keys.
local function follow_from(self, at)
  local start = at
  local ok, err = connect_to(self, at)
  for _ = 1, HOPS do
    local moved = not ok and type(err.details) == "table" and err.details.moved
    if not moved then
      break
    end
    self._is_cluster, at = true, addresses.elsewhere(at, moved)
    ok, err = connect_to(self, at)
  end
  if ok then
    self._found = at
  elseif at ~= start then
    err = redis_reply.unreached(err, at, at.key)
  end
  return ok, err
end

-- Asks for the nodes of the cluster, in case ours fails.
local function learn(self)
  if not self._channels and (self._is_cluster or self._known[2]) then
    self:post(function(reply)
      for _, range in ipairs(type(reply) == "table" and reply or {}) do
        for i = 3, #range do
          if type(range[i]) == "table" and type(range[i][1]) == "string" and type(range[i][2]) == "number" then
            addresses.remember(self._address, range[i][1], range[i][2])
          end
        end
      end
    end, "CLUSTER", "SLOTS")
  end
end

-- Connects to the node that had our keys last, else by way of one that is known.
local function follow(_, self)
  local ok, err
  if self._found then
    ok, err = follow_from(self, self._found)
  end
  local known = self._known
  for i = 1, ok and 0 or #known do
    self._next = self._next % #known + 1 -- one that does not answer takes all the time of an attempt
    local at = known[self._next]
    if i > 1 or not self._found or not addresses.same(at, self._found) then
      ok, err = follow_from(self, at)
    end
    if ok then
      break
    end
  end
  if ok then
    learn(self)
  end
  return ok, err
end

-- Connects within `connect_timeout`, whatever the steps.
local function connect(self)
  local limit = self._address.connect_timeout or limits.connect_timeout
  local stop = core.now() + limit
  local ok, err = task.enclose(stop, follow, self)
  if not ok and err.code == "TIMEOUT" and core.now() >= stop then
    err = failure("timeout", ("Redis did not accept the connection within %s ms"):format(number_text.of(limit)))
  end
  return ok, err
end

local function await_loss(self)
  scheduler.await(function(wake)
    self._wake = wake
    if not self._stream then
      wake()
    end
  end)
end

-- Keeps it connected until it is closed.
local function keep(self)
  local failures, since = 0, core.now()
  while not self._closed do
    local ok = self._stream ~= nil
    if not ok then
      local err
      ok, err = connect(self)
      since = core.now()
      if ok then
        trace.connected(name_of(self), self._lost_at)
        self._lost_at = nil
        self._on.ready(self)
      else
        note(self, err)
      end
      if self._on.refused and self:refusal() then
        self._on.refused(self:refusal())
      end
    end
    if ok then
      await_loss(self)
    end
    -- A connection lost at once counts as another failure.
    failures = core.now() - since < limits.reconnect_max_delay and failures + 1 or 0
    if failures > 0 and not self._closed then
      local delay = backoff.delay(limits.reconnect_delay, failures, limits.reconnect_max_delay)
      task.sleep(backoff.spread(delay, 0.25) / 1000)
    end
  end
end

---@class operations.RedisLinkEvents
---@field ready fun(link: operations.RedisLink)  whenever it is connected; may wait
---@field lost? fun(err: operations.Error)
---@field refused? fun(err: operations.Error)  called repeatedly while Redis itself refuses us
---@field channels? string[]  a link with channels subscribes, and can do nothing else
---@field message? fun(channel: string, bytes: string)

local function new(address, on)
  local self = setmetatable({
    connected = false, outage = failure("connect", "it is about to connect"),
    _address = address, _waiting = {}, _subjects = {}, _sent = {}, _first = 1, _last = 0, _on = on,
    _channels = on.channels, _kept = false, -- is the task that keeps it connected running?
    _next = 0, _found = nil, _is_cluster = false,
  }, Link)
  self._known = addresses.known(address)
  return self
end

--- Connects to Redis and keeps connected; waits for the first connection.
---@param address operations.RedisAddress
---@param on operations.RedisLinkEvents
---@return operations.RedisLink?
---@return operations.Error? err
function redis_link.connect(address, on)
  local self = new(address, on)
  local ok, err = connect(self)
  if not ok then
    return nil, err
  end
  self._kept = true
  on.ready(self)
  self._keeper = task.detach(keep, self)
  return self
end

--- Begins to connect to Redis, and keeps connected.
---@param address operations.RedisAddress
---@param on operations.RedisLinkEvents
---@return operations.RedisLink
function redis_link.start(address, on)
  local self = new(address, on)
  self._kept = true
  self._keeper = task.detach(keep, self)
  return self
end

--- Closes it.
function Link:close()
  if not self._closed then
    self._closed, self._kept = true, false
    self._keeper:cancel()
    lost(self, failure("closed", "the connection to Redis was closed"))
  end
end

return redis_link
