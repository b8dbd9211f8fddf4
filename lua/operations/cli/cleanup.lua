--- What is to be ended before the program ends, however it ends.
local cleanup = {}

local pending = {}

--- Has a function called at the end.
---@param fn fun()
function cleanup.add(fn)
  pending[#pending + 1] = fn
end

--- Calls what was added, the last first, once.
function cleanup.run()
  while #pending > 0 do
    table.remove(pending)()
  end
end

return cleanup
