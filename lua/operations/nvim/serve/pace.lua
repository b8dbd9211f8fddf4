--- Lets the editor draw and read keys during long work.
local core = require("operations.core")
local task = require("operations.task")

local pace = {}

local TURN = 5 -- ms

--- Makes a function for a task to call often: it waits for one turn of the editor if the last one is long ago.
---@return fun(): boolean  true: it waited, so the editor may have changed
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
