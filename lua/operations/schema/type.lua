--- Builds JSON Schema (draft 2020-12) as plain Lua tables: `T.object{ title = T.string{ minLength = 1 } }`.
--- The result is data, not a class: it can be printed as JSON, changed, or mixed with schemas written by hand.
local core = require("operations.core")
local keywords = require("operations.schema.keywords")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local suggestion = require("operations.base.suggestion")

local function array(list)
  return setmetatable(list or {}, core.array_mt)
end

local function object(map)
  return setmetatable(map or {}, core.object_mt)
end

---@class operations.type
---@field string fun(options?: table): operations.JsonSchema  minLength, pattern, format, content..., annotations
---@field integer fun(options?: table): operations.JsonSchema  minimum, maximum, exclusiveMinimum, ..., annotations
---@field number fun(options?: table): operations.JsonSchema  as for `integer`
---@field boolean fun(options?: table): operations.JsonSchema  annotations
---@field null fun(options?: table): operations.JsonSchema  annotations
---@field any_of fun(schemas: operations.JsonSchema[], options?: table): operations.JsonSchema  at least one of them
---@field one_of fun(schemas: operations.JsonSchema[], options?: table): operations.JsonSchema  exactly one of them
---@field all_of fun(schemas: operations.JsonSchema[], options?: table): operations.JsonSchema  all of them; options:
---  annotations, unevaluatedProperties
local type_builder = {}

--- Marks the result of `T.optional` for `T.object`; nothing else accepts it.
local optional_mt = { __name = "operations.optional" }

local function is_count(value)
  return type(value) == "number" and value >= 0 and value == math.floor(value)
end

local function is_schema(value)
  if type(value) == "boolean" then
    return true
  end
  return type(value) == "table" and getmetatable(value) ~= optional_mt and core.kind(value) == "object"
    and not keywords.is_members(value)
end

local function is_schema_map(value)
  if type(value) ~= "table" or core.kind(value) ~= "object" then
    return false
  end
  for name, schema in pairs(value) do
    if type(name) ~= "string" or not is_schema(schema) then
      return false
    end
  end
  return true
end

--- The kinds of option values: a test and a readable name.
local forms = {
  any = { function() return true end, "any value" },
  boolean = { function(value) return type(value) == "boolean" end, "a boolean" },
  count = { is_count, "a whole number of at least 0" },
  list = { marked.may_be_list, "a list" },
  map = { is_schema_map, "a table of schemas by name" },
  number = { function(value)
    return type(value) == "number" and value == value or core.kind(value) == "integer"
  end, "a number" },
  schema = { is_schema, "a schema" },
  string = { function(value) return type(value) == "string" end, "a string" },
  table = { function(value) return type(value) == "table" end, "a table" },
}

local form_of = {
  any = "any", boolean = "boolean", count = "count", list = "list", map = "map", name_map = "table", number = "number",
  pattern = "string", pattern_map = "map", positive = "number", schema = "schema", string = "string",
}

-- The options of the builders: the keywords of a type and those of all types, which are all that `any` has.
local options_of = { any = {}, string = {}, number = {}, array = {}, object = {} }
for _, row in ipairs(keywords) do
  for kind, options in pairs(row.option and options_of or {}) do
    if row.of == nil or row.of:find(kind, 1, true) then
      options[row.name] = form_of[row.shape]
    end
  end
end

local annotations, string_keywords, number_keywords = options_of.any, options_of.string, options_of.number
local object_keywords, array_keywords = options_of.object, options_of.array
local tuple_keywords = { items = "schema" }
for name, form in pairs(array_keywords) do
  tuple_keywords[name] = form
end

local debug = rawget(_G, "debug") -- a program may have left it out
local own_source = debug and debug.getinfo(1, "S").source

--- Raises an error at the line that called builder function `name`.
---@param name string
---@param format string
local function misuse(name, format, ...)
  local level = 2
  local frame = debug and debug.getinfo(level, "S")
  while frame and frame.source == own_source do
    level = level + 1
    frame = debug.getinfo(level, "S")
  end
  error(("T.%s: "):format(name) .. format:format(...), level)
end

local function wanted(form, value)
  local kind = type(value) == "table" and core.kind(value) or type(value)
  if value ~= value then
    kind = "NaN"
  elseif kind == "function" then
    kind = "a function (is a call missing its parentheses?)"
  elseif getmetatable(value) == optional_mt then
    kind = "T.optional(...), which only a property of T.object can be"
  elseif keywords.is_members(value) then
    kind = "a table of schemas (is T.object missing?)"
  end
  return ("expected %s, got %s"):format(forms[form][2], kind)
end

--- Returns the value if it has the form; else raises.
---@param name string  of the builder function
---@param argument string  the value's name in the message
---@param form string  one of `forms`
---@param value any
---@return any value
local function check(name, argument, form, value)
  if not forms[form][1](value) then
    misuse(name, "%s: %s", argument, wanted(form, value))
  end
  return value
end

local function unknown_option(name, allowed, key)
  misuse(name, "unknown option %q%s", tostring(key), suggestion.behind(tostring(key), members.names(allowed)))
end

--- Copies checked `options` into `schema`. Keys that begin with "x-" are the user's own.
---@param name string  of the builder function
---@param schema table
---@param options? table
---@param allowed table<string, string>  form by keyword
---@return table schema
local function apply(name, schema, options, allowed)
  if options ~= nil and (type(options) ~= "table" or getmetatable(options) == optional_mt) then
    misuse(name, "options: %s", wanted("table", options))
  end
  for key, value in pairs(options or {}) do
    if allowed[key] then
      schema[key] = check(name, ("option %q"):format(key), allowed[key], value)
    elseif type(key) == "string" and key:find("^x%-") then
      schema[key] = value
    else
      unknown_option(name, allowed, key)
    end
  end
  return schema
end

---@alias operations.JsonSchema table|boolean  a JSON Schema

local function copy_schema(name, argument, schema)
  check(name, argument, "schema", schema)
  if schema == true then
    return {}
  elseif schema == false then
    return { ["not"] = object() }
  end
  return members.copy(schema)
end

local function schema_list(name, schemas)
  check(name, "argument 1", "list", schemas)
  local result = array()
  for i, schema in ipairs(schemas) do
    result[i] = check(name, ("schema %d"):format(i), "schema", schema)
  end
  if #result == 0 then
    misuse(name, "argument 1: expected at least one schema")
  end
  return result
end

local scalars = { string = string_keywords, integer = number_keywords, number = number_keywords,
  boolean = annotations, null = annotations }
for name, allowed in pairs(scalars) do
  --- A schema of values of the type that the function is named after.
  ---@param options? table  keywords of the type (minLength, minimum, ...), annotations (title, default, ...)
  ---@return operations.JsonSchema
  type_builder[name] = function(options)
    return apply(name, { type = name }, options, allowed)
  end
end

--- A schema that accepts every value.
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.any(options)
  return apply("any", object(), options, annotations)
end

--- The schema of one property, and whether an object must have it.
local function property(name, schema)
  if type(name) ~= "string" then
    misuse("object", "property names: expected strings, got %s", type(name))
  elseif getmetatable(schema) == optional_mt then
    return object(members.merged(schema)), false
  end
  check("object", ("property %q"):format(name), "schema", schema)
  return schema, schema == true or schema == false or schema.default == nil
end

-- The properties of a list { { name, schema }, ... } by name, and their names in order.
local function listed(list)
  local by_name, names = {}, {}
  for i, pair in ipairs(list) do
    if type(pair) ~= "table" or type(pair[1]) ~= "string" or pair[2] == nil then
      misuse("object", "property %d: expected { name, schema }, got %s", i, type(pair))
    elseif by_name[pair[1]] ~= nil then
      misuse("object", "property %d: %q is listed already", i, pair[1])
    end
    by_name[pair[1]], names[i] = pair[2], pair[1]
  end
  return by_name, names
end

--- An object. Every property is required unless it is `T.optional(...)` or has a default. Properties are given by name,
--- or as a list `{ { name, schema }, ... }`, whose order `operations.schema.properties` returns and texts keep.
---@param properties? table<string, operations.JsonSchema>|{ [1]: string, [2]: operations.JsonSchema }[]
---@param options? table  additionalProperties, patternProperties, minProperties, ..., annotations
---@return operations.JsonSchema
function type_builder.object(properties, options)
  local schema = { type = "object", properties = object() }
  local required, names = array(), nil
  properties = check("object", "properties", "table", properties or {})
  if type(properties[1]) == "table" and getmetatable(properties[1]) ~= optional_mt and properties[1][1] ~= nil then
    properties, names = listed(properties)
    property_order.set(schema.properties, names)
  end
  local function add(name, given)
    local property_schema, is_needed = property(name, given)
    schema.properties[name], required[#required + 1] = property_schema, is_needed and name or nil
  end
  if names then
    for _, name in ipairs(names) do
      add(name, properties[name])
    end
  else
    for name, given in pairs(properties) do
      add(name, given)
    end
    table.sort(required)
  end
  schema.required = #required > 0 and required or nil
  return apply("object", schema, options, object_keywords)
end

--- An object with any keys, whose values all follow one schema.
---@param values operations.JsonSchema
---@param options? table  propertyNames, minProperties, ..., annotations
---@return operations.JsonSchema
function type_builder.map(values, options)
  local schema = { type = "object", additionalProperties = check("map", "argument 1", "schema", values) }
  return apply("map", schema, options, object_keywords)
end

--- A schema of arrays.
---@param items? operations.JsonSchema  of every item; default: any
---@param options? table  minItems, maxItems, uniqueItems, contains, ..., annotations
---@return operations.JsonSchema
function type_builder.array(items, options)
  local schema = { type = "array" }
  if items ~= nil then
    schema.items = check("array", "argument 1", "schema", items)
  end
  return apply("array", schema, options, array_keywords)
end

--- An array with one schema per place, and no further items unless option `items` has their schema.
---@param schemas operations.JsonSchema[]
---@param options? table  as for `array`, and items
---@return operations.JsonSchema
function type_builder.tuple(schemas, options)
  local places = schema_list("tuple", schemas)
  local schema = { type = "array", prefixItems = places, items = false, minItems = #places }
  return apply("tuple", schema, options, tuple_keywords)
end

--- The JSON type that all `values` share, or nil.
local function common_type(values)
  local kind = core.kind(values[1])
  for _, value in ipairs(values) do
    if core.kind(value) ~= kind then
      return nil
    end
  end
  return kind
end

--- One of the listed values; sets `type` when they share one.
---@param values any[]
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.enum(values, options)
  check("enum", "argument 1", "list", values)
  if #values == 0 then
    misuse("enum", "argument 1: expected at least one value")
  end
  local schema = { type = common_type(values), enum = array(members.merged(values)) }
  return apply("enum", schema, options, annotations)
end

--- Exactly this value.
---@param value any  not nil; `operations.null` for JSON's null
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.const(value, options)
  if value == nil then
    misuse("const", "argument 1: expected a value, got nil (null is operations.null)")
  end
  return apply("const", { const = value }, options, annotations)
end

local combined = { any_of = "anyOf", one_of = "oneOf", all_of = "allOf" }
for name, keyword in pairs(combined) do
  --- A schema of values that fit any, exactly one, or all of these schemas.
  ---@param schemas operations.JsonSchema[]  at least one
  ---@param options? table  annotations; for `all_of` also keywords of objects
  ---@return operations.JsonSchema
  type_builder[name] = function(schemas, options)
    return apply(name, { [keyword] = schema_list(name, schemas) }, options,
      name == "all_of" and object_keywords or annotations)
  end
end

--- The schema, or null.
---@param schema operations.JsonSchema
---@return operations.JsonSchema
function type_builder.nullable(schema)
  local copy = copy_schema("nullable", "argument 1", schema)
  if type(copy.type) == "string" and copy.enum == nil and copy.const == nil then
    copy.type = array({ copy.type, "null" })
    return copy
  end
  return { anyOf = array({ schema, { type = "null" } }), default = copy.default }
end

--- A reference: `"#/$defs/Task"` within one schema, or the URI of another.
---@param uri string
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.ref(uri, options)
  return apply("ref", { ["$ref"] = check("ref", "argument 1", "string", uri) }, options, annotations)
end

--- A property that may be left out. Only `T.object` accepts it.
---@param schema operations.JsonSchema
---@return table
function type_builder.optional(schema)
  return setmetatable(copy_schema("optional", "argument 1", schema), optional_mt)
end

--- The schema with a default; the property may be left out.
---@param schema operations.JsonSchema
---@param value any  not nil
---@return operations.JsonSchema
function type_builder.default(schema, value)
  if value == nil then
    misuse("default", "argument 2: expected a value, got nil")
  end
  local copy = copy_schema("default", "argument 1", schema)
  copy.default = value
  return copy
end

type_builder.union = type_builder.any_of
type_builder.literal = type_builder.const
type_builder.record = type_builder.map

local names = {}
for i, name in ipairs(members.names(type_builder)) do
  names[i] = "T." .. name
end

return setmetatable(type_builder, { __index = function(_, name)
  misuse(tostring(name), "no such type%s", suggestion.behind("T." .. tostring(name), names))
end })
