--- The order of a schema's properties in a document or a program, which Lua's tables lack. It is kept beside the table
--- `properties` while that is in use; copies get it too.
local members = require("operations.base.members")
local core = require("operations.core")

local property_order = {}

-- By `properties` table, weak; the JSON reader (`property_order = true`) and copies in C add to it.
local known = core.property_order

--- Stores the order of properties.
---@param properties table
---@param names string[]  not to be changed from now on
function property_order.set(properties, names)
  known[properties] = names
end

--- Gives a copy the order and the mark (metatable) of its original.
---@param copy table
---@param original table
---@return table copy
function property_order.carry(copy, original)
  known[copy] = known[original]
  return members.mark(copy, original)
end

--- The names of properties: those with a known order first, the others sorted after them.
---@param properties table<string, any>
---@return string[]
function property_order.names(properties)
  local names, seen = {}, {}
  local function add(list)
    for _, name in ipairs(list) do
      if not seen[name] and properties[name] ~= nil then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  add(known[properties] or {})
  local rest = {}
  for name in pairs(properties) do
    if type(name) == "string" and not seen[name] then
      rest[#rest + 1] = name
    end
  end
  table.sort(rest)
  add(rest)
  return names
end

return property_order
