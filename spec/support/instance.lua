--- Instances of JSON Schemas (2020-12, `$ref`s into the schema itself): values that a schema accepts, the same on every
--- run. What the schema gives as examples or defaults is preferred where the schema itself accepts it.
local core = require("operations.core")
local instance_text = require("spec.support.instance_text")
local json = require("operations.base.json")
local members = require("operations.base.members")
local schema_module = require("operations.schema")

local instance = {}

---@class spec.Maker
---@field root table  what `$ref`s point into
---@field optional boolean  with the properties that nothing requires
---@field items integer  in each array, where its schema allows
---@field text string  where a schema says no more of a string
---@field open table<table, integer>  schemas that are being made: how often, each within itself
local Maker = {}
Maker.__index = Maker

local MAX_DEPTH = 12
local MAX_BRANCHES = 48 -- ways to resolve the unions of one schema that are tried

local function deref(root, ref)
  local node = root
  for encoded in ref:match("^#(.*)$"):gmatch("/([^/]*)") do
    local token = encoded:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end)
    node = node[(token:gsub("~1", "/"):gsub("~0", "~"))]
  end
  return node
end

local compiled = setmetatable({}, { __mode = "k" })

--- Does `schema`, a part of the root, accept the value?
function Maker:accepts(schema, value)
  local made = compiled[schema]
  if not made then
    local alone = { allOf = { schema }, ["$defs"] = self.root["$defs"] }
    made = assert(schema_module.compile(alone, { formats = true }))
    compiled[schema] = made
  end
  return (made:check(value))
end

local function list_of(value)
  return type(value) == "table" and value or { value }
end

local function common_types(a, b)
  local types = {}
  for _, left in ipairs(list_of(a)) do
    for _, right in ipairs(list_of(b)) do
      if left == right or left == "integer" and right == "number" then
        types[#types + 1] = left
      elseif left == "number" and right == "integer" then
        types[#types + 1] = right
      end
    end
  end
  return types
end

local function common_values(a, b)
  local known, values = {}, {}
  for _, value in ipairs(a) do
    known[json.encode(value, { sort_keys = true })] = true
  end
  for _, value in ipairs(b) do
    values[#values + 1] = known[json.encode(value, { sort_keys = true })] and value or nil
  end
  return values
end

local function concat(a, b)
  local list = {}
  for _, part in ipairs({ a, b }) do
    for _, value in ipairs(part) do
      list[#list + 1] = value
    end
  end
  return list
end

local function all_of(a, b)
  return { allOf = { a, b } }
end

local function merge_maps(a, b)
  local map = members.merged(a)
  for key, value in pairs(b) do
    map[key] = map[key] ~= nil and map[key] ~= value and all_of(map[key], value) or value
  end
  return map
end

-- How two schemas that both hold become one, by keyword; where nothing is said, the second's keyword stands.
local joins = {
  type = common_types, enum = common_values, required = concat, examples = concat, properties = merge_maps,
  items = all_of, minimum = math.max, minLength = math.max, minItems = math.max, minProperties = math.max,
  maximum = math.min, maxLength = math.min, maxItems = math.min, maxProperties = math.min,
}

local function merge(a, b)
  local both = members.merged(a)
  for key, value in pairs(b) do
    if both[key] ~= nil and joins[key] then
      value = joins[key](both[key], value)
    end
    both[key] = value
  end
  return both
end

local function without_branches(schema)
  local rest = members.merged(schema)
  rest["$ref"], rest.allOf, rest.anyOf, rest.oneOf, rest["$defs"] = nil, nil, nil, nil, nil
  if rest.const ~= nil then
    rest.enum, rest.const = { rest.const }, nil
  end
  if rest.example ~= nil then
    rest.examples, rest.example = concat({ rest.example }, rest.examples or {}), nil
  end
  return rest
end

--- Every pair of a way out of `ways` and a way to resolve `schema`, merged.
function Maker:combine(ways, alternatives, depth)
  local list = {}
  for _, schema in ipairs(alternatives) do
    for _, more in ipairs(self:ways(schema, depth)) do
      for _, way in ipairs(ways) do
        if #list < MAX_BRANCHES then
          list[#list + 1] = merge(way, more)
        end
      end
    end
  end
  return list
end

--- A schema as schemas without references and unions: one for each way to choose branches.
function Maker:ways(schema, depth)
  if type(schema) ~= "table" or depth > MAX_DEPTH then
    return schema == false and {} or { {} }
  end
  local ways = { without_branches(schema) }
  if schema["$ref"] then
    ways = self:combine(ways, { deref(self.root, schema["$ref"]) }, depth + 1)
  end
  for _, part in ipairs(schema.allOf or {}) do
    ways = self:combine(ways, { part }, depth + 1)
  end
  for _, union in ipairs({ schema.anyOf or {}, schema.oneOf or {} }) do
    ways = union[1] ~= nil and self:combine(ways, union, depth + 1) or ways
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

local function number(schema, n, step)
  local least, most = schema.minimum, schema.maximum
  if schema.exclusiveMinimum then
    least = math.max(least or -math.huge, schema.exclusiveMinimum + step)
  end
  if schema.exclusiveMaximum then
    most = math.min(most or math.huge, schema.exclusiveMaximum - step)
  end
  local value = math.max(least or 1, math.min(1, most or 1)) + n - 1
  local multiple = schema.multipleOf
  return multiple and math.ceil(value / multiple) * multiple or value
end

function makers.integer(_, schema, n)
  return math.floor(number(schema, n, 1))
end

function makers.number(_, schema, n)
  return number(schema, n, 0.5)
end

function makers.string(self, schema, n)
  return instance_text.of(schema, n, self.text)
end

function makers.array(self, schema, _, depth)
  local list, prefix = {}, schema.prefixItems or {}
  local wanted = math.max(schema.minItems or 0, #prefix, math.min(self.items, schema.maxItems or self.items))
  if schema.items == false and #prefix == 0 then
    wanted = 0
  end
  for i = 1, wanted do
    list[i] = self:value(prefix[i] or schema.items or true, i, depth + 1)
  end
  return setmetatable(list, json.array_mt)
end

--- Is this property left out: not required, and not wanted, or within itself, or of no value at all?
function Maker:skips(schema, depth)
  return not self.optional or schema == false or depth >= MAX_DEPTH
    or type(schema) == "table" and schema["$ref"] and (self.open[schema["$ref"]] or 0) > 0
end

function makers.object(self, schema, _, depth)
  local object, required, count = {}, {}, 0
  for _, key in ipairs(schema.required or {}) do
    required[key] = true
  end
  local properties = schema.properties or {}
  for _, key in ipairs(members.names(merge_maps(properties, required))) do
    if properties[key] == nil then
      properties = merge_maps({ [key] = schema.additionalProperties == nil or schema.additionalProperties }, properties)
    end
    if required[key] or not self:skips(properties[key], depth) then
      object[key] = self:value(properties[key], 1, depth + 1)
      count = count + 1
    end
  end
  local extra = schema.additionalProperties
  local wanted = math.max(schema.minProperties or 0, type(extra) == "table" and self.optional and count == 0 and 1 or 0)
  for _, key in ipairs(count < wanted and members.names(properties) or {}) do
    if object[key] == nil and count < wanted then
      object[key] = self:value(properties[key], 1, depth + 1)
      count = count + 1
    end
  end
  for i = count + 1, extra ~= false and depth < MAX_DEPTH and wanted or 0 do
    object["key" .. i] = self:value(extra == nil or extra, i, depth + 1)
  end
  return setmetatable(object, json.object_mt)
end

local function type_of(schema)
  for _, name in ipairs(list_of(schema.type)) do
    if name ~= "null" then
      return name
    end
  end
  return schema.type and "null"
    or (schema.properties or schema.required or schema.additionalProperties) and "object"
    or (schema.items or schema.prefixItems) and "array"
    or (schema.minimum or schema.maximum or schema.multipleOf) and "number"
    or "string"
end

--- Makes a value of a schema without references and unions.
function Maker:make(way, n, depth)
  if way.enum then
    local values = way.enum
    return values[(n - 1) % math.max(1, #values) + 1]
  end
  local maker = makers[type_of(way)]
  return maker and maker(self, way, n, depth)
end

--- An example or a default that the schema accepts; the first only, as more would not be distinct.
function Maker:given(schema, ways, n)
  local way = ways[1] or {}
  local examples = type(way.examples) == "table" and way.examples or {}
  if n ~= 1 or type(schema) ~= "table" or examples[1] == nil and way.default == nil then
    return nil
  end
  for _, value in ipairs(concat(examples, { way.default })) do
    if self:accepts(schema, value) and (self.optional or core.kind(value) ~= "object") then
      return value
    end
  end
end

local function numbers_last(ways)
  local list, numbers = {}, {}
  for _, way in ipairs(ways) do
    local is_number = way.type == "integer" or way.type == "number"
    table.insert(is_number and numbers or list, way)
  end
  return concat(list, numbers)
end

--- The first way whose value the whole schema accepts; properties that nothing requires may make unions ambiguous.
function Maker:choose(schema, ways, n, depth)
  local value = self:make(ways[1] or {}, n, depth)
  if #ways <= 1 or self:accepts(schema, value) then
    return value
  end
  local optional = self.optional
  for _, with in ipairs({ optional, false }) do
    for _, way in ipairs(ways) do
      self.optional = with
      local other = self:make(way, n, depth)
      self.optional = optional
      if self:accepts(schema, other) then
        return other
      end
    end
  end
  return value
end

local resolved = setmetatable({}, { __mode = "k" })

-- Where a text or a number will do: a server that reads parameters as text may take "1" for both.
function Maker:resolved(schema)
  local ways = resolved[schema] or numbers_last(self:ways(schema, 0))
  if type(schema) == "table" then
    resolved[schema] = ways
  end
  return ways
end

--- A value for a part of the root schema; the n-th of a list.
function Maker:value(schema, n, depth)
  if depth > 2 * MAX_DEPTH then
    return nil -- a schema that requires itself has no instance
  end
  local ref = type(schema) == "table" and schema["$ref"]
  if ref then
    self.open[ref] = (self.open[ref] or 0) + 1
  end
  local ways = self:resolved(schema)
  local value = self:given(schema, ways, n)
  if value == nil then
    value = self:choose(schema, ways, n, depth)
  end
  if ref then
    self.open[ref] = self.open[ref] - 1
  end
  return value
end

--- A value that the schema accepts, as far as this can tell; check it.
---@param schema table|boolean
---@param options? { optional?: boolean, items?: integer, text?: string }  `optional = false`: required properties only
---@return any
function instance.of(schema, options)
  local self = setmetatable({
    root = type(schema) == "table" and schema or {},
    optional = not options or options.optional ~= false,
    items = options and options.items or 1,
    text = options and options.text or "text",
    open = {},
  }, Maker)
  return self:value(schema, 1, 0)
end

return instance
