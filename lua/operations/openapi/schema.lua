--- The schemas of a document as standalone JSON Schema 2020-12: every `$ref` points into the schema's own `$defs`,
--- which have only what it uses. Components are converted once, on first use, and shared.
local core = require("operations.core")
local discriminator = require("operations.openapi.discriminator")
local keyword = require("operations.openapi.keyword")
local keywords = require("operations.schema.keywords")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local naming = require("operations.openapi.name")

local schema = {}

---@class operations.openapi.Converter
local Converter = {}
Converter.__index = Converter

-- Schemas nested deeper than this without a `$ref` are refused.
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
    next_name = naming.counter(),
    entries = { input = {}, patch = {}, output = {} }, -- by pointer
    unions = { input = {}, patch = {}, output = {} }, -- unions of definitions, by names
  }, Converter)
end

--- The same converter with another report, for one operation.
---@param report fun(pointer: string, message: string)
---@return operations.openapi.Converter
function Converter:reporting(report)
  return setmetatable({ report = report }, { __index = self })
end

--- The name of a schema in `$defs`, the same in every operation.
---@param pointer string
---@return string
function Converter:name(pointer)
  local given = self.names[pointer]
  if not given then
    given = self.next_name(naming.of_schema(pointer))
    self.names[pointer] = given
  end
  return given
end

--- Converts each schema of a list or map; returns the same table if none changed.
local function walk_each(self, schemas, state)
  local copy
  for key, value in pairs(schemas) do
    local new = self:walk(value, state)
    if new ~= value then
      copy = copy or property_order.carry(members.copy(schemas), schemas)
      copy[key] = new
    end
  end
  return copy or schemas
end

local converted_as = {
  one = function(self, value, state)
    return self:walk(value, state)
  end,
  many = walk_each,
}

--- Conversions of keywords' values; other keywords stay unchanged.
local change = keywords.where(function(row)
  return row.vocabulary and converted_as[keywords.holds(row)]
end)

-- References are rewritten, so base URIs are removed; `xml` does not concern JSON.
for _, key in ipairs({ "$id", "$schema", "$anchor", "$dynamicAnchor", "$defs", "definitions", "xml",
  "externalDocs" }) do
  change[key] = function() end
end

function change.default(_, value, state)
  if state.way ~= "patch" then
    return value
  end
end

--- The rewritten `$ref` of a schema; nil for one without target, which is reported and accepts anything; nil and the
--- target if that has or requires a property that is for the other direction only: then it has to be converted here.
function Converter:reference(ref, state)
  local place, message = self.source:lookup(ref, state.file)
  if place and type(place.node) ~= "table" and type(place.node) ~= "boolean" then
    place, message = nil, ("$ref %q does not point to a schema"):format(ref)
  end
  if not place then
    self.report(state.pointer, message)
    return nil
  elseif state.hidden and keyword.concerns(self.source, place, state.way, state.hidden) then
    return nil, place
  end
  state.used[place.pointer] = place
  return "#/$defs/" .. self:name(place.pointer)
end

change["$ref"] = function(self, value, state)
  if type(value) == "string" then
    return (self:reference(value, state))
  end
end

-- A target of `$ref` that is converted where it is referred to; one that applies itself to the same value adds nothing.
local function walk_there(self, place, state)
  if state.there[place.pointer] then
    return true
  end
  local file = state.file
  state.file, state.there[place.pointer] = place.file, true
  local new = self:walk(place.node, state)
  state.file, state.there[place.pointer] = file, nil
  return new
end

--- Adds the discriminator's meaning; does nothing without a property name.
function change.discriminator(self, value, state)
  if type(value) == "table" and type(value.propertyName) ~= "string" then
    return nil
  elseif type(value) ~= "table" or value.mapping == nil then
    return value
  end
  local copy = members.copy(value)
  copy.mapping = {}
  for name_of_branch, ref in pairs(value.mapping) do
    copy.mapping[name_of_branch] = self:reference(ref, state)
  end
  return copy
end

--- The new value of a keyword. An invalid one is removed and reported.
function Converter:member(key, value, state)
  local expected = keyword.expected(key, value)
  if expected then
    self.report(state.pointer, ("%s: expected %s; the keyword is ignored"):format(tostring(key), expected))
    return nil
  elseif change[key] then
    return change[key](self, value, state)
  end
  return value
end

-- Reads the members of an enum as values of the schema's type, and reports those that are of another.
function Converter:with_enum(node, state)
  local enum = node.enum and node.type and keyword.typed_enum(node)
  if not enum then
    return node
  end
  self.report(state.pointer, ("enum: members are not of type %s; they are read as if they were"):format(
    type(node.type) == "table" and table.concat(node.type, " or ") or node.type))
  local copy = members.copy(node)
  copy.enum = enum
  return copy
end

--- Removes a default that does not fit its own schema, and reports it.
function Converter:with_default(node, state)
  local message = node.default ~= nil and keyword.default_misfit(node, state.way)
  if not message then
    return node
  end
  self.report(state.pointer, ("default: %s; it is ignored"):format(message))
  local copy = members.copy(node)
  copy.default = nil
  return copy
end

-- Keywords whose schemas apply to the same value as their own schema.
local for_same_value = members.set({ "$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas" })

--- Converts a schema object; returns the same table if nothing changed, which is the usual case.
function Converter:members(original, state)
  local node = discriminator.apply(self.source, original, state.file)
  local copy = node ~= original and node or nil
  local source = node
  if keyword.is_old(node) then
    if node.nullable == true and not self.old then
      self.report(state.pointer, "nullable is a keyword of OpenAPI 3.0; it is read as there")
    end
    copy = members.copy(node)
    keyword.convert(copy)
    source = members.copy(copy)
  end
  local around = state.hidden
  local gone = keyword.hidden(self.source, node, state.file, state.way, around)
  for key, value in pairs(source) do
    state.hidden = for_same_value[key] and gone or nil
    local new = self:member(key, value, state)
    if new ~= value then
      copy = copy or members.copy(node)
      copy[key] = new
    end
  end
  state.hidden = gone
  local _, there = nil, nil
  if gone and type(node["$ref"]) == "string" then
    _, there = self:reference(node["$ref"], state)
  end
  if there then
    copy.allOf = members.joined(type(copy.allOf) == "table" and copy.allOf or {}, { walk_there(self, there, state) })
  end
  state.hidden = around
  if gone and ((copy or node).properties or (copy or node).required) then
    copy = copy or members.copy(node)
    keyword.remove(copy, gone)
  end
  return self:with_default(self:with_enum(copy or node, state), state)
end

function Converter:walk(node, state)
  if type(node) == "boolean" then
    return node
  elseif core.kind(node) ~= "object" then
    self.report(state.pointer, ("expected a schema, got %s"):format(core.kind(node)))
    return true
  elseif self.old and type(node["$ref"]) == "string" then
    -- 3.0: siblings of $ref are ignored.
    local ref, there = self:reference(node["$ref"], state)
    return there and walk_there(self, there, state) or ref and { ["$ref"] = ref } or true
  end
  state.depth = state.depth + 1
  if state.depth > MAX_DEPTH then
    error({ pointer = state.pointer, message = ("schemas are nested deeper than %d"):format(MAX_DEPTH) })
  end
  local file = state.file
  if self.source.modern then
    state.file = self.source:resource(node, file)
  end
  local new = self:members(node, state)
  state.depth, state.file = state.depth - 1, file
  return new
end

--- The converted schema of a place that others refer to, and the places that it refers to.
---@param place operations.openapi.Place
---@param way operations.openapi.Direction
---@return { schema: table|boolean, used: table<string, operations.openapi.Place> }
function Converter:entry(place, way)
  local entries = self.entries[way]
  local entry = entries[place.pointer]
  if not entry then
    entry = { used = {} }
    entries[place.pointer] = entry
    entry.schema = self:convert(place, way, entry.used)
  end
  return entry
end

--- Converts one schema. Adds the places that it refers to to `used`.
---@param place operations.openapi.Place
---@param way operations.openapi.Direction
---@param used table<string, operations.openapi.Place>
---@return table|boolean
function Converter:convert(place, way, used)
  return self:walk(place.node, { file = place.file, pointer = place.pointer, way = way, used = used, depth = 0,
    there = {} })
end

--- Converts a schema to a standalone one. A mere reference becomes its target.
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

-- The `$defs` of converted schemas. Schemas that refer to each other in cycles share one table, or a document of a
-- thousand of them would have a million entries.

local function merge(into, from)
  for name, definition in pairs(from) do
    into[name] = definition
  end
end

--- The schemas that a place needs, including itself, by name.
local function closure(converter, place, way)
  local start, own = converter:entry(place, way), converter:name(place.pointer)
  local found, stack = {}, { place }
  while not start.closure and #stack > 0 do
    local current = table.remove(stack)
    local key, entry = converter:name(current.pointer), converter:entry(current, way)
    if entry.closure and entry.closure[own] ~= nil then
      start.closure = entry.closure -- in a cycle: both need the same
    elseif entry.closure then
      merge(found, entry.closure)
    elseif found[key] == nil then
      found[key] = entry.schema
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

-- The definitions of everything in `used`; nil if that is empty. They are shared and must not be changed.
local function definitions_of(converter, used, way)
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

--- A copy of `body` with the definitions that it uses.
---@param body table|boolean
---@param used table<string, operations.openapi.Place>
---@param way operations.openapi.Direction
---@return table|boolean
function Converter:complete(body, used, way)
  local defs = type(body) == "table" and definitions_of(self, used, way)
  if not defs then
    return body
  end
  local whole = members.copy(body)
  whole["$defs"] = defs
  return whole
end

return schema
