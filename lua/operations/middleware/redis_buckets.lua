--- Token buckets in Redis, of all processes that use it. While Redis is not there, each process counts for itself.
local addresses = require("operations.calls.redis.address")
local argument = require("operations.base.argument")
local buckets = require("operations.middleware.buckets")
local limits = require("operations.base.limits")
local link = require("operations.calls.redis.link")
local scripts = require("operations.calls.redis.scripts")
local single_flight = require("operations.task.single_flight")

local redis_buckets = {}

local kinds = addresses.with({ prefix = "string" })

-- As `buckets.take`, by the clock of Redis. Bucket | ms of a call, calls at once. Answers: was there one, ms, left.
local take = scripts.new([[
local time = redis.call("TIME")
local now, interval, burst = time[1] * 1000 + time[2] / 1000, tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call("GET", KEYS[1])) or now, now) + interval
local over = full - now - burst * interval
if over > 0.01 then
  return { 0, tostring(over), 0 }
end
redis.call("SET", KEYS[1], string.format("%.4f", full), "PX", math.max(1, math.ceil(full - now)))
return { 1, tostring(full - now), math.floor((0.01 - over) / interval) }]])

---@class operations.RedisBuckets : operations.Buckets
---@field _address operations.RedisAddress
---@field _prefix string
---@field _connecting operations.SingleFlight
---@field _link? operations.RedisLink
---@field _local operations.LocalBuckets
local Buckets = {}
Buckets.__index = Buckets

local on = { ready = function() end }

-- The first call connects: before that, in nginx, there may be no worker yet.
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
    reply = take:call(self._link, 1, { self._prefix .. key, ("%.17g"):format(interval), burst })
  end
  if type(reply) ~= "table" then
    return self._local:take(key, interval, burst)
  end
  return reply[1] == 1, tonumber(reply[2]), reply[3]
end

--- Ends the connection; what is counted from then on is counted in this process.
function Buckets:close()
  if self._link then
    self._link:close()
  end
end

--- The store of `rate_limit` that processes share. Connects at the first call, and again when the connection is lost.
---@param url string  "redis://user:password@host:port/database", "rediss://" over TLS
---@param options? table  `prefix` (of keys, default "ops:rate:"), `user`, `password`, and those of TLS
---@return operations.RedisBuckets
function redis_buckets.new(url, options)
  argument.expect(url, "string", 1, "redis")
  argument.optional(options, "table", 2, "redis")
  options = options or {}
  argument.options(options, kinds, "redis")
  return setmetatable({ _address = addresses.of(url, options), _prefix = options.prefix or "ops:rate:",
    _connecting = single_flight.new(), _local = buckets.new(limits.middleware_keys) }, Buckets)
end

return redis_buckets
