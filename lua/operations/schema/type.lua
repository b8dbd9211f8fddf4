--- Builds JSON Schema (draft 2020-12) as plain Lua tables: `T.object{ title = T.string{ minLength = 1 } }`.
--- What comes out is data, not a class: it can be printed as JSON, changed, or mixed with schemas written by hand.
local core = require("operations.core")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local type_options = require("operations.schema.type_options")

local apply, check, misuse = type_options.apply, type_options.check, type_options.misuse
local optional_mt = type_options.optional_mt
local array, object = marked.array, marked.object

---@class operations.type
local type_builder = {}

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

---@param options? table  minLength, maxLength, pattern, format, content..., annotations
---@return operations.JsonSchema
function type_builder.string(options)
  return apply("string", { type = "string" }, options, type_options.string)
end

---@param options? table  minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format, annotations
---@return operations.JsonSchema
function type_builder.integer(options)
  return apply("integer", { type = "integer" }, options, type_options.number)
end

---@param options? table  as for `integer`
---@return operations.JsonSchema
function type_builder.number(options)
  return apply("number", { type = "number" }, options, type_options.number)
end

---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.boolean(options)
  return apply("boolean", { type = "boolean" }, options, type_options.annotations)
end

---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.null(options)
  return apply("null", { type = "null" }, options, type_options.annotations)
end

--- A schema that accepts every value.
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.any(options)
  return apply("any", object(), options, type_options.annotations)
end

local function property_name(name)
  if type(name) ~= "string" then
    misuse("object", "property names: expected strings, got %s", type(name))
  end
  return name
end

--- The schema of one property, and whether an object must have it.
local function property(name, schema)
  if getmetatable(schema) == optional_mt then
    return object(members.merged(schema)), false
  end
  check("object", ("property %q"):format(name), "schema", schema)
  return schema, schema == true or schema == false or schema.default == nil
end

--- An object. Every property is required unless it is `T.optional(...)` or has a default.
---@param properties? table<string, operations.JsonSchema>
---@param options? table  additionalProperties, patternProperties, minProperties, ..., annotations
---@return operations.JsonSchema
function type_builder.object(properties, options)
  local schema = { type = "object", properties = object() }
  local required = array()
  for name, given in pairs(check("object", "properties", "table", properties or {})) do
    local property_schema, needed = property(property_name(name), given)
    schema.properties[name] = property_schema
    if needed then
      required[#required + 1] = name
    end
  end
  table.sort(required)
  schema.required = #required > 0 and required or nil
  return apply("object", schema, options, type_options.object)
end

--- An object with any keys, whose values all follow one schema.
---@param values operations.JsonSchema
---@param options? table  propertyNames, minProperties, ..., annotations
---@return operations.JsonSchema
function type_builder.map(values, options)
  local schema = { type = "object", additionalProperties = check("map", "argument 1", "schema", values) }
  return apply("map", schema, options, type_options.object)
end

---@param items? operations.JsonSchema  of every item; any when left out
---@param options? table  minItems, maxItems, uniqueItems, contains, ..., annotations
---@return operations.JsonSchema
function type_builder.array(items, options)
  local schema = { type = "array" }
  if items ~= nil then
    schema.items = check("array", "argument 1", "schema", items)
  end
  return apply("array", schema, options, type_options.array)
end

--- An array with one schema per place, and no further items unless option `items` says of which schema.
---@param schemas operations.JsonSchema[]
---@param options? table  as for `array`, and items
---@return operations.JsonSchema
function type_builder.tuple(schemas, options)
  local places = schema_list("tuple", schemas)
  local schema = { type = "array", prefixItems = places, items = false, minItems = #places }
  return apply("tuple", schema, options, type_options.tuple)
end

--- The one JSON type that all `values` have, or nil.
local function common_type(values)
  local kind = core.kind(values[1])
  for _, value in ipairs(values) do
    if core.kind(value) ~= kind then
      return nil
    end
  end
  return kind
end

--- One of the listed values; its `type` is set when they share one.
---@param values any[]
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.enum(values, options)
  check("enum", "argument 1", "list", values)
  if #values == 0 then
    misuse("enum", "argument 1: expected at least one value")
  end
  local schema = { type = common_type(values), enum = array(members.merged(values)) }
  return apply("enum", schema, options, type_options.annotations)
end

--- Exactly this value.
---@param value any  not nil; `operations.null` for JSON's null
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.const(value, options)
  if value == nil then
    misuse("const", "argument 1: expected a value, got nil (null is operations.null)")
  end
  return apply("const", { const = value }, options, type_options.annotations)
end

--- At least one of the schemas.
---@param schemas operations.JsonSchema[]
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.any_of(schemas, options)
  return apply("any_of", { anyOf = schema_list("any_of", schemas) }, options, type_options.annotations)
end

--- Exactly one of the schemas.
---@param schemas operations.JsonSchema[]
---@param options? table  annotations
---@return operations.JsonSchema
function type_builder.one_of(schemas, options)
  return apply("one_of", { oneOf = schema_list("one_of", schemas) }, options, type_options.annotations)
end

--- All of the schemas.
---@param schemas operations.JsonSchema[]
---@param options? table  annotations, unevaluatedProperties
---@return operations.JsonSchema
function type_builder.all_of(schemas, options)
  return apply("all_of", { allOf = schema_list("all_of", schemas) }, options, type_options.object)
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
  return apply("ref", { ["$ref"] = check("ref", "argument 1", "string", uri) }, options, type_options.annotations)
end

--- A property that may be left out. Only `T.object` takes it.
---@param schema operations.JsonSchema
---@return table
function type_builder.optional(schema)
  return setmetatable(copy_schema("optional", "argument 1", schema), optional_mt)
end

--- The schema with a value that is filled in when the property is left out, which it may be.
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

type_options.hide(1)

return type_builder
