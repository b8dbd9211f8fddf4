--- The clean-up functions that run before the program ends, however it ends.
local cleanup = {}

local pending = {}

--- Registers an object to be closed at the end.
---@param thing { close: fun(self: table) }
function cleanup.add(thing)
  pending[#pending + 1] = thing
end

--- Closes the registered objects once, the last one first.
function cleanup.run()
  while #pending > 0 do
    table.remove(pending):close()
  end
end

return cleanup
