--- Makes a case { schema, values = { value } } smaller while something still holds of it.
local json = require("operations.base.json")

local schema_shrink = {}

local ROUNDS = 40

local function is_list(value)
  return getmetatable(value) == json.array_mt or #value > 0
end

local function copy_without(value, key)
  local copy = setmetatable({}, getmetatable(value))
  if is_list(value) then
    for i, member in ipairs(value) do
      if i ~= key then
        copy[#copy + 1] = member
      end
    end
  else
    for name, member in pairs(value) do
      if name ~= key then
        copy[name] = member
      end
    end
  end
  return copy
end

local function copy_with(value, key, member)
  local copy = setmetatable({}, getmetatable(value))
  for name, old in pairs(value) do
    copy[name] = old
  end
  copy[key] = member
  return copy
end

--- Calls visit(smaller) for every value that is one step smaller.
local function smaller(value, visit)
  if type(value) ~= "table" then
    return
  end
  for key, member in pairs(value) do
    visit(copy_without(value, key))
    if type(member) == "table" then
      visit(copy_with(value, key, true))
      visit(member)
    end
    smaller(member, function(part)
      visit(copy_with(value, key, part))
    end)
  end
end

local function has_empty_list(value)
  if type(value) ~= "table" then
    return false
  end
  for _, member in pairs(value) do
    if has_empty_list(member) then
      return true
    end
  end
  return getmetatable(value) == json.array_mt and #value == 0
end

-- Empty lists are no schemas for most keywords.
local function is_schema(value)
  return type(value) == "boolean" or type(value) == "table" and not is_list(value) and not has_empty_list(value)
end

--- All cases one step smaller than `case`.
local function steps(case)
  local list = {}
  smaller(case.schema, function(part)
    if is_schema(part) then
      list[#list + 1] = { schema = part, values = case.values }
    end
  end)
  smaller(case.values[1], function(part)
    list[#list + 1] = { schema = case.schema, values = { part } }
  end)
  return list
end

local function size(case)
  return #json.encode(case.schema) + #json.encode(case.values[1])
end

--- Shrinks one case by a test that takes a case.
function schema_shrink.one(case, holds)
  for _ = 1, ROUNDS do
    local found
    for _, step in ipairs(steps(case)) do
      if size(step) < size(case) and (not found or size(step) < size(found)) and holds(step) then
        found = step
      end
    end
    if not found then
      break
    end
    found.ours, found.theirs = case.ours, case.theirs
    case = found
  end
  return case
end

--- Shrinks many cases by a filter that takes an array of cases and returns those that still differ.
function schema_shrink.all(cases, filter)
  local result = {}
  for i, case in ipairs(cases) do
    for _ = 1, ROUNDS do
      local found
      for _, step in ipairs(filter(steps(case))) do
        if size(step) < size(found or case) and step.ours == case.ours then
          found = step
          found.referee = case.referee
        end
      end
      if not found then
        break
      end
      case = found
    end
    result[i] = case
  end
  return result
end

return schema_shrink
