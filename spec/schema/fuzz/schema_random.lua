--- Random schemas of draft 2020-12, and random values that have a fair chance to fit them.
local json = require("operations.base.json")
local operations = require("operations")
local random = require("spec.support.random")

local schema_random = {}

local chance, pick, upto = random.chance, random.pick, random.upto

local names = { "a", "b", "c", "d", "", "a/b", "m~n", "ä", "isPrototypeOf", "x1", "long name" }
local strings = { "", "a", "ab", "abc", "x1", "1", "true", "null", "äöü", "🐲", "🐲🐲", "2024-02-29", "2023-02-29", "a b" }
local numbers = { 0, 1, 2, 3, -1, 1.5, 0.5, -0.25, 10, 1e3, 12345678901, 2.0, 1e300, -7 }
local patterns = { "^a", "b$", "^[a-c]*$", "^x\\d$", "\\p{L}", "^.$", "^.{2,}$", "" }
local types = { "null", "boolean", "integer", "number", "string", "array", "object" }
local formats = { "date", "ipv4", "uuid", "json-pointer" }

local function list_of(make, least, most)
  local list = {}
  for i = 1, least + upto(most - least + 1) - 1 do
    list[i] = make()
  end
  return operations.array(list)
end

local function distinct(values, least, most)
  local seen, list = {}, {}
  for _ = 1, least + upto(most - least + 1) - 1 do
    local value = pick(values)
    if not seen[value] then
      seen[value] = true
      list[#list + 1] = value
    end
  end
  return operations.array(list)
end

local function map_of(keys, make, least, most)
  local map = {}
  for _ = 1, least + upto(most - least + 1) - 1 do
    map[pick(keys)] = make()
  end
  return operations.object(map)
end

--- Any value, at most `depth` levels deep.
function schema_random.value(depth)
  local kind = upto(depth > 0 and 9 or 6)
  if kind == 1 then
    return json.null
  elseif kind == 2 then
    return chance(50)
  elseif kind <= 4 then
    return pick(numbers)
  elseif kind <= 6 then
    return pick(strings)
  elseif kind == 7 then
    return list_of(function() return schema_random.value(depth - 1) end, 0, 4)
  end
  return map_of(names, function() return schema_random.value(depth - 1) end, 0, 4)
end

-- Below, `context` is { defs = names of $defs, refs = may a $ref stand here }: one that could lead back to itself
-- without going deeper into the value is not made.
local schema

local function inside(context)
  return { defs = context.defs, refs = true }
end

local function child(context, depth)
  return schema(inside(context), depth - 1)
end

local function branches(context, depth)
  return list_of(function() return schema(context, depth - 1) end, 1, 3)
end

local keywords = {
  function(s) s.type = chance(75) and pick(types) or distinct(types, 2, 3) end,
  function(s) s.type = pick({ "object", "array" }) end,
  function(s) s.enum = list_of(function() return schema_random.value(1) end, 1, 4) end,
  function(s) s.const = schema_random.value(1) end,
  function(s) s.minimum = pick(numbers) end,
  function(s) s.maximum = pick(numbers) end,
  function(s) s.exclusiveMinimum = pick(numbers) end,
  function(s) s.exclusiveMaximum = pick(numbers) end,
  function(s) s.multipleOf = pick({ 1, 2, 3, 0.5, 0.25, 1.5 }) end,
  function(s) s.minLength = upto(4) - 1 end,
  function(s) s.maxLength = upto(4) - 1 end,
  function(s) s.pattern = pick(patterns) end,
  function(s) s.format = pick(formats) end,
  function(s, c, d) s.items = child(c, d) end,
  function(s, c, d) s.prefixItems = list_of(function() return child(c, d) end, 1, 3) end,
  function(s, c, d)
    s.contains = child(c, d)
    s.minContains = chance(30) and upto(3) - 1 or nil
    s.maxContains = chance(30) and upto(3) - 1 or nil
  end,
  function(s) s.uniqueItems = chance(80) end,
  function(s) s.minItems = upto(4) - 1 end,
  function(s) s.maxItems = upto(4) - 1 end,
  function(s, c, d) s.properties = map_of(names, function() return child(c, d) end, 1, 4) end,
  function(s, c, d)
    s.properties = map_of(names, function() return child(c, d) end, 1, 3)
    s.required = distinct(names, 1, 2)
    s.additionalProperties = chance(50) and false or child(c, d)
  end,
  function(s, c, d) s.patternProperties = map_of(patterns, function() return child(c, d) end, 1, 2) end,
  function(s, c, d) s.additionalProperties = child(c, d) end,
  function(s, _, d) s.propertyNames = schema({ defs = {} }, d - 1) end,
  function(s) s.required = distinct(names, 1, 3) end,
  function(s) s.minProperties = upto(4) - 1 end,
  function(s) s.maxProperties = upto(4) - 1 end,
  function(s) s.dependentRequired = map_of(names, function() return distinct(names, 1, 2) end, 1, 2) end,
  function(s, c, d) s.dependentSchemas = map_of(names, function() return schema(c, d - 1) end, 1, 2) end,
  function(s, c, d) s.allOf = branches(c, d) end,
  function(s, c, d) s.anyOf = branches(c, d) end,
  function(s, c, d) s.oneOf = branches(c, d) end,
  function(s, c)
    if c.refs and #c.defs > 1 then
      s[pick({ "anyOf", "oneOf" })] = operations.array({ { ["$ref"] = "#/$defs/x" }, { ["$ref"] = "#/$defs/y" } })
      s.discriminator = { propertyName = pick(names), mapping = map_of(strings, function() return "#/y" end, 0, 3) }
    end
  end,
  function(s, c, d) s["not"] = schema(c, d - 1) end,
  function(s, c, d)
    s["if"] = schema(c, d - 1)
    s["then"] = chance(80) and schema(c, d - 1) or nil
    s["else"] = chance(60) and schema(c, d - 1) or nil
  end,
  function(s, c, d) s.unevaluatedProperties = chance(50) and false or child(c, d) end,
  function(s, c, d) s.unevaluatedItems = chance(50) and false or child(c, d) end,
  function(s, c)
    if c.refs and #c.defs > 0 then
      s["$ref"] = "#/$defs/" .. pick(c.defs)
    end
  end,
  function(s) s.default = schema_random.value(1) end,
}

schema = function(context, depth)
  if depth <= 0 or chance(10) then
    return chance(75) and pick({ true, operations.object({}) }) or depth <= 0 and { type = pick(types) } or false
  end
  local result = operations.object({})
  for _ = 1, upto(4) do
    pick(keywords)(result, context, depth)
  end
  return result
end

--- A schema of its own, perhaps with `$defs`.
function schema_random.schema()
  local defs = pick({ {}, {}, { "x" }, { "x", "y" } })
  local result = schema({ defs = defs, refs = true }, 3)
  if #defs > 0 and type(result) == "table" then
    result["$defs"] = {}
    for _, name in ipairs(defs) do
      result["$defs"][name] = schema({ defs = defs }, 2)
    end
  end
  return result
end

local fit

-- The part of the schema that a value is made from: itself, a branch, or what it refers to.
local function choose(s, root)
  for _, name in ipairs({ "allOf", "anyOf", "oneOf" }) do
    if s[name] and chance(40) then
      return pick(s[name])
    end
  end
  local ref = s["$ref"] and chance(60) and s["$ref"]:match("^#/%$defs/(.+)$")
  return ref and root["$defs"] and root["$defs"][ref] or s
end

-- In an order that is the same in every run, unlike that of `pairs`.
local function sorted_names(map)
  local list = {}
  for name in pairs(map) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

local function fit_object(s, root, depth)
  local value, properties = {}, s.properties or {}
  for _, name in ipairs(sorted_names(properties)) do
    if chance(70) then
      value[name] = fit(properties[name], root, depth - 1)
    end
  end
  for _, name in ipairs(s.required or {}) do
    if value[name] == nil and chance(90) then
      value[name] = fit(properties[name] == nil and true or properties[name], root, depth - 1)
    end
  end
  if chance(30) then
    local rest = s.additionalProperties
    value[pick(names)] = fit(rest == nil and true or rest, root, depth - 1)
  end
  return operations.object(value)
end

local function fit_array(s, root, depth)
  local list = {}
  for i, item in ipairs(s.prefixItems or {}) do
    list[i] = fit(item, root, depth - 1)
  end
  for _ = 1, upto(3) - 1 do
    local item = chance(30) and s.contains or s.items
    list[#list + 1] = fit(item == nil and true or item, root, depth - 1)
  end
  return operations.array(list)
end

local makers = {
  null = function() return json.null end,
  boolean = function() return chance(50) end,
  integer = function(s) return s.minimum or s.maximum or upto(5) - 1 end,
  number = function(s) return s.maximum or s.minimum or pick(numbers) end,
  string = function() return pick(strings) end,
  array = fit_array,
  object = fit_object,
}

local function likely_type(s)
  local given = s.type
  if type(given) == "table" then
    return pick(given)
  elseif given then
    return given
  elseif s.properties or s.required or s.patternProperties or s.additionalProperties ~= nil then
    return "object"
  elseif s.items ~= nil or s.prefixItems or s.contains ~= nil then
    return "array"
  end
end

fit = function(s, root, depth)
  if type(s) ~= "table" or depth <= 0 or chance(10) then
    return schema_random.value(depth > 0 and 1 or 0)
  end
  s = choose(s, root)
  if type(s) ~= "table" then
    return schema_random.value(1)
  elseif s.const ~= nil and chance(80) then
    return s.const
  elseif s.enum and chance(80) then
    return pick(s.enum)
  end
  local make = makers[likely_type(s)]
  return make and make(s, root, depth) or schema_random.value(2)
end

--- A value that was made with the schema in mind; it fits perhaps every second time.
function schema_random.value_for(s)
  return fit(s, s, 4)
end

return schema_random
