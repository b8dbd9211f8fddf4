--- Delays between retries.
local backoff = {}

--- Doubles the delay with every consecutive failure, up to a limit.
---@param first number  ms, after the first failure
---@param failures integer
---@param most number  ms
---@return number ms
function backoff.delay(first, failures, most)
  return math.min(first * 2 ^ math.min(math.max(failures - 1, 0), 50), most)
end

--- Changes a delay at random, so that clients that failed at the same time do not retry at the same time.
---@param ms number
---@param share number  0.25: up to a quarter longer; -0.25: up to a quarter shorter
---@return number ms
function backoff.spread(ms, share)
  return ms * (1 + share * math.random())
end

return backoff
