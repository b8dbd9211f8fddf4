--- What keywords of JSON Schema must hold. Documents get them wrong, and one wrong keyword must not cost the operation.
local core = require("operations.core")
local marked = require("operations.base.marked")
local schema = require("operations.schema")

local keyword = {}

local types = {
  null = true, boolean = true, integer = true, number = true, string = true, array = true, object = true,
}

local function is_number(value)
  return type(value) ~= "number" and "a number"
end

local function is_count(value)
  return (type(value) ~= "number" or value < 0 or value % 1 ~= 0) and "an integer from 0"
end

local function is_divisor(value)
  return (type(value) ~= "number" or value <= 0) and "a number above 0"
end

local function is_boolean(value)
  return type(value) ~= "boolean" and "a boolean"
end

local function is_text(value)
  return type(value) ~= "string" and "a string"
end

local function is_map(value)
  return core.kind(value) ~= "object" and "an object"
end

local function is_schema(value)
  return core.kind(value) ~= "object" and type(value) ~= "boolean" and "a schema"
end

local function is_schemas(value)
  return (type(value) ~= "table" or type(value[1]) ~= "table" and type(value[1]) ~= "boolean") and "schemas"
end

local function is_list(value)
  return not marked.may_be_list(value) and "an array"
end

local function is_names(value)
  if is_list(value) then
    return "an array of names"
  end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then
      return "an array of names"
    end
  end
end

local function is_type(value)
  local list = type(value) == "table" and value or { value }
  for i = 1, math.max(#list, 1) do
    if not types[list[i]] then
      return "the name of a type"
    end
  end
end

-- The core says whether a pattern can be compiled; each is asked once.
local patterns = setmetatable({}, { __mode = "k" })

local function is_pattern(value)
  if type(value) ~= "string" then
    return "a pattern"
  end
  if patterns[value] == nil then
    patterns[value] = core.schema_compile({ pattern = value }) ~= nil
  end
  return not patterns[value] and "a pattern"
end

local function is_pattern_map(value)
  if is_map(value) then
    return "an object"
  end
  for name in pairs(value) do
    if is_pattern(name) then
      return "patterns as its keys"
    end
  end
end

local rules = {
  type = is_type, enum = is_list, required = is_names, pattern = is_pattern, format = is_text,
  maximum = is_number, minimum = is_number, exclusiveMaximum = is_number, exclusiveMinimum = is_number,
  multipleOf = is_divisor, uniqueItems = is_boolean,
  maxLength = is_count, minLength = is_count, maxItems = is_count, minItems = is_count,
  maxProperties = is_count, minProperties = is_count, maxContains = is_count, minContains = is_count,
  properties = is_map, patternProperties = is_pattern_map, dependentSchemas = is_map, dependentRequired = is_map,
  items = is_schema, additionalProperties = is_schema, contains = is_schema, propertyNames = is_schema,
  unevaluatedItems = is_schema, unevaluatedProperties = is_schema,
  ["not"] = is_schema, ["if"] = is_schema, ["then"] = is_schema, ["else"] = is_schema,
  allOf = is_schemas, anyOf = is_schemas, oneOf = is_schemas, prefixItems = is_schemas,
}

--- What is wrong with a keyword's value.
---@param name string
---@param value any
---@return string|false|nil expected  what should have been there, when something is wrong
function keyword.expected(name, value)
  local rule = rules[name]
  return rule and rule(value)
end

-- What a schema says of a value without other schemas.
local own_keywords = {
  "type", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
  "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required",
}

--- Why the default of a schema does not fit that schema itself ("10" for an integer, null for a string, a value that
--- its enum lacks); nil when it does, or nothing can be said. One that is filled in would have a call refused for what
--- its caller never said.
---@param definition table  as 2020-12
---@param way operations.openapi.Direction  formats count in what is sent alone
---@return string? message
function keyword.default_misfit(definition, way)
  local own = {}
  for _, key in ipairs(own_keywords) do
    own[key] = definition[key]
  end
  local compiled = schema.compile(own, { formats = way ~= "output" })
  local ok, issues = true, nil
  if compiled then
    ok, issues = compiled:check(definition.default)
  end
  return not ok and issues[1].message or nil
end

return keyword
