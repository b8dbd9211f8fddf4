--- Lets the editor draw and read keys while something long is worked on.
local core = require("operations.core")
local task = require("operations.task")

local pace = {}

local TURN = 5 -- ms

--- Makes a function that a task calls often: it waits one turn of the editor where the last is long ago.
---@return fun(): boolean  true: it waited, and the editor may have changed
function pace.new()
  local since = core.now()
  return function()
    if core.now() - since < TURN then
      return false
    end
    task.sleep(0)
    since = core.now()
    return true
  end
end

return pace
