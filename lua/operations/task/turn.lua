--- Long work in pieces: between them the host's loop runs, so that an editor draws and a server answers other requests.
local core = require("operations.core")
local hosts = require("operations.hosts")
local scheduler = require("operations.task.scheduler")

local turn = {}

local WORK = 3 -- ms between two turns; more than Neovim's 2 for a turn, so that one piece ends the turn

-- Where tasks are threads of the host (nginx), a wait of 0 ms would end before the loop has run.
local function soon(wake)
  local host = hosts.current()
  return host.timer(host.park and 1 or 0, wake)
end

--- Makes a function to call between two pieces of work. It returns the ABORTED or TIMEOUT error when the task must
--- stop.
---@return (fun(): operations.Error?)?  nil where nothing can be suspended: do the work at once
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
