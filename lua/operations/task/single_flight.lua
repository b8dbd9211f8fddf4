--- Work that several tasks want at the same time and that runs once. It belongs to none of them: a cancelled task stops
--- waiting, while the work continues for the others and for later callers.
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local hold = require("operations.task.hold")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local task_wait = require("operations.task.wait")

local single_flight = {}

---@class operations.SingleFlight
---@field _flight? { wakes: (fun()|false)[], results: table? }
local SingleFlight = {}
SingleFlight.__index = SingleFlight

local function land(err, self, flight)
  if self._flight == flight then
    self._flight = nil
  end
  flight.results = flight.results or { false, err, n = 2 }
  task_wait.wake(flight.wakes)
end

local function fly(self, flight, work)
  local held = hold.new(land, self, flight)
  flight.results = compat.pack(pcall(work))
  held:release()
end

-- Returns the error that interrupted the wait, if any.
local function wait(flight)
  return scheduler.try_await(function(wake)
    return task_wait.add(flight.wakes, wake)
  end)
end

--- Waits for `work()`; starts it unless it is already running.
---@param work fun(): any  runs in its own task, without deadline
---@return any ...  its results, or nil and an error object when the caller is cancelled or its deadline passes; raises
---  its error
function SingleFlight:run(work)
  local flight = self._flight
  if not flight then
    flight = { wakes = {} }
    task.detach(fly, self, flight, work)
    self._flight = flight
  end
  local interruption = wait(flight)
  if errors.is_error(interruption) then
    return nil, interruption
  elseif interruption ~= nil then
    error(interruption, 0)
  end
  local results = flight.results
  if not results[1] then
    error(results[2], 0)
  end
  return compat.unpack(results, 2, results.n)
end

---@return operations.SingleFlight
function single_flight.new()
  return setmetatable({}, SingleFlight)
end

return single_flight
