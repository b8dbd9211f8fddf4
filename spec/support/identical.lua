--- Are two values equal in all that Lua can tell, but for which tables they are? Kinds of numbers, signs of zeros and
--- metatables count.

local function is_same_scalar(a, b)
  return a == b and (a ~= 0 or 1 / a == 1 / b)
    and (math.type == nil or math.type(a) == math.type(b)) -- luacheck: ignore 143 (integers of Lua 5.4)
end

local function identical(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return is_same_scalar(a, b)
  end
  for key, member in pairs(a) do
    if not identical(member, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return getmetatable(a) == getmetatable(b)
end

return identical
