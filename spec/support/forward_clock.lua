--- A clock that runs as the real one does until a spec puts it forward: for waits beside other processes, whose answers
--- take real time. It takes the place of the host's clock and of `core.now`.
local compat = require("operations.base.compat")
local core = require("operations.core")
local hosts = require("operations.hosts")
local operations = require("operations")

local STEP = 100 -- ms in which `pass` puts it forward
local TURN = 4 -- ms of real time between its steps: others answer meanwhile

local forward_clock = {}

---@class ForwardClock
local Clock = {}
Clock.__index = Clock

--- Takes the place of the clock, until `stop`.
---@return ForwardClock
function forward_clock.start()
  local real, now = hosts.current(), core.now
  local self = setmetatable({ _real = real, _now = now, _ahead = 0, _set = {}, _turns = 0 }, Clock)
  local host = setmetatable({}, { __index = real })

  function host.now()
    return now() + self._ahead
  end

  function host.timer(ms, fn)
    self._turns = self._turns + 1
    local timer = { due = host.now() + math.max(ms, 0), order = self._turns }
    function timer.fire()
      if self._set[timer] then
        self._set[timer] = nil
        timer.stop()
        fn()
      end
    end
    self._set[timer] = true
    timer.stop = real.timer(ms, timer.fire)
    return function()
      self._set[timer] = nil
      timer.stop()
    end
  end

  core.now = host.now
  hosts.use(host)
  return self
end

local function is_before(one, other)
  return one.due < other.due or one.due == other.due and one.order < other.order
end

--- Puts it forward: what becomes due runs, in order.
---@param ms number
function Clock:forward(ms)
  self._ahead = self._ahead + ms
  local due, now = {}, core.now()
  for timer in pairs(self._set) do
    due[#due + 1] = timer.due <= now and timer or nil
  end
  table.sort(due, is_before)
  for _, timer in ipairs(due) do
    timer.fire()
  end
end

--- Calls a function, and puts the clock forward again and again until it returns: its results.
---@param fn function
---@param ... any
---@return any ...
function Clock:pass(fn, ...)
  local passing = operations.spawn(function()
    while true do
      operations.await(function(wake) return self._real.timer(TURN, wake) end)
      self:forward(STEP)
    end
  end)
  local results = compat.pack(pcall(fn, ...))
  passing:cancel()
  assert(results[1], results[2])
  return compat.unpack(results, 2, results.n)
end

--- Restores the real clock.
function Clock:stop()
  core.now = self._now
  hosts.use(self._real)
end

--- Runs `fn(clock)` while the clock is in place.
---@param fn fun(clock: ForwardClock)
function forward_clock.with(fn)
  local clock = forward_clock.start()
  local ok, raised = pcall(fn, clock)
  clock:stop()
  assert(ok, raised)
end

return forward_clock
