--- Plain Lua: the program's own main thread waits in the reactor.
local core = require("operations.core")
local reactor_loop = require("operations.hosts.reactor")

local plain = {
  name = "plain",
  now = core.now,
  timer = reactor_loop.timer,
  start = reactor_loop.start,
}

-- Turn by turn: what happened is handed out, then the tasks that are ready run.
local function run(poll)
  local done, more = poll()
  while not done do
    if not reactor_loop.step(more and 0 or -1, nil, true) and not more then
      error("deadlock: every task waits, and nothing is left that could wake one", 0)
    end
    done, more = poll()
  end
end

--- Lets things happen until `poll()` is true. Raises when nothing can happen any more.
---@param poll fun(): boolean, boolean
function plain.block(poll)
  reactor_loop.gather(run, poll)
end

return plain
