--- CPU time per call, of a few repetitions, each long enough for the clock; and the rate of calls that wait.
local core = require("operations.core")
local task = require("operations.task")

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

local function repeated(loop)
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
  return measure.median(repeated(loop))
end

--- The same, the least: what the work takes where nothing else disturbs it.
---@param loop fun(n: integer)
---@return number
function measure.least(loop)
  local times = repeated(loop)
  table.sort(times)
  return times[1]
end

--- Calls of `fn` from several tasks for a while.
---@param concurrency integer
---@param duration number  seconds
---@param fn fun()
---@return number rate  per second
---@return number cpu  microseconds for each
function measure.rate(concurrency, duration, fn)
  local count, start, cpu = 0, core.now(), os.clock()
  local stop = start + duration * 1000
  task.run(function()
    for _ = 1, concurrency do
      task.spawn(function()
        repeat
          fn()
          count = count + 1
        until core.now() >= stop
      end)
    end
  end)
  return count / (core.now() - start) * 1000, (os.clock() - cpu) / count * 1e6
end

--- The best of some runs, all of them taking turns.
---@param repetitions integer
---@param runs (fun(...: any): number, number)[]  rate and CPU
---@param ... any  for each run
---@return { rate: number, cpu: number }[]
function measure.best(repetitions, runs, ...)
  local found = {}
  for _ = 1, repetitions do
    for i, run in ipairs(runs) do
      local rate, cpu = run(...)
      local result = found[i] or { rate = 0, cpu = math.huge }
      found[i] = { rate = math.max(rate, result.rate), cpu = math.min(cpu, result.cpu) }
    end
  end
  return found
end

return measure
