--- CPU time per call, of a few repetitions, each long enough for the clock.
local measure = {}

local REPETITIONS = 7
local SECONDS = 0.08 -- of one repetition

local function seconds(fn, n)
  collectgarbage()
  local start = os.clock()
  fn(n)
  return os.clock() - start
end

function measure.median(values)
  table.sort(values)
  return values[math.floor(#values / 2) + 1]
end

local function repetitions(loop)
  local n, spent = 1
  repeat
    n = n * 4
    spent = seconds(loop, n)
  until spent > SECONDS / 8
  n = math.max(1, math.floor(n * SECONDS / spent))
  local times = {}
  for i = 1, REPETITIONS do
    times[i] = seconds(loop, n) / n * 1e9
  end
  return times
end

--- Nanoseconds of CPU per call, the median; `loop(n)` makes n calls.
---@param loop fun(n: integer)
---@return number
function measure.call(loop)
  return measure.median(repetitions(loop))
end

--- The same, the least: what the work takes where nothing else disturbs it.
---@param loop fun(n: integer)
---@return number
function measure.least(loop)
  local times = repetitions(loop)
  table.sort(times)
  return times[1]
end

return measure
