--- The clean-up functions that run before the program ends, however it ends.
local cleanup = {}

local pending = {}

--- Has something closed at the end.
---@param thing { close: fun(self: table) }
function cleanup.add(thing)
  pending[#pending + 1] = thing
end

--- Closes what was added, the last first, once.
function cleanup.run()
  while #pending > 0 do
    table.remove(pending):close()
  end
end

return cleanup
