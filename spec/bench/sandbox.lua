--- Programs in the sandbox: a whole program from nothing to its result, and a call that it makes. By the clock, the
--- median of the rounds.
local measure = require("spec.bench.measure")
local operations = require("operations")

local ROUNDS, PROGRAMS, CALLS = 9, 30, 2000
local sandbox = operations.sandbox

local function call(_, input)
  return input
end

local function run(code)
  local result = assert(sandbox.run(code, { call = call }, { max_calls = CALLS }))
  return result.ok or error(result.error)
end

-- ms of one of `count`.
local function measured(count, fn, ...)
  local times = {}
  for i = 1, ROUNDS do
    local begun = operations.monotonic()
    fn(...)
    times[i] = (operations.monotonic() - begun) / count
  end
  return measure.median(times)
end

local function programs()
  for _ = 1, PROGRAMS do
    run("return 1")
  end
end

local function programs_at_once()
  local list = {}
  for i = 1, PROGRAMS do
    list[i] = i
  end
  assert(operations.map(list, function()
    return run("return 1")
  end, { limit = 8 }))
end

local one_by_one = ("for i = 1, %d do call('tasks.get', { id = i }) end"):format(CALLS)
local together = ("local list = {} for i = 1, %d do list[i] = i end map(list, function(i) return call('tasks.get', "
  .. "{ id = i }) end)"):format(CALLS)

local program = measured(PROGRAMS, programs)
print(("%-42s %8.2f ms"):format("a program", program))
print(("%-42s %8.2f ms"):format("one of eight at once", measured(PROGRAMS, programs_at_once)))
print(("%-42s %8.1f us"):format("a call", (measured(1, run, one_by_one) - program) / CALLS * 1000))
print(("%-42s %8.1f us"):format("a call in map, eight at once", (measured(1, run, together) - program) / CALLS * 1000))
