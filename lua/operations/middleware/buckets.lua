--- Token buckets in this process. A bucket is the time at which it will be full again (the generic cell rate
--- algorithm): one number; a full bucket needs none.
local lru = require("operations.base.lru")
local scheduler = require("operations.task.scheduler")

local buckets = {}

local SLACK = 0.01 -- ms of rounding errors in sums of times

--- Takes a call from a bucket.
---@param full number?  ms since the epoch, when it will be full; nil: it is full
---@param now number  ms since the epoch
---@param interval number  ms per call
---@param burst integer
---@return number? full  nil: the bucket is empty
---@return number wait  ms until a call is available; else until it is full
---@return number left  calls
function buckets.take(full, now, interval, burst)
  local later = math.max(full or now, now) + interval
  local over = later - now - burst * interval
  if over > SLACK then
    return nil, over, 0
  end
  return later, later - now, math.floor((SLACK - over) / interval)
end

---@class operations.LocalBuckets : operations.Buckets
---@field count integer  buckets that are kept
local Buckets = {}
Buckets.__index = Buckets

function Buckets:take(key, interval, burst)
  local kept = self._kept
  local full, wait, left = buckets.take(kept:get(key), scheduler.host().now(), interval, burst)
  if full then
    kept:put(key, full)
  end
  return full ~= nil, wait, left
end

---@param max_keys integer
---@return operations.LocalBuckets
function buckets.new(max_keys)
  return setmetatable({ _kept = lru.new(max_keys) }, Buckets)
end

return buckets
