--- The schemas of a document as JSON Schema 2020-12 that stands alone: every `$ref` points into the schema's own
--- `$defs`, which hold what it uses and no more. Components are converted once, on first use, and shared.
local dialect = require("operations.from_openapi.dialect")
local direction = require("operations.from_openapi.direction")

local keyword = require("operations.from_openapi.keyword")

local schema = {}

---@class operations.openapi.Converter
local Converter = {}
Converter.__index = Converter

-- Schemas nested deeper than this, without a `$ref` between, are refused.
local MAX_DEPTH = 500

--- Makes a converter for a document.
---@param source operations.openapi.Document
---@param report fun(pointer: string, message: string)
---@return operations.openapi.Converter
function schema.converter(source, report)
  local version = tostring(source.file.root.openapi or "")
  return setmetatable({
    source = source,
    report = report,
    old = version:find("^3%.0") ~= nil,
    names = {}, -- pointer -> name in $defs
    taken = {},
    entries = { input = {}, patch = {}, output = {} }, -- by pointer
  }, Converter)
end

local function readable(pointer)
  local last = pointer:match("/([^/]*)$") or pointer:match("([^/#]+)#?$") or "schema"
  if last == "schema" or last:find("^%d+$") then
    last = pointer:match("#?/?(.*)$")
  end
  last = last:gsub("~1", "_"):gsub("~0", "_"):gsub("[^A-Za-z0-9._-]+", "_")
  return last
end

--- The name of a schema in `$defs`, the same in every operation.
function Converter:name(pointer)
  local name = self.names[pointer]
  if not name then
    local base = readable(pointer)
    local n = 1
    name = base
    while self.taken[name] do
      n = n + 1
      name = base .. "_" .. n
    end
    self.taken[name], self.names[pointer] = true, name
  end
  return name
end

local single = {
  additionalProperties = true, items = true, contains = true, propertyNames = true, contentSchema = true,
  unevaluatedItems = true, unevaluatedProperties = true,
  ["not"] = true, ["if"] = true, ["then"] = true, ["else"] = true,
}
local several = {
  allOf = true, anyOf = true, oneOf = true, prefixItems = true,
  properties = true, patternProperties = true, dependentSchemas = true,
}
-- References are rewritten, so what they were resolved against goes; `xml` says nothing about JSON.
local dropped = {
  ["$id"] = true, ["$schema"] = true, ["$defs"] = true, definitions = true, xml = true, externalDocs = true,
}

--- Converts each schema of a list or map; the same table comes back when none changed.
function Converter:each(schemas, state)
  local copy
  for key, value in pairs(schemas) do
    local new = self:walk(value, state)
    if new ~= value then
      if not copy then
        copy = setmetatable({}, getmetatable(schemas))
        for k, v in pairs(schemas) do
          copy[k] = v
        end
      end
      copy[key] = new
    end
  end
  return copy or schemas
end

--- The `$ref` of a schema, rewritten; nil when it leads nowhere, which is reported and accepts anything.
function Converter:reference(ref, state)
  local place, message = self.source:lookup(ref, state.file)
  if place and type(place.node) ~= "table" and type(place.node) ~= "boolean" then
    place, message = nil, ("$ref %q points at no schema"):format(ref)
  end
  if not place then
    self.report(state.pointer, message)
    return nil
  end
  state.used[place.pointer] = place
  return "#/$defs/" .. self:name(place.pointer)
end

local function changed_value(self, key, value, state)
  if (single[key] or several[key]) and keyword.expected(key, value) then
    return value -- and `repair` takes it out
  elseif single[key] then
    return self:walk(value, state)
  elseif several[key] then
    return self:each(value, state)
  elseif dropped[key] or key == "default" and state.way == "patch" then
    return nil
  end
  return value
end

--- Takes keywords out that hold what they must not, which is reported.
function Converter:repair(copy, state)
  local wrong
  for key, value in pairs(copy) do
    local expected = keyword.expected(key, value)
    if expected then
      wrong = wrong or {}
      wrong[key] = expected
    end
  end
  for key, expected in pairs(wrong or {}) do
    copy[key] = nil
    self.report(state.pointer, ("%s: expected %s; the keyword is ignored"):format(tostring(key), expected))
  end
  return wrong ~= nil
end

function Converter:members(node, state)
  local copy, changed = {}, false
  for key, value in pairs(node) do
    local new = changed_value(self, key, value, state)
    changed = changed or new ~= value
    copy[key] = new
  end
  if type(node["$ref"]) == "string" then
    copy["$ref"], changed = self:reference(node["$ref"], state), true
  end
  if dialect.is_old(node, self.old) then
    dialect.convert(copy, self.old)
    changed = true
  end
  changed = self:repair(copy, state) or changed
  if copy.properties ~= nil then
    changed = direction.apply(self.source, copy, node.properties, state.file, state.way) or changed
  end
  return changed and setmetatable(copy, getmetatable(node)) or node
end

function Converter:walk(node, state)
  if type(node) == "boolean" then
    return node
  elseif type(node) ~= "table" then
    self.report(state.pointer, ("expected a schema, got %s"):format(type(node)))
    return true
  elseif self.old and type(node["$ref"]) == "string" then
    -- 3.0: siblings of $ref are ignored.
    local ref = self:reference(node["$ref"], state)
    return ref and { ["$ref"] = ref } or true
  end
  state.depth = state.depth + 1
  if state.depth > MAX_DEPTH then
    error({ pointer = state.pointer, message = ("schemas are nested deeper than %d"):format(MAX_DEPTH) }, 0)
  end
  local new = self:members(node, state)
  state.depth = state.depth - 1
  return new
end

--- The converted schema of a place that others refer to, with the places it refers to itself.
function Converter:entry(place, way)
  local entries = self.entries[way]
  local entry = entries[place.pointer]
  if not entry then
    entry = { used = {} }
    entries[place.pointer] = entry
    entry.schema = self:walk(place.node,
      { file = place.file, pointer = place.pointer, way = way, used = entry.used, depth = 0 })
  end
  return entry
end

--- Converts one schema. Collects in `used` the places it refers to.
---@param place operations.openapi.Place
---@param way operations.openapi.Direction
---@param used table<string, operations.openapi.Place>
---@return table|boolean
function Converter:convert(place, way, used)
  return self:walk(place.node,
    { file = place.file, pointer = place.pointer, way = way, used = used, depth = 0 })
end

function Converter:collect(used, way, defs, seen)
  for pointer, place in pairs(used) do
    if not seen[pointer] then
      seen[pointer] = true
      local entry = self:entry(place, way)
      defs[self:name(pointer)] = entry.schema
      self:collect(entry.used, way, defs, seen)
    end
  end
end

--- What a schema needs in its `$defs`; nil when it needs none.
---@param used table<string, operations.openapi.Place>
---@param way operations.openapi.Direction
---@return table<string, table|boolean>?
function Converter:definitions(used, way)
  local first = next(used)
  if not first then
    return nil
  end
  local entry = next(used, first) == nil and self:entry(used[first], way) or nil
  if entry and entry.definitions then
    return entry.definitions
  end
  local defs = {}
  self:collect(used, way, defs, {})
  if entry then
    entry.definitions = defs
  end
  return defs
end

--- Converts a schema into one that stands alone. One that is only a reference becomes what it refers to.
---@param place operations.openapi.Place
---@param way operations.openapi.Direction
---@return table|boolean
function Converter:whole(place, way)
  local target = self.source:follow(place)
  if target and target ~= place and (self.old or next(place.node, next(place.node)) == nil) then
    local entry = self:entry(target, way)
    if entry.whole == nil then
      entry.whole = self:complete(entry.schema, entry.used, way)
    end
    return entry.whole
  end
  local used = {}
  return self:complete(self:convert(place, way, used), used, way)
end

--- A copy of `body` with the definitions that it uses.
---@param body table|boolean
---@param used table<string, operations.openapi.Place>
---@param way operations.openapi.Direction
---@return table|boolean
function Converter:complete(body, used, way)
  local definitions = type(body) == "table" and self:definitions(used, way)
  if not definitions then
    return body
  end
  local whole = {}
  for key, value in pairs(body) do
    whole[key] = value
  end
  whole["$defs"] = definitions
  return setmetatable(whole, getmetatable(body))
end

return schema
