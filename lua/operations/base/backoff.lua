--- How long to wait before another try.
local backoff = {}

--- Doubles with every failure in a row, up to a limit.
---@param first number  ms, after the first failure
---@param failures integer
---@param most number  ms
---@return number ms
function backoff.delay(first, failures, most)
  return math.min(first * 2 ^ math.min(math.max(failures - 1, 0), 50), most)
end

--- Lets chance change a delay, so that clients that failed together do not come back together.
---@param ms number
---@param share number  of the delay: 0.25 makes it up to a quarter longer, -0.25 up to a quarter shorter
---@return number ms
function backoff.spread(ms, share)
  return ms * (1 + share * math.random())
end

return backoff
