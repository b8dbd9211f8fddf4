--- Long work in pieces: between them the host's loop runs, so that an editor draws and a server answers other requests.
local core = require("operations.core")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
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

--- What a small piece of a stream counts for: so many of them are one quota.
turn.PIECE, turn.EVENT = math.ceil(limits.turn_bytes / 64), math.ceil(limits.turn_bytes / 1024)

--- Counts what was sent or handed on without a wait. Once it is `turn_bytes`, waits until the host's loop has run:
--- something that never waits, because its reader is fast, must not keep everybody else from running.
---@param owner table  what produces it; its field `spent` is ours
---@param bytes integer  at least PIECE where it costs a call of the system, EVENT where it does not
---@param outside? boolean  also outside of tasks, where the loop runs during the wait alone
---@return any failure  the task must stop. Raises what the host's loop raises, such as the error of Ctrl-C
function turn.spend(owner, bytes, outside)
  local spent = (owner.spent or 0) + bytes
  if spent < limits.turn_bytes then
    owner.spent = spent
    return nil
  end
  owner.spent = 0
  if outside or scheduler.suspends() then
    local ok, failure = pcall(scheduler.try_await, soon)
    if ok then
      return failure
    elseif not hosts.current().park then -- otherwise a phase of nginx that cannot wait
      error(failure, 0) -- Ctrl-C
    end
  end
end

return turn
