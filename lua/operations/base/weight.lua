--- The approximate memory of values.
local weight = {}

local ENTRY = 32 -- approximate bytes of a key and its value

local function weigh(value, seen)
  if type(value) == "string" then
    return #value
  elseif type(value) ~= "table" or seen[value] then
    return 0
  end
  seen[value] = true
  local bytes = 2 * ENTRY
  for key, item in next, value do
    bytes = bytes + ENTRY + weigh(key, seen) + weigh(item, seen)
  end
  return bytes
end

--- The approximate memory of a value in bytes.
---@param value any
---@return integer
function weight.of(value)
  return weigh(value, {})
end

return weight
