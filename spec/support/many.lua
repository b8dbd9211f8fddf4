--- Large arrays and objects.
local operations = require("operations")

local many = {}

--- An array of `make(1)` to `make(n)`.
---@param n integer
---@param make fun(i: integer): any
---@return table
function many.items(n, make)
  local items = operations.array({})
  for i = 1, n do
    items[i] = make(i)
  end
  return items
end

--- An object of `make(1)` to `make(n)` by the names p1 to pn.
---@param n integer
---@param make fun(i: integer): any
---@return table
function many.members(n, make)
  local object = operations.object({})
  for i = 1, n do
    object["p" .. i] = make(i)
  end
  return object
end

return many
