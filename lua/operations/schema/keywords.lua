--- The keywords of JSON Schema 2020-12, with older ones and those of OpenAPI: what each takes, and its words for people
--- and for models. How a keyword is compiled and checked is in C (src/schema/program/keyword.h).

---@class operations.schema.Keyword
---@field name string
---@field shape operations.schema.Shape  the form of its value
---@field vocabulary? string  of 2020-12, or "openapi"; nil: a keyword of older drafts
---@field of? string  the types that it restricts or describes; nil: all
---@field option? boolean  the functions of `operations.type` take it as an option
---@field version30? boolean  the Schema Object of OpenAPI 3.0 has it
---@field parameter20? boolean  parameters and headers of Swagger 2.0 have it
---@field unit? string  what its number counts, in the singular
---@field upper? string  the keyword for the highest number, of one for the lowest
---@field person? string  words for people, where `upper` is nil; "%s" is the value
---@field model? string  words for models; "%s" is the value

---@alias operations.schema.Shape
---| "any" # any value
---| "boolean"
---| "count" # an integer of at least 0
---| "list" # an array of anything
---| "map" # an object of schemas
---| "name_map" # an object of arrays of strings
---| "names" # an array of strings
---| "number"
---| "object"
---| "pattern" # a regular expression
---| "pattern_map" # an object of schemas, by patterns
---| "positive" # a number above 0
---| "schema"
---| "schemas" # an array of schemas
---| "string"
---| "type" # the name of a type, or an array of them

local keywords = {}

-- Adds the rows of a vocabulary: { name, shape, facts... }.
local function add(vocabulary, rows)
  for _, row in ipairs(rows) do
    row.name, row.shape, row[1], row[2] = row[1], row[2], nil, nil
    row.vocabulary = vocabulary
    keywords[#keywords + 1] = row
  end
end

-- In the order of descriptions.
add("validation", {
  { "type", "type", version30 = true, parameter20 = true },
  { "const", "any", model = "always %s" },
  { "enum", "list", version30 = true, parameter20 = true, model = "one of %s" },
  { "minLength", "count", of = "string", option = true, version30 = true, parameter20 = true, model = "at least %s",
    upper = "maxLength", unit = "character" },
  { "maxLength", "count", of = "string", option = true, version30 = true, parameter20 = true, model = "at most %s",
    unit = "character" },
  { "minimum", "number", of = "number", option = true, version30 = true, parameter20 = true, model = "at least %s",
    upper = "maximum" },
  { "exclusiveMinimum", "number", of = "number", option = true, version30 = true, parameter20 = true,
    person = "more than %s", model = "above %s" },
  { "maximum", "number", of = "number", option = true, version30 = true, parameter20 = true, model = "at most %s" },
  { "exclusiveMaximum", "number", of = "number", option = true, version30 = true, parameter20 = true,
    person = "less than %s", model = "below %s" },
  { "multipleOf", "positive", of = "number", option = true, version30 = true, parameter20 = true,
    person = "a multiple of %s", model = "a multiple of %s" },
  { "minItems", "count", of = "array", option = true, version30 = true, parameter20 = true, model = "at least %s",
    upper = "maxItems", unit = "item" },
  { "maxItems", "count", of = "array", option = true, version30 = true, parameter20 = true, model = "at most %s",
    unit = "item" },
  { "uniqueItems", "boolean", of = "array", option = true, version30 = true, parameter20 = true,
    person = "all different", model = "no item twice" },
  { "minProperties", "count", of = "object", option = true, version30 = true, model = "at least %s",
    upper = "maxProperties", unit = "member" },
  { "maxProperties", "count", of = "object", option = true, version30 = true, model = "at most %s", unit = "member" },
})
add("format", {
  { "format", "string", of = "string number", option = true, version30 = true, parameter20 = true, person = "%s",
    model = "format %s" },
})
add("validation", {
  { "pattern", "pattern", of = "string", option = true, version30 = true, parameter20 = true, person = "matching %s",
    model = "matches the pattern %s" },
})
add("content", {
  { "contentEncoding", "string", of = "string", option = true, model = "encoded as %s" },
  { "contentMediaType", "string", of = "string", option = true, model = "of the media type %s" },
})
add("meta-data", {
  { "default", "any", option = true, version30 = true, parameter20 = true, person = "default %s",
    model = "default %s" },
  { "examples", "list", option = true, model = "examples %s" },
})
add("openapi", {
  { "example", "any", version30 = true, model = "example %s" },
})
add("applicator", {
  { "anyOf", "schemas", version30 = true, model = "anyOf: %s" },
  { "oneOf", "schemas", version30 = true, model = "oneOf: %s" },
  { "allOf", "schemas", version30 = true, model = "allOf: %s" },
  { "not", "schema", version30 = true, model = "not: %s" },
  { "if", "schema", model = "if: %s" },
  { "then", "schema", model = "then: %s" },
  { "else", "schema", model = "else: %s" },
  { "contains", "schema", of = "array", option = true, model = "contains: %s" },
})
add("validation", {
  { "minContains", "count", of = "array", option = true, model = "minContains: %s" },
  { "maxContains", "count", of = "array", option = true, model = "maxContains: %s" },
  { "dependentRequired", "name_map", of = "object", option = true, model = "dependentRequired: %s" },
})
add("applicator", {
  { "dependentSchemas", "map", of = "object", option = true, model = "dependentSchemas: %s" },
})
add(nil, {
  { "dependencies", "map", model = "dependencies: %s" }, -- values may be arrays of names
})
add("applicator", {
  { "propertyNames", "schema", of = "object", option = true, model = "propertyNames: %s" },
})
add("unevaluated", {
  { "unevaluatedProperties", "schema", of = "object", option = true, model = "unevaluatedProperties: %s" },
  { "unevaluatedItems", "schema", of = "array", option = true, model = "unevaluatedItems: %s" },
})
add("content", {
  { "contentSchema", "schema", of = "string", option = true, model = "contentSchema: %s" },
})

-- Descriptions show these by the structure of the schema.
add("validation", {
  { "required", "names", of = "object", version30 = true },
})
add("applicator", {
  { "properties", "map", of = "object", version30 = true },
  { "patternProperties", "pattern_map", of = "object", option = true },
  { "additionalProperties", "schema", of = "object", option = true, version30 = true },
  { "items", "schema", of = "array", version30 = true, parameter20 = true }, -- an array of schemas in older drafts
  { "prefixItems", "schemas", of = "array" },
})
add(nil, {
  { "additionalItems", "schema", of = "array" },
  { "definitions", "map" },
})
add("meta-data", {
  { "title", "string", option = true, version30 = true },
  { "description", "string", option = true, version30 = true },
  { "deprecated", "boolean", option = true, version30 = true, person = "deprecated" },
  { "readOnly", "boolean", option = true, version30 = true },
  { "writeOnly", "boolean", option = true, version30 = true },
})
add("core", {
  { "$id", "string", option = true },
  { "$schema", "string", option = true },
  { "$anchor", "string", option = true },
  { "$dynamicAnchor", "string", option = true },
  { "$ref", "string" },
  { "$dynamicRef", "string" },
  { "$comment", "string", option = true },
  { "$defs", "map", option = true },
})
add("openapi", {
  { "nullable", "boolean", version30 = true },
  { "x-nullable", "boolean", parameter20 = true },
  { "discriminator", "object", version30 = true },
  { "xml", "object", version30 = true },
  { "externalDocs", "object", version30 = true },
})

local checked = { applicator = true, unevaluated = true, validation = true, format = true }

--- Does 2020-12 decide by this keyword whether values are valid?
---@param row operations.schema.Keyword
---@return boolean
function keywords.is_checked(row)
  return checked[row.vocabulary] == true
end

local held = { schema = "one", schemas = "many", map = "many", pattern_map = "many" }

--- Does the value of this keyword hold a schema ("one"), or several as its members ("many")?
---@param row operations.schema.Keyword
---@return "one"|"many"|nil
function keywords.holds(row)
  return held[row.shape]
end

--- The names of keywords with a property, as a set.
---@param wanted fun(row: operations.schema.Keyword): any
---@return table<string, any>  what `wanted` returned, where it is neither nil nor false
function keywords.where(wanted)
  local found = {}
  for _, row in ipairs(keywords) do
    found[row.name] = wanted(row) or nil
  end
  return found
end

local scalar = { boolean = true, count = true, number = true, pattern = true, positive = true, string = true }

local shapes = keywords.where(function(row)
  return row.shape
end)

-- A table is no value of `title`, but may be a property of that name.
local function has_keyword(schema)
  for name, value in pairs(schema) do
    if shapes[name] and not (scalar[shapes[name]] and type(value) == "table") then
      return true
    end
  end
  return false
end

--- Is this what the members of an object would be, `{ n = T.integer() }`, given where the schema of the object belongs?
--- As a schema it accepts everything: it has no keyword.
---@param value any
---@return boolean
function keywords.is_members(value)
  if type(value) ~= "table" or next(value) == nil or has_keyword(value) then
    return false
  end
  for name, member in pairs(value) do
    if type(name) ~= "string" or name:find("^x%-") or type(member) ~= "table" or not has_keyword(member) then
      return false
    end
  end
  return true
end

return keywords
