--- Values that a schema accepts, for examples of calls: those in the schema (examples, defaults, enums), else
--- placeholders by type, format and length. Only what is required is made.
local core = require("operations.core")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local pattern_text = require("operations.people.pattern_text")
local property_order = require("operations.base.property_order")
local schema_module = require("operations.schema")

local sample = {}

local DEEPEST = 16 -- references and values within each other
local MOST_WAYS = 16 -- ways to resolve the unions of one schema
local MOST_TRIED = 20 -- properties of one

local formats = {
  ["date-time"] = "2026-01-31T12:00:00Z", date = "2026-01-31", time = "12:00:00Z", duration = "P1D",
  email = "ada@example.com", ["idn-email"] = "ada@example.com", hostname = "example.com", ipv4 = "192.0.2.1",
  ipv6 = "2001:db8::1", uri = "https://example.com/", url = "https://example.com/", iri = "https://example.com/",
  ["uri-reference"] = "/a", ["iri-reference"] = "/a", ["uri-template"] = "/a/{b}", regex = "^a$",
  uuid = "123e4567-e89b-12d3-a456-426614174000", ["json-pointer"] = "/a", byte = "YQ==", base64 = "YQ==",
}

-- Keywords of a schema that say nothing about values, so that its parts can be compiled alone.
local homes = { "$schema", "$defs", "definitions", "components", "$id" }

---@class operations.people.Sample
---@field root table  what references point into
---@field compiled table<table, table|false>
local Maker = {}
Maker.__index = Maker

local function list_of(value)
  return core.kind(value) == "array" and value or { value }
end

function Maker:accepts(node, value)
  if type(node) ~= "table" then
    return node ~= false
  end
  local made = self.compiled[node]
  if made == nil then
    local alone = { allOf = { node } }
    for _, name in ipairs(homes) do
      alone[name] = self.root[name]
    end
    made = schema_module.compile(node == self.root and node or alone, { formats = true }) or false
    self.compiled[node] = made
  end
  return made == false or (made:check(value))
end

local function all_of(a, b)
  return a == b and a or { allOf = { a, b } }
end

local function merged_maps(a, b)
  local map = members.merged(a)
  for key, value in pairs(b) do
    map[key] = map[key] ~= nil and all_of(map[key], value) or value
  end
  core.property_order[map] = members.joined(property_order.names(a), property_order.names(b))
  return map
end

local function common(a, b)
  local list = {}
  for _, value in ipairs(list_of(a)) do
    list[#list + 1] = members.contains(list_of(b), value) and value or nil
  end
  return list
end

-- How two schemas that both hold become one, by keyword; the second's stands for the others.
local joins = {
  type = common, enum = common, required = members.joined, examples = members.joined, properties = merged_maps,
  items = all_of, minimum = math.max, minLength = math.max, minItems = math.max, minProperties = math.max,
  maximum = math.min, maxLength = math.min, maxItems = math.min,
}

local function merge(a, b)
  local both = members.merged(a)
  for key, value in pairs(b) do
    local join = both[key] ~= nil and joins[key]
    local ok, joined = pcall(join or rawequal, both[key], value)
    both[key] = not (join and ok) and value or joined
  end
  return both
end

function Maker:combine(ways, alternatives, depth)
  local list = {}
  for _, node in ipairs(alternatives) do
    for _, more in ipairs(self:ways(node, depth)) do
      for _, way in ipairs(ways) do
        list[#list + 1] = #list < MOST_WAYS and merge(way, more) or nil
      end
    end
  end
  return list
end

-- A schema as schemas without references and unions: one for each way to choose branches.
function Maker:ways(node, depth)
  if type(node) ~= "table" or depth > DEEPEST then
    return node == false and {} or { {} }
  end
  local rest = members.merged(node)
  rest["$ref"], rest.allOf, rest.anyOf, rest.oneOf = nil, nil, nil, nil
  local ways, reference = { rest }, node["$ref"]
  if type(reference) == "string" and reference:sub(1, 1) == "#" then
    ways = self:combine(ways, { json_pointer.get(self.root, reference) }, depth + 1)
  end
  for _, part in ipairs(type(node.allOf) == "table" and node.allOf or {}) do
    ways = self:combine(ways, { part }, depth + 1)
  end
  for _, name in ipairs({ "anyOf", "oneOf" }) do
    local union = node[name]
    ways = type(union) == "table" and union[1] ~= nil and self:combine(ways, union, depth + 1) or ways
  end
  return ways
end

local makers = {}

function makers.null()
  return core.null
end

function makers.boolean()
  return true
end

function makers.number(_, way)
  local least, most = tonumber(way.minimum), tonumber(way.maximum)
  local above, below = tonumber(way.exclusiveMinimum), tonumber(way.exclusiveMaximum)
  least = above and math.max(least or above, above + 1) or least or 1
  most = below and math.min(most or below, below - 1) or most
  local value, step = math.min(least, most or least), tonumber(way.multipleOf)
  if (not way.minimum and not above or least < 0) and (not most or most >= 1) then
    value = 1
  end
  return step and step > 0 and math.ceil(value / step) * step or value
end

function makers.integer(self, way)
  return math.floor(makers.number(self, way))
end

function makers.string(self, way, name, _, node)
  local least, most = tonumber(way.minLength) or 0, tonumber(way.maxLength) or math.huge
  local plain = formats[way.format] or name:upper()
  plain = #plain < least and plain .. ("x"):rep(least - #plain) or plain
  plain = #plain > most and plain:sub(1, most) or plain
  if type(way.pattern) ~= "string" or self:accepts(node, plain) then
    return plain
  end
  return pattern_text.of(way.pattern, math.max(least, math.min(most, 1)))
end

function makers.array(self, way, name, depth)
  local list, prefix = marked.array(), type(way.prefixItems) == "table" and way.prefixItems or {}
  for i = 1, math.min(math.max(tonumber(way.minItems) or 0, #prefix), 100) do
    local node = prefix[i]
    list[i] = self:value(node == nil and way.items or node or true, name, depth + 1)
    if way.uniqueItems and i > 1 and core.kind(list[i]) == "string" then
      list[i] = list[i] .. i
    elseif way.uniqueItems and i > 1 and core.kind(list[i]) == "integer" then
      list[i] = list[i] + i - 1
    end
  end
  return list
end

function makers.object(self, way, _, depth, _, hint, extra)
  local object, order = marked.object(), {}
  local properties = type(way.properties) == "table" and way.properties or {}
  local names = property_order.names(properties)
  local required = members.set(type(way.required) == "table" and way.required or {})
  local function add(name, node)
    if object[name] == nil then
      local known = core.kind(hint) == "object" and hint[name]
      object[name] = known and self:accepts(node, known) and known
        or self:value(node == nil and true or node, name, depth + 1)
      order[#order + 1] = name
      required[name] = nil
    end
  end
  for _, name in ipairs(names) do
    if required[name] or name == extra then
      add(name, properties[name])
    end
  end
  for _, name in ipairs(members.names(required)) do
    add(name, way.additionalProperties)
  end
  local least = tonumber(way.minProperties) or 0
  for _, name in ipairs(#order < least and names or {}) do
    if #order < least and properties[name] ~= false then
      add(name, properties[name])
    end
  end
  for i = #order + 1, math.min(least, 100) do
    add("key" .. i, way.additionalProperties)
  end
  core.property_order[object] = order
  return object
end

local function type_of(way)
  for _, name in ipairs(list_of(way.type)) do
    if name ~= "null" then
      return name
    end
  end
  return way.type and "null" or (way.properties or way.required) and "object" or (way.items or way.prefixItems)
    and "array" or (way.minimum or way.maximum) and "number" or "string"
end

-- The examples and other values in a schema.
local function given(way)
  local list = members.joined({ way.example }, { way.const })
  for _, values in ipairs({ way.examples or {}, { way.default }, way.enum or {} }) do
    list = core.kind(values) == "array" and members.joined(list, values) or list
  end
  return list
end

-- The first of those that the schema accepts; of objects only as a hint, because it may have more than is
-- required.
function Maker:given(node, ways)
  for _, way in ipairs(ways) do
    for _, value in ipairs(given(way)) do
      if (value ~= core.null or way.type == nil or way.type == "null") and self:accepts(node, value) then
        return value, core.kind(value) == "object" and type(way.properties) == "table"
      end
    end
  end
end

-- An object of a union whose branches need a property that they do not require to be told apart.
function Maker:distinct(node, ways, depth)
  for _, way in ipairs(ways) do
    local properties = type_of(way) == "object" and type(way.properties) == "table" and way.properties or {}
    for i, name in ipairs(property_order.names(properties)) do
      local value = i <= MOST_TRIED and makers.object(self, way, name, depth, node, nil, name)
      if value and self:accepts(node, value) then
        return value
      end
    end
  end
end

function Maker:value(node, name, depth)
  if depth > DEEPEST then
    return marked.object() -- a schema that requires itself has no value
  end
  local ways, first = self:ways(node, 0), nil
  local own, is_hint = self:given(node, ways)
  if own ~= nil and not is_hint then
    return own
  end
  for _, way in ipairs(ways) do
    local made = makers[type_of(way)]
    local value = made and made(self, way, name, depth, node, own)
    if #ways == 1 and own == nil or value ~= nil and self:accepts(node, value) then
      return value
    end
    first = first == nil and value or first
  end
  return own or self:distinct(node, ways, depth) or first
end

--- A value of a schema with what it requires, as far as this can tell.
---@param root table|boolean
---@param name? string  the word for texts of which nothing is known, in capitals
---@return any
function sample.of(root, name)
  local self = setmetatable({ root = type(root) == "table" and root or {}, compiled = {} }, Maker)
  return self:value(root, name or "value", 0)
end

--- A scalar as a text that is read back as the same value.
---@param value any
---@return string? text  nil: only JSON has it
function sample.text(value)
  local kind = core.kind(value)
  if kind == "string" then
    return value:sub(1, 1) == "@" and "@" .. value or value
  elseif kind == "integer" or kind == "number" or kind == "boolean" then
    return number_text.of(value)
  end
end

return sample
