--- Token buckets of all workers of nginx, in a shared dictionary. What is read is written back under a lock, which its
--- holder keeps for some microseconds and never waits in.
local buckets = require("operations.middleware.buckets")
local scheduler = require("operations.task.scheduler")

local shared_buckets = {}

local PREFIX = "operations:rate:"
local TRIES = 100000 -- to get the lock, some ms of them: then its holder is gone
local LEASE = 0.1 -- s after which the lock of a worker that died is free

---@class operations.SharedBuckets : operations.Buckets
local Buckets = {}
Buckets.__index = Buckets

local function lock(dictionary, name)
  for _ = 1, TRIES do
    local ok, why = dictionary:add(name, true, LEASE)
    if ok or why ~= "exists" then
      return -- where the dictionary has no memory, waiting is of no use
    end
  end
end

function Buckets:take(key, interval, burst)
  local dictionary, place = self._dictionary, PREFIX .. key
  local gate = place .. ":lock"
  lock(dictionary, gate)
  local now = scheduler.host().now()
  local full, wait, left = buckets.take(dictionary:get(place), now, interval, burst)
  if full then
    dictionary:set(place, full, math.max(0.001, (full - now) / 1000))
  end
  dictionary:delete(gate)
  return full ~= nil, wait, left
end

---@param dictionary table  `ngx.shared.NAME`
---@return operations.SharedBuckets
function shared_buckets.new(dictionary)
  return setmetatable({ _dictionary = dictionary }, Buckets)
end

return shared_buckets
