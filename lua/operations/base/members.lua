--- Copies and merges tables, sorts their keys, handles lists as sets.
local members = {}

--- A new table with the members of all of these; the last of equal keys wins.
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

--- Gives a copy the mark (metatable) of its original.
--- Without a mark it never calls setmetatable: LuaJIT up to 2.1 of January 2024 crashes where compiled code gives a new
--- table the metatable nil (LuaJIT's issue 1147).
---@param copy table
---@param original table
---@return table copy
function members.mark(copy, original)
  local mark = getmetatable(original)
  return mark and setmetatable(copy, mark) or copy
end

--- A shallow copy that keeps the mark (metatable).
---@param map table
---@return table
function members.copy(map)
  local copy = {}
  for key, value in pairs(map) do
    copy[key] = value
  end
  return members.mark(copy, map)
end

--- The keys as strings, sorted.
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

--- Removes the first such item from a list.
---@param list any[]
---@param item any
---@return boolean removed  false: there was none
function members.remove(list, item)
  for i, other in ipairs(list) do
    if other == item then
      table.remove(list, i)
      return true
    end
  end
  return false
end

--- A set of the items of a list: keys whose value is true.
---@param list any[]
---@return table<any, true>
function members.set(list)
  local set = {}
  for _, item in ipairs(list) do
    set[item] = true
  end
  return set
end

--- Does the list contain the item?
---@param list any[]?
---@param wanted any
---@return boolean
function members.contains(list, wanted)
  for _, item in ipairs(list or {}) do
    if item == wanted then
      return true
    end
  end
  return false
end

--- A new list with the items of all of these, in order.
---@param ... any[]
---@return any[]
function members.joined(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    for _, item in ipairs(list) do
      all[#all + 1] = item
    end
  end
  return all
end

return members
