--- Keys of tables.
local keys = {}

--- The keys of a map, in order.
---@param map table<string, any>
---@return string[]
function keys.sorted(map)
  local list = {}
  for key in pairs(map) do
    list[#list + 1] = key
  end
  table.sort(list)
  return list
end

return keys
