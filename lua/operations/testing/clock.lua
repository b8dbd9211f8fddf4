--- A clock that stands still until a test moves it: a host without I/O.
local clocks = {}

---@param start? integer  what its clock says first, ms
---@return operations.Host  with `advance(ms)`, which runs what becomes due, in order; and `timers`, how many are set
function clocks.new(start)
  local host = { name = "fake", timers = 0 }
  local clock, set, turns = start or 1000, {}, 0

  function host.now()
    return clock
  end
  host.monotonic = host.now

  function host.timer(ms, fn)
    turns = turns + 1
    local timer = { due = clock + math.max(ms, 0), order = turns, fn = fn }
    set[timer] = true
    host.timers = host.timers + 1
    return function()
      if set[timer] then
        set[timer] = nil
        host.timers = host.timers - 1
      end
    end
  end

  local function earliest()
    local found
    for timer in pairs(set) do
      if not found or timer.due < found.due or (timer.due == found.due and timer.order < found.order) then
        found = timer
      end
    end
    return found
  end

  local function fire(timer)
    clock = math.max(clock, timer.due)
    set[timer] = nil
    host.timers = host.timers - 1
    timer.fn()
  end

  function host.advance(ms)
    local stop = clock + ms
    local timer = earliest()
    while timer and timer.due <= stop do
      fire(timer)
      timer = earliest()
    end
    clock = stop
  end

  --- Time passes in jumps, to the next timer.
  function host.block(poll)
    local done, more = poll()
    while not done do
      local timer = not more and earliest()
      if timer then
        fire(timer)
      elseif not more then
        error("deadlock: every task waits, and nothing can wake one", 0)
      end
      done, more = poll()
    end
  end

  return host
end

return clocks
