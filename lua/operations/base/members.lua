--- The members of a table: copied, merged, in the order of their names.
local members = {}

--- A new table with the members of all of these; of equal keys the last one counts.
---@param ... table|nil
---@return table
function members.merged(...)
  local all = {}
  for i = 1, select("#", ...) do
    for key, value in pairs((select(i, ...)) or {}) do
      all[key] = value
    end
  end
  return all
end

--- A copy, its mark (metatable) kept; what it holds is shared.
---@param map table
---@return table
function members.copy(map)
  local copy = {}
  for key, value in pairs(map) do
    copy[key] = value
  end
  return setmetatable(copy, getmetatable(map))
end

--- The keys as strings, in order.
---@param map table
---@return string[]
function members.names(map)
  local names = {}
  for key in pairs(map) do
    names[#names + 1] = tostring(key)
  end
  table.sort(names)
  return names
end

return members
