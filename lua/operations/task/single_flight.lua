--- Work that several tasks want at the same time and that runs once for each key. By `run` it belongs to none of them:
--- a cancelled task stops waiting, while the work continues for the others and for later callers. By `lead` it belongs
--- to the task that began it.
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local hold = require("operations.task.hold")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local task_wait = require("operations.task.wait")

local single_flight = {}

---@class operations.SingleFlight
---@field _flights table<any, { wakes: (fun()|false)[], results: table? }>  by key
local SingleFlight = {}
SingleFlight.__index = SingleFlight

local function land(err, self, key, flight)
  if self._flights[key] == flight then
    self._flights[key] = nil
  end
  flight.results = flight.results or { false, err, n = 2 }
  task_wait.wake(flight.wakes)
end

local function begin(self, key)
  local flight = { wakes = {} }
  self._flights[key] = flight
  return flight
end

local function fly(self, key, flight, work, ...)
  local held = hold.new(land, self, key, flight)
  flight.results = compat.pack(pcall(work, ...))
  held:release()
end

local function returned(results)
  if not results[1] then
    error(results[2], 0)
  end
  return compat.unpack(results, 2, results.n)
end

-- Returns the error that interrupted the wait, if any.
local function wait(flight)
  return scheduler.try_await(function(wake)
    return task_wait.add(flight.wakes, wake)
  end)
end

--- Waits for `work()`; starts it unless it is already running.
---@param work fun(): any  runs in its own task, without deadline
---@param key? any  default: the same for all
---@return any ...  its results, or nil and an error object when the caller is cancelled or its deadline passes; raises
---  its error
function SingleFlight:run(work, key)
  key = key == nil and true or key
  local flight = self._flights[key]
  if not flight then
    flight = begin(self, key)
    task.detach(fly, self, key, flight, work)
  end
  local interruption = wait(flight)
  if errors.is_error(interruption) then
    return nil, interruption
  elseif interruption ~= nil then
    error(interruption, 0)
  end
  return returned(flight.results)
end

--- Runs `work(...)` in the running task; others can follow it.
---@param key any
---@param work fun(...): any
---@return any ...  its results; raises its error
function SingleFlight:lead(key, work, ...)
  local flight = begin(self, key)
  fly(self, key, flight, work, ...)
  return returned(flight.results)
end

--- Waits for the work of another task, if it runs.
---@param key any
---@return boolean runs
---@return any interruption  of the wait
---@return table? results  false and what it raised, or true and what it returned
function SingleFlight:follow(key)
  local flight = self._flights[key]
  if not flight then
    return false
  end
  return true, wait(flight), flight.results
end

---@return operations.SingleFlight
function single_flight.new()
  return setmetatable({ _flights = {} }, SingleFlight)
end

return single_flight
