--- Token buckets in Redis, shared by all processes, and the answers that servers keep by Idempotency-Key. While Redis
--- is unavailable, each process counts for itself, and such answers are not kept.
local addresses = require("operations.calls.redis.address")
local argument = require("operations.base.argument")
local buckets = require("operations.middleware.buckets")
local dictionary = require("operations.task.dictionary")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local link = require("operations.calls.redis.link")
local number_text = require("operations.base.number_text")
local redis_events = require("operations.calls.redis.events")
local scripts = require("operations.calls.redis.scripts")
local single_flight = require("operations.task.single_flight")

local redis_buckets = {}

local kinds = addresses.options({ prefix = "string" })

-- As `buckets.take`, by the clock of Redis. Bucket | ms per call, calls at once. Returns: available?, ms, calls left.
local take = scripts.new([[
local time = redis.call("TIME")
local now, interval, burst = time[1] * 1000 + time[2] / 1000, tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call("GET", KEYS[1])) or now, now) + interval
local over = full - now - burst * interval
if over > 0.01 then
  return { 0, tostring(over), 0 }
end
redis.call("SET", KEYS[1], string.format("%.4f", full), "PX", math.max(1, math.ceil(full - now)))
return { 1, tostring(full - now), math.floor((0.01 - over) / interval) }]], { "integer", "string", "integer" })

---@class operations.RedisBuckets : operations.Buckets, operations.RedisConnection
---@field _address operations.RedisAddress
---@field _prefix string
---@field _answers string  prefix of the server's keys
---@field _events string  and of the events of publishers
---@field _connecting operations.SingleFlight
---@field _link? operations.RedisLink
---@field _local operations.LocalBuckets
local Buckets = {}
Buckets.__index = Buckets

local on = { ready = function() end }

-- Connects at the first call: before that there may be no worker in nginx.
local function connect(self)
  return self._connecting:run(function()
    if not self._link then
      self._link = link.connect(self._address, on) or link.start(self._address, on)
    end
    return true
  end)
end

function Buckets:take(key, interval, burst)
  if not self._link then
    connect(self)
  end
  local reply
  if self._link and self._link.connected then
    reply = take:call(self._link, 1, { self._prefix .. key, number_text.of(interval), burst })
  end
  local wait = reply and tonumber(reply[2])
  if not wait or wait ~= wait then
    dictionary.failed("rates", "unavailable", "rate_limit: Redis is unavailable: this process counts for itself")
    return self._local:take(key, interval, burst)
  end
  return reply[1] == 1, wait, reply[3]
end

-- Value, ms | if there is none. Returns the existing one.
local add = scripts.new([[
return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and "" or redis.call("GET", KEYS[1])]],
  "string")

-- Value; the owner's values by age, and their sizes by key, under "" their sum | old value, new one or "", ms, bytes
-- and values that an owner may have. Returns 1 when the old one was there. In a full Redis the old value stays for that
-- time: an operation that ran must not run again. The oldest values of an owner who has too many are removed; they are
-- in the same slot of a cluster.
local swap = scripts.new([[
local key, order, sizes = KEYS[1], KEYS[2], KEYS[3]
if redis.call("GET", key) ~= ARGV[1] then
  return 0
elseif ARGV[2] == "" then
  redis.call("DEL", key)
  return 1
end
local reply = redis.pcall("SET", key, ARGV[2], "PX", ARGV[3])
if reply.err then
  redis.call("PEXPIRE", key, ARGV[3])
  return reply
end
local function resize(name, size)
  local before = tonumber(redis.call("HGET", sizes, name)) or 0
  if size then
    redis.call("HSET", sizes, name, size)
  else
    redis.call("HDEL", sizes, name)
  end
  return redis.call("HINCRBY", sizes, "", (size or 0) - before)
end
local time, total = redis.call("TIME"), resize(key, #ARGV[2])
redis.call("ZADD", order, time[1] * 1000 + math.floor(time[2] / 1000), key)
while total > tonumber(ARGV[4]) or redis.call("ZCARD", order) > tonumber(ARGV[5]) do
  local oldest = redis.call("ZRANGE", order, 0, 0)[1]
  redis.call("ZREM", order, oldest)
  redis.call("DEL", oldest)
  total = resize(oldest)
end
redis.call("PEXPIRE", order, ARGV[3])
redis.call("PEXPIRE", sizes, ARGV[3])
return 1]], "integer")

-- Runs a script; nil and an error while Redis is unavailable.
local function ask(self, script, keys, words)
  local found, err = self:link()
  if not found then
    dictionary.failed("answers", "unavailable", "idempotency: Redis is unavailable: requests with a key are refused")
    return nil, err
  end
  return script:call(found, keys, words)
end

--- For the server's option `idempotency`: stores a value for `ttl` ms if there is none.
---@param key string
---@param value string
---@param ttl number
---@return string? known  the existing one
---@return operations.Error? err  UNAVAILABLE, TRANSPORT_LOST
function Buckets:add(key, value, ttl)
  local reply, err = ask(self, add, 1, { self._answers .. key, value, ("%d"):format(math.ceil(ttl)) })
  return reply ~= "" and reply or nil, err
end

--- Replaces or removes a value if it is still `old`. An owner whose values are too many or too large loses its oldest.
---@param key string
---@param old string
---@param new? string
---@param ttl? number  ms
---@param owner? string
---@return boolean? was
---@return operations.Error? err
function Buckets:swap(key, old, new, ttl, owner)
  local place, of = self._answers .. key, self._answers .. "of:" .. (owner or "")
  local reply, err = ask(self, swap, 3, { place, of, of .. ":sizes", old, new or "", ("%d"):format(math.ceil(ttl or 1)),
    ("%d"):format(limits.idempotency_sender_bytes), ("%d"):format(limits.idempotency_sender_keys) })
  return reply and reply == 1, err
end

--- The connection, for others that keep something in this Redis. Connects if it has not; may wait.
---@return operations.RedisLink? link
---@return operations.Error? err  UNAVAILABLE
function Buckets:link()
  if not self._link then
    connect(self)
  end
  local found = self:connected()
  return found, not found and errors.new("UNAVAILABLE", "Redis is unavailable") or nil
end

--- The connection, if there is one at the moment.
---@return operations.RedisLink?
function Buckets:connected()
  return self._link and self._link.connected and self._link or nil
end

--- Where it connects to.
---@return operations.RedisAddress
function Buckets:address()
  return self._address
end

--- The store of a publisher.
---@param keep integer  events of a topic
---@return operations.RedisEvents
function Buckets:events(keep)
  return redis_events.new(self, self._events, keep)
end

--- Closes the connection; later calls are counted in this process.
function Buckets:close()
  if self._link then
    self._link:close()
  end
end

--- A store for `rate_limit`, and for `idempotency` of to_http, that processes share. Connects at the first call, and
--- again when the connection is lost.
---@param url string  "redis://user:password@host:port/database", "rediss://" over TLS
---@param options? table  `prefix` (of keys, default "ops:"; it is their hash tag, so that a cluster
---  has them all on one node), `user`, `password`, and those of TLS
---@return operations.RedisBuckets
function redis_buckets.new(url, options)
  argument.expect(url, "string", 1, "redis")
  argument.optional(options, "table", 2, "redis")
  options = options or {}
  argument.options(options, kinds, "redis")
  local prefix = options.prefix or "ops:"
  local tagged = prefix:find("{[^}]+}") and prefix or "{" .. prefix .. "}"
  local address = addresses.read(url, options)
  address.key, address.writes = tagged .. "any", true
  return setmetatable({ _address = address, _prefix = tagged .. "rate:", _answers = tagged .. "answer:",
    _events = tagged .. "events:",
    _connecting = single_flight.new(), _local = buckets.new(limits.middleware_keys) }, Buckets)
end

return redis_buckets
