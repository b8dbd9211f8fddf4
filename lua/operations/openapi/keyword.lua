--- The keywords of a schema object: their valid values (a wrong keyword in a document must not cost the operation),
--- OpenAPI 3.0's keywords as 2020-12, and properties for one direction only.
local core = require("operations.core")
local json = require("operations.base.json")
local keywords = require("operations.schema.keywords")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local schemas = require("operations.schema")

local keyword = {}

local types = {
  null = true, boolean = true, integer = true, number = true, string = true, array = true, object = true,
}

local function is_a(kind)
  return function(value)
    return type(value) ~= kind and "a " .. kind
  end
end

local function is_count(value)
  return (type(value) ~= "number" or value < 0 or value % 1 ~= 0) and "an integer from 0"
end

local function is_divisor(value)
  return (type(value) ~= "number" or value <= 0) and "a number above 0"
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

-- Whether patterns can be compiled; each is tried once.
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

local of_shapes = {
  any = function() end, boolean = is_a("boolean"), count = is_count, list = is_list, map = is_map, name_map = is_map,
  names = is_names, number = is_a("number"), pattern = is_pattern, pattern_map = is_pattern_map, positive = is_divisor,
  schema = is_schema, schemas = is_schemas, string = is_a("string"), type = is_type,
}

local rules = keywords.where(function(row)
  return keywords.is_checked(row) and of_shapes[row.shape]
end)

--- The error in a keyword's value, or nil.
---@param name string
---@param value any
---@return string|false|nil expected  the expected value, if it is wrong
function keyword.expected(name, value)
  local rule = rules[name]
  return rule and rule(value)
end

local texts = { ["true"] = true, ["false"] = false }

-- A member of an enum as a value of one of these types, if it can be told without loss: "1" as 1, 4.1 as "4.1".
local function as_type(member, allowed)
  local kind = core.kind(member)
  if allowed[kind] or kind == "integer" and allowed.number then
    return member
  elseif type(member) == "number" or type(member) == "boolean" then
    return allowed.string and json.encode(member) or nil
  elseif type(member) ~= "string" then
    return nil
  end
  local number = (allowed.integer or allowed.number) and json.decode(member)
  if type(number) == "number" and (allowed.number or core.kind(number) == "integer") then
    return number
  end
  return allowed.boolean and texts[member]
end

--- The members of an enum, of which those of another type than the schema's are read as values of that type.
---@param schema table
---@return any[]? enum  nil if all members have the type, or cannot be read so
function keyword.typed_enum(schema)
  local allowed = members.set(type(schema.type) == "table" and schema.type or { schema.type })
  local enum, changed = {}, false
  for i, member in ipairs(schema.enum) do
    local value = as_type(member, allowed)
    enum[i] = value == nil and member or value
    changed = changed or enum[i] ~= member
  end
  return changed and members.mark(enum, schema.enum) or nil
end

-- Keywords that restrict a value without other schemas.
local own_keywords = keywords.where(function(row)
  return keywords.is_checked(row) and not keywords.holds(row)
end)

--- The reason why a schema's default does not fit that schema ("10" for an integer, null for a string, a value missing
--- from its enum); nil when it fits, or that is unknown. Filling in such a default would make calls fail.
---@param definition table  in 2020-12
---@param way operations.openapi.Direction  formats are checked only in what is sent
---@return string? message
function keyword.default_misfit(definition, way)
  local own = {}
  for key in pairs(own_keywords) do
    own[key] = definition[key]
  end
  local compiled = schemas.compile(own, { formats = way ~= "output" })
  local ok, issues = true, nil
  if compiled then
    ok, issues = compiled:check(definition.default)
  end
  return not ok and issues[1].message or nil
end

-- OpenAPI 3.0's dialect as JSON Schema 2020-12: `nullable` (`x-nullable` in 2.0), boolean `exclusiveMinimum`.

local function with_null(values)
  local list = {}
  for i, value in ipairs(values) do
    if value == core.null or value == "null" then
      return values
    end
    list[i] = value
  end
  return list
end

--- `nullable` beside `type` adds a type. Beside references and enums it also adds null, regardless of later revisions
--- of 3.0, as servers send null.
local function allow_null(schema)
  if type(schema.enum) == "table" then
    local enum = with_null(schema.enum)
    if enum ~= schema.enum then
      enum[#enum + 1] = core.null
      schema.enum = enum
    end
  end
  if type(schema.type) == "string" then
    schema.type = { schema.type, "null" }
  elseif type(schema.type) == "table" then -- 3.1
    schema.type = members.contains(schema.type, "null") and schema.type or members.joined(schema.type, { "null" })
  elseif schema.allOf or schema.anyOf or schema.oneOf or schema["$ref"] then
    local inner = {}
    for _, key in ipairs({ "$ref", "allOf", "anyOf", "oneOf", "not" }) do
      inner[key], schema[key] = schema[key], nil
    end
    schema.anyOf = { { type = "null" }, inner }
  end
end

local function exclusive(schema, flag, limit)
  if schema[flag] == true then
    schema[flag], schema[limit] = schema[limit], nil
  elseif schema[flag] == false then
    schema[flag] = nil
  end
end

--- Has this schema keywords that `convert` changes? Boolean bounds are invalid in later versions but mean the same.
---@param schema table
---@return boolean
function keyword.is_old(schema)
  return schema.nullable ~= nil or schema["x-nullable"] ~= nil or schema["$dynamicRef"] ~= nil
    or type(schema.exclusiveMinimum) == "boolean"
    or type(schema.exclusiveMaximum) == "boolean"
end

--- Converts one schema object (without nested ones) from 3.0's dialect to 2020-12.
---@param schema table  a copy that may be changed
function keyword.convert(schema)
  if schema.nullable == true or schema["x-nullable"] == true then
    allow_null(schema)
  end
  schema.nullable = nil
  exclusive(schema, "exclusiveMinimum", "minimum")
  exclusive(schema, "exclusiveMaximum", "maximum")
  -- The schema is standalone: a `$dynamicRef` has no other target.
  schema["$ref"], schema["$dynamicRef"] = schema["$ref"] or schema["$dynamicRef"], nil
end

---@alias operations.openapi.Direction
---| "input"   # what is sent: without readOnly properties
---| "patch"   # as input without `default`: omitted members must stay unchanged
---| "output"  # what is returned: without writeOnly properties

local hidden_by = { input = "readOnly", patch = "readOnly", output = "writeOnly" }

-- Calls a function with a schema and each that `$ref` and `allOf` apply to the same value, until it returns true.
local function each_applied(source, node, file, fn, seen)
  if type(node) ~= "table" or seen[node] then
    return false
  elseif fn(node, file) then
    return true
  end
  seen[node] = true
  local place = type(node["$ref"]) == "string" and source:lookup(node["$ref"], file)
  if place and each_applied(source, place.node, place.file, fn, seen) then
    return true
  end
  for _, schema in ipairs(type(node.allOf) == "table" and node.allOf or {}) do
    if each_applied(source, schema, file, fn, seen) then
      return true
    end
  end
  return false
end

-- Is this property for the other direction only? What it refers to or combines may say so.
local function is_hidden(source, property, file, flag)
  if type(property) ~= "table" or property["$ref"] == nil and property.allOf == nil then
    return type(property) == "table" and property[flag] == true
  end
  return each_applied(source, property, file, function(schema)
    return schema[flag] == true
  end, {})
end

--- The properties for the other direction only, of a schema and of those that it applies to the same value.
---@param source operations.openapi.Document
---@param node table  a schema, as in the document
---@param file operations.openapi.File  that contains it
---@param way operations.openapi.Direction
---@param known? table<string, boolean>  of the schemas around it
---@return table<string, boolean>? gone  nil without any
function keyword.hidden(source, node, file, way, known)
  local gone = known
  each_applied(source, node, file, function(schema, from)
    for key, property in pairs(type(schema.properties) == "table" and schema.properties or {}) do
      if not (gone and gone[key]) and is_hidden(source, property, from, hidden_by[way]) then
        gone = members.merged(gone, { [key] = true })
      end
    end
  end, {})
  return gone
end

--- Does a schema, or one that it applies to the same value, have or require one of these properties, without saying
--- itself that it is for the other direction only?
---@param source operations.openapi.Document
---@param place operations.openapi.Place
---@param way operations.openapi.Direction
---@param names table<string, boolean>
---@return boolean
function keyword.concerns(source, place, way, names)
  local own = keyword.hidden(source, place.node, place.file, way) or {}
  return each_applied(source, place.node, place.file, function(schema)
    for key in pairs(type(schema.properties) == "table" and schema.properties or {}) do
      if names[key] and not own[key] then
        return true
      end
    end
    for _, key in ipairs(type(schema.required) == "table" and schema.required or {}) do
      if names[key] and not own[key] then
        return true
      end
    end
  end, {})
end

--- Removes properties from a schema and from its `required`.
---@param schema table  a copy that may be changed
---@param gone table<string, boolean>
function keyword.remove(schema, gone)
  if schema.properties then
    schema.properties = property_order.carry(members.copy(schema.properties), schema.properties)
  end
  for key in pairs(schema.properties and gone or {}) do
    schema.properties[key] = nil
  end
  local required = {}
  for _, key in ipairs(type(schema.required) == "table" and schema.required or {}) do
    required[#required + 1] = not gone[key] and key or nil
  end
  schema.required = #required > 0 and required or nil
end

return keyword
