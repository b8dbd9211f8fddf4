--- Token buckets of all workers of nginx, in a shared dictionary. Reading and writing happens under a lock.
local buckets = require("operations.middleware.buckets")
local dictionary_lock = require("operations.base.dictionary_lock")
local scheduler = require("operations.task.scheduler")

local shared_buckets = {}

local PREFIX = "operations:rate:"

---@class operations.SharedBuckets : operations.Buckets
local Buckets = {}
Buckets.__index = Buckets

local function take(dictionary, place, interval, burst)
  local now = scheduler.host().now()
  local full, wait, left = buckets.take(dictionary:get(place), now, interval, burst)
  if full then
    dictionary:set(place, full, math.max(0.001, (full - now) / 1000))
  end
  return full ~= nil, wait, left
end

function Buckets:take(key, interval, burst)
  return dictionary_lock.run(self._dictionary, PREFIX .. key, take, interval, burst)
end

---@param dictionary table  `ngx.shared.NAME`
---@return operations.SharedBuckets
function shared_buckets.new(dictionary)
  return setmetatable({ _dictionary = dictionary }, Buckets)
end

return shared_buckets
