--- A program with a loop of its own, such as an application in C: its loop polls the reactor's descriptor and calls
--- `turn` when that is readable. Nothing here waits.
local argument = require("operations.base.argument")
local core = require("operations.core")
local hosts = require("operations.hosts")
local reactor_loop = require("operations.hosts.reactor")

-- ms of a turn, where the program names none.
local BUDGET = 2

local embedded = { name = "embedded", now = core.now }

local running = false
local run_tasks = nil ---@type operations.Turn?  the scheduler's turn

-- Called after something was started outside of a turn: makes the descriptor readable.
local function noticed(...)
  if not running then
    reactor_loop.get():flush(true)
  end
  return ...
end

--- A one-shot timer.
---@param ms number
---@param fn fun()
---@return fun() stop
function embedded.timer(ms, fn)
  return noticed(reactor_loop.timer(ms, fn))
end

--- Starts something in the reactor.
---@param kind string
---@param options any
---@param on_event fun(kind: string, ...)
---@return operations.Handle
function embedded.start(kind, options, on_event)
  return noticed(reactor_loop.start(kind, options, on_event))
end

--- Called when tasks are ready to run.
---@param turn operations.Turn
function embedded.schedule(turn)
  run_tasks = turn
  noticed()
end

--- Refuses waits outside of tasks, which would stop the loop of the program.
function embedded.block()
  error("cannot wait here, which would stop the loop of the program: call this within operations.spawn", 0)
end

---@class operations.Loop
local Loop = {}
Loop.__index = Loop

--- The descriptor to poll for reading (`poll`, `epoll`, `uv_poll`, `kqueue`, ...): it is readable when `turn` has work,
--- timers included. It stays the same until `close`, or until the process forks: ask again in the child.
---@return integer
function Loop.fd(_)
  local reactor = reactor_loop.get()
  reactor:flush(run_tasks ~= nil)
  return reactor:fd()
end

--- Handles what happened and runs the tasks that are ready. Never waits.
---@param _ operations.Loop
---@param ms? number  the time after which it stops although more could be done (2)
---@return boolean more  was it stopped so? The descriptor is readable then
function Loop.turn(_, ms)
  argument.optional(ms, "number", 1, "turn")
  if ms ~= ms then
    error("bad argument #1 to 'turn' (number expected, got NaN)", 2)
  end
  local reactor = reactor_loop.get() -- another one after a fork
  local stop, outer = core.monotonic() + (ms or BUDGET), running
  running = true
  local ok, more = pcall(reactor_loop.gather, reactor_loop.turn, function()
    return run_tasks
  end, function()
    return core.monotonic() >= stop
  end)
  running = outer
  if reactor:usable() then -- else a task closed the loop
    reactor:flush(not ok or more)
  end
  if not ok then
    error(more, 0)
  end
  return more
end

--- Ends everything that was started and closes the descriptor; the program stops polling it before. Closing the Lua
--- state does the same.
function Loop.close(_)
  reactor_loop.close()
end

--- Makes the library run in the loop of the surrounding program. To be called before anything waits.
---@return operations.Loop
function embedded.loop()
  hosts.use(embedded)
  return setmetatable({}, Loop)
end

return embedded
