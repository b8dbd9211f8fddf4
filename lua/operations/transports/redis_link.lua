--- One connection to Redis that is there again when it was lost: commands are pipelined, each has its answer, and what
--- is published comes to whoever subscribed. It has exactly one owner.
local compat = require("operations.compat")
local errors = require("operations.error")
local limits = require("operations.limits")
local resp = require("operations.redis")
local scheduler = require("operations.scheduler")
local streams = require("operations.stream")
local task = require("operations.task")

local redis_link = {}

---@class operations.RedisLink
---@field connected boolean
local Link = {}
Link.__index = Link

local function failure(kind, message)
  local err = errors.new("TRANSPORT_LOST", message, { kind = kind })
  err.retryable = true
  return err
end

local function fail_all(self, err)
  local waiting, first = self._waiting, self._first
  self._waiting, self._first, self._last = {}, 1, 0
  for i = first, #waiting do
    waiting[i](nil, err)
  end
end

local pushed = { message = true, smessage = true, subscribe = true, unsubscribe = true, ssubscribe = true,
  sunsubscribe = true }

local function take(self, reply)
  if self._subscribes and type(reply) == "table" and pushed[reply[1]] then
    if reply[1] == "message" or reply[1] == "smessage" then
      return self._on_message(reply[2], reply[3])
    elseif self._confirmed then
      self._confirmed(reply[2])
    end
    return
  end
  local waiting = self._waiting[self._first]
  self._waiting[self._first] = nil
  self._first = self._first + 1
  if not waiting then
    return
  elseif type(reply) == "table" and reply.err then
    return waiting(nil, errors.new("EXECUTION_ERROR", "Redis: " .. reply.err, { kind = "redis" }))
  end
  waiting(reply)
end

local function lost(self, err)
  if self._stream then
    local stream = self._stream
    self._stream, self.connected = nil, false
    stream:close()
    fail_all(self, err)
    local stop_waiting = self._stop_waiting
    if stop_waiting then
      stop_waiting()
    end
    if self._on_lost then
      self._on_lost(err)
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
  if not replies then
    return lost(self, failure("protocol", "not an answer of Redis: " .. problem))
  end
  for i = 1, #replies do
    take(self, replies[i])
  end
end

--- Sends a command; `fn(reply)` or `fn(nil, err)` is called with its answer and must not wait.
---@param fn fun(reply: any, err: operations.Error?)
---@param ... string|number
function Link:post(fn, ...)
  local stream = self._stream
  if not stream then
    return fn(nil, failure("connect", "not connected to Redis"))
  end
  self._last = self._last + 1
  self._waiting[self._last] = fn
  local sent, why = stream:offer(resp.command(...), true)
  if not sent then
    lost(self, failure("reset", "the connection to Redis is " .. why))
  end
end

--- Sends a command and waits for its answer.
---@param ... string|number
---@return any reply  false for nil
---@return operations.Error? err
function Link:call(...)
  local command = { n = select("#", ...), ... }
  local raised, reply, err = scheduler.try_await(function(wake)
    self:post(wake, compat.unpack(command, 1, command.n))
  end)
  if raised ~= nil then
    return nil, (errors.from(raised))
  end
  return reply, err
end

--- Subscribes to channels and waits until Redis says so. Of a link that was made with `message`.
---@param ... string
---@return true?
---@return operations.Error? err
function Link:subscribe(...)
  local command, left = resp.command("SUBSCRIBE", ...), select("#", ...)
  local stream = self._stream
  local raised = stream and scheduler.try_await(function(wake)
    self._stop_waiting = wake
    self._confirmed = function()
      left = left - 1
      if left == 0 then
        wake()
      end
    end
    stream:offer(command, true)
  end) or nil
  self._confirmed, self._stop_waiting = nil, nil
  if raised ~= nil then
    return nil, (errors.from(raised))
  elseif not stream or self._stream ~= stream then
    return nil, failure("reset", "the connection to Redis was lost")
  end
  return true
end

-- Connects, says who we are; true, or nil and why.
local function connect(self)
  local at = self._address
  local stream, err = streams.connect(at.host, at.port, at)
  if not stream then
    return nil, err
  end
  self._stream, self._reader = stream, resp.reader()
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
  if ok and self._stream ~= stream then
    ok, err = nil, failure("reset", "Redis closed the connection")
  end
  if not ok then
    lost(self, err)
    return nil, err
  end
  self.connected = true
  return true
end

-- Keeps it connected until it is closed.
local function keep(self)
  local failures = 0
  while not self._closed do
    local ok, err = self._stream ~= nil, nil
    if not ok then
      ok, err = connect(self)
      if ok then
        failures = 0
        self._on_ready(self)
      end
    end
    if ok then
      scheduler.await(function(wake)
        self._wake = wake
        if not self._stream then
          wake()
        end
      end)
    else
      failures = failures + 1
      self._err = err
      local delay = math.min(limits.reconnect_delay * 2 ^ (failures - 1), limits.reconnect_max_delay)
      task.sleep(delay * (1 + 0.25 * math.random()) / 1000)
    end
  end
end

---@class operations.RedisAddress : operations.StreamOptions
---@field host string
---@field port integer
---@field user? string
---@field password? string
---@field database? integer

---@class operations.RedisLinkEvents
---@field ready fun(link: operations.RedisLink)  whenever it is connected; may wait
---@field lost? fun(err: operations.Error)
---@field message? fun(channel: string, bytes: string)  of a link that subscribes

local function new(address, on)
  local self = setmetatable({
    connected = false, _address = address, _waiting = {}, _first = 1, _last = 0,
    _on_ready = on.ready, _on_message = on.message, _subscribes = on.message ~= nil,
  }, Link)
  return self, function(why)
    if on.lost then
      on.lost(why)
    end
    if self._wake then
      self._wake()
    end
  end
end

--- Connects to Redis and keeps connected; waits for the first time.
---@param address operations.RedisAddress
---@param on operations.RedisLinkEvents
---@return operations.RedisLink?
---@return operations.Error? err
function redis_link.connect(address, on)
  local self, on_lost = new(address, on)
  local ok, err = connect(self)
  if not ok then
    return nil, err
  end
  self._on_lost = on_lost
  self._on_ready(self)
  self._keeper = task.detach(keep, self)
  return self
end

--- Begins to connect to Redis, and keeps connected.
---@param address operations.RedisAddress
---@param on operations.RedisLinkEvents
---@return operations.RedisLink
function redis_link.start(address, on)
  local self, on_lost = new(address, on)
  self._on_lost = on_lost
  self._keeper = task.detach(keep, self)
  return self
end

--- Ends it.
function Link:close()
  if not self._closed then
    self._closed, self._on_lost = true, nil
    self._keeper:cancel()
    lost(self, failure("closed", "the connection to Redis was closed"))
  end
end

return redis_link
