--- `make fuzz`, the targets in Lua: feeds made-up inputs to a part of the library until one breaks its promises.
--- Usage: main.lua TARGET SEED SECONDS [EXECUTIONS [FIRST]]. Execution n of a seed is always the same one, so a finding
--- is made again by `main.lua TARGET SEED 60 1 n`.
---
--- A target is a file beside this one that returns { make = function() -> string, run = function(input) }: `run` raises
--- when a promise is broken.
local random = require("spec.support.random")

-- An execution that takes more instructions hangs. (LuaJIT counts only those that it interprets.)
local MAX_STEPS = 5e7

local function stop()
  error("more than " .. MAX_STEPS .. " instructions", 2)
end

-- Every coroutine has a hook of its own; modules take `coroutine.create` when they are loaded.
local create = coroutine.create
coroutine.create = function(fn) -- luacheck: ignore 122
  local thread = create(fn)
  debug.sethook(thread, stop, "", MAX_STEPS)
  return thread
end

local name, seed, seconds = arg[1], tonumber(arg[2]), tonumber(arg[3])
local executions, first = tonumber(arg[4]) or math.huge, tonumber(arg[5]) or 1
local target = require("spec.fuzz." .. name)

-- What is wrong with an input; nil when nothing is.
local function problem_of(input)
  debug.sethook(stop, "", MAX_STEPS)
  local ok, raised = xpcall(target.run, function(raised)
    return debug.traceback(tostring(raised), 2)
  end, input)
  debug.sethook()
  return not ok and raised or nil
end

-- Without what differs from input to input.
local function kind_of(problem)
  return problem and problem:match("^[^\n]*"):gsub("%d+", ""):gsub('".*"', "")
end

-- Leaves out what the problem does not need.
local function shrink(input, kind)
  local size = math.ceil(#input / 2)
  while size >= 1 do
    local at = 1
    while at <= #input do
      local shorter = input:sub(1, at - 1) .. input:sub(at + size)
      if kind_of(problem_of(shorter)) == kind then
        input = shorter
      else
        at = at + size
      end
    end
    size = size == 1 and 0 or math.ceil(size / 2)
  end
  return input
end

local start, done = os.clock(), 0
while done < executions and os.clock() - start < seconds do
  random.seed(seed * 7368787 + first + done)
  local input = target.make()
  local problem = problem_of(input)
  if problem then
    local small = shrink(input, kind_of(problem))
    print(("fuzz-%s: execution %d of seed %d"):format(name, first + done, seed))
    print(("%s\ninput: %q"):format(problem_of(small), small))
    os.exit(1)
  end
  done = done + 1
end
print(("fuzz-%s: %d executions in %.0f s, seed %d"):format(name, done, os.clock() - start, seed))
