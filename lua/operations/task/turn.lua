--- Long work in pieces: between two of them the loop of the host turns, so that an editor draws and a server answers
--- others meanwhile.
local core = require("operations.core")
local hosts = require("operations.hosts")
local scheduler = require("operations.task.scheduler")

local turn = {}

local WORK = 3 -- ms between two turns; Neovim's turns have 2 for tasks and events, so that one piece is the end of them

-- Where tasks are threads of the host (nginx), one that waits for 0 ms goes on before the loop has turned.
local function soon(wake)
  local host = hosts.current()
  return host.timer(host.park and 1 or 0, wake)
end

--- Makes the function to be called between two pieces of work. It returns why the task is to stop, if it is: the
--- ABORTED or TIMEOUT error.
---@return (fun(): operations.Error?)?  nil where nothing can be suspended: the work is better done at once
function turn.taker()
  if not scheduler.suspends() then
    return nil
  end
  local since = core.now()
  return function()
    if core.now() - since < WORK then
      return nil
    end
    local failure = scheduler.try_await(soon)
    since = core.now()
    return failure
  end
end

return turn
