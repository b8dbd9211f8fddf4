--- Plain Lua: the program's own main thread waits in the reactor.
local core = require("operations.core")
local reactor_loop = require("operations.hosts.reactor")

local plain = {
  name = "plain",
  now = core.now,
  timer = reactor_loop.timer,
  start = reactor_loop.start,
}

-- One turn: what happened is handed out, then the tasks that are ready run.
local function turn(poll, timeout)
  if timeout then
    reactor_loop.step(timeout)
  end
  return poll()
end

--- Lets things happen until `poll()` is true. Raises when nothing can happen any more.
---@param poll fun(): boolean, boolean
function plain.block(poll)
  local done, more = reactor_loop.gather(turn, poll)
  while not done do
    local active = reactor_loop.active()
    if not more and not active then
      error("deadlock: every task waits, and nothing is left that could wake one", 0)
    end
    done, more = reactor_loop.gather(turn, poll, active and (more and 0 or -1))
  end
end

return plain
