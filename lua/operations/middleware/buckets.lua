--- Token buckets, in this process or in a shared dictionary of nginx. A bucket is the time at which it will be full
--- again (the generic cell rate algorithm): one number; a full bucket needs none.
local dictionaries = require("operations.task.dictionary")
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
  local later = (full and full > now and full or now) + interval
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
  local full, wait, left = buckets.take(kept:get(key), scheduler.now(), interval, burst)
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

local PREFIX = "operations:rate:"

---@class operations.SharedBuckets : operations.Buckets
local Shared = {}
Shared.__index = Shared

local function take_shared(store, place, interval, burst)
  local now = scheduler.now()
  local full, wait, left = buckets.take(store:get(place), now, interval, burst)
  if full then
    local ok, why, dropped = store:set(place, full, math.max(0.001, (full - now) / 1000))
    if not ok or dropped then
      dictionaries.failed("rates", ok and "dropped" or "refused", "rate_limit: its shared dictionary is full: "
        .. (ok and "other values were dropped" or "calls are not counted: " .. tostring(why)) .. "; make it larger")
    end
  end
  return full ~= nil, wait, left
end

function Shared:take(key, interval, burst)
  return dictionaries.locked(self._dictionary, PREFIX .. key, take_shared, interval, burst)
end

--- Buckets of all workers of nginx. Reading and writing happens under a lock.
---@param shared table  `ngx.shared.NAME`
---@return operations.SharedBuckets
function buckets.shared(shared)
  return setmetatable({ _dictionary = shared }, Shared)
end

return buckets
