--- What converted schemas need in their `$defs`. Schemas that refer to each other in circles need the same: they share
--- one table, or a document of a thousand of them would have a million entries.
local definitions = {}

local function merge(into, from)
  for name, schema in pairs(from) do
    into[name] = schema
  end
end

--- What the schema at a place needs, itself among it, by name.
local function closure(converter, place, way)
  local start, own = converter:entry(place, way), converter:name(place.pointer)
  local found, stack = {}, { place }
  while not start.closure and #stack > 0 do
    local current = table.remove(stack)
    local name, entry = converter:name(current.pointer), converter:entry(current, way)
    if entry.closure and entry.closure[own] ~= nil then
      start.closure = entry.closure -- each needs the other, so both need the same
    elseif entry.closure then
      merge(found, entry.closure)
    elseif found[name] == nil then
      found[name] = entry.schema
      for _, used in pairs(entry.used) do
        stack[#stack + 1] = used
      end
    end
  end
  start.closure = start.closure or found
  return start.closure
end

local function covers(found, names)
  for _, name in ipairs(names) do
    if found[name] == nil then
      return false
    end
  end
  return true
end

local function union(converter, used, way, names)
  local all = {}
  for _, place in pairs(used) do
    local found = closure(converter, place, way)
    if covers(found, names) then
      return found
    end
    merge(all, found)
  end
  return all
end

--- The definitions of everything in `used`; nil when that is empty. They must not be changed: others share them.
---@param converter operations.openapi.Converter
---@param used table<string, operations.openapi.Place>
---@param way operations.openapi.Direction
---@return table<string, table|boolean>?
function definitions.of(converter, used, way)
  local names = {}
  for pointer in pairs(used) do
    names[#names + 1] = converter:name(pointer)
  end
  if #names == 0 then
    return nil
  end
  table.sort(names)
  local key, known = table.concat(names, " "), converter.unions[way]
  if not known[key] then
    known[key] = union(converter, used, way, names)
  end
  return known[key]
end

return definitions
