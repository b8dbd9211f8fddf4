--- Replaces the clock of the host that runs the specs: tasks and their waits are real, time passes in jumps. When all
--- ready tasks have run, it jumps to the next timer.
local hosts = require("operations.hosts")

local TURNS = 8

local jumping_clock = {}

---@class JumpingClock
---@field now integer  ms since the epoch

--- Takes the place of the host, until `stop`.
---@return JumpingClock
function jumping_clock.start()
  local real = hosts.current()
  local clock, set, turns = { now = real.now() }, {}, 0
  local host, ringing = setmetatable({}, { __index = real }), nil

  local function earliest()
    local found
    for timer in pairs(set) do
      if not found or timer.due < found.due or timer.due == found.due and timer.order < found.order then
        found = timer
      end
    end
    return found
  end

  -- Between two timers the real loop turns several times, however late it is: what the first wakes, and what that
  -- wakes, runs before the second.
  local function ring(turn)
    if turn < TURNS then
      ringing = real.timer(0, function() ring(turn + 1) end)
      return
    end
    local timer = earliest()
    ringing = nil
    if timer then
      set[timer] = nil
      clock.now = math.max(clock.now, timer.due)
      ringing = real.timer(1, function() ring(1) end)
      timer.fn()
    end
  end

  function host.now()
    return clock.now
  end

  function host.monotonic()
    return clock.now
  end

  function host.timer(ms, fn)
    turns = turns + 1
    local timer = { due = clock.now + math.max(ms, 0), order = turns, fn = fn }
    set[timer] = true
    ringing = ringing or real.timer(1, function() ring(1) end)
    return function()
      set[timer] = nil
    end
  end

  --- Lets time pass without any event.
  function clock.advance(ms)
    clock.now = clock.now + ms
  end

  function clock.stop()
    hosts.use(real)
  end

  hosts.use(host)
  return clock
end

return jumping_clock
