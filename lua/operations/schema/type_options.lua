--- What the type builder accepts: the keywords of each type, the form of their values, and the complaints.
local core = require("operations.core")
local marked = require("operations.base.marked")
local members = require("operations.base.members")

local type_options = {}

--- Marks what `T.optional` made until `T.object` takes it in; nothing else accepts it.
type_options.optional_mt = { __name = "operations.optional" }

local function is_count(value)
  return type(value) == "number" and value >= 0 and value == math.floor(value)
end

local function is_schema(value)
  if type(value) == "boolean" then
    return true
  end
  return type(value) == "table" and getmetatable(value) ~= type_options.optional_mt and core.kind(value) == "object"
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

--- What an option may hold: a test and its name for people.
local forms = {
  any = { function() return true end, "any value" },
  boolean = { function(value) return type(value) == "boolean" end, "a boolean" },
  count = { is_count, "a whole number of at least 0" },
  list = { marked.may_be_list, "a list" },
  map = { is_schema_map, "a table of schemas by name" },
  number = { function(value) return type(value) == "number" and value == value end, "a number" },
  schema = { is_schema, "a schema" },
  string = { function(value) return type(value) == "string" end, "a string" },
  table = { function(value) return type(value) == "table" end, "a table" },
}

type_options.annotations = {
  title = "string", description = "string", default = "any", examples = "list", deprecated = "boolean",
  readOnly = "boolean", writeOnly = "boolean", ["$id"] = "string", ["$schema"] = "string", ["$anchor"] = "string",
  ["$dynamicAnchor"] = "string", ["$comment"] = "string", ["$defs"] = "map",
}

type_options.string = members.merged(type_options.annotations, {
  minLength = "count", maxLength = "count", pattern = "string", format = "string", contentEncoding = "string",
  contentMediaType = "string", contentSchema = "schema",
})

type_options.number = members.merged(type_options.annotations, {
  minimum = "number", maximum = "number", exclusiveMinimum = "number", exclusiveMaximum = "number",
  multipleOf = "number", format = "string",
})

type_options.object = members.merged(type_options.annotations, {
  additionalProperties = "schema", patternProperties = "map", propertyNames = "schema", minProperties = "count",
  maxProperties = "count", dependentRequired = "table", dependentSchemas = "map", unevaluatedProperties = "schema",
})

type_options.array = members.merged(type_options.annotations, {
  minItems = "count", maxItems = "count", uniqueItems = "boolean", contains = "schema", minContains = "count",
  maxContains = "count", unevaluatedItems = "schema",
})

type_options.tuple = members.merged(type_options.array, { items = "schema" })

--- Functions of this chunk and of the type builder are not where the mistake is.
local own_sources = {}

---@param level integer  of the stack: code of the chunk to leave out of error positions
function type_options.hide(level)
  own_sources[debug.getinfo(level + 1, "S").source] = true
end

--- Raises an error at the line that called builder function `name`.
---@param name string
---@param format string
function type_options.misuse(name, format, ...)
  local level = 2
  local frame = debug.getinfo(level, "S")
  while frame and own_sources[frame.source] do
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
  elseif getmetatable(value) == type_options.optional_mt then
    kind = "T.optional(...), which only a property of T.object can be"
  end
  return ("expected %s, got %s"):format(forms[form][2], kind)
end

--- The value, when it is of a form; else raises.
---@param name string  of the builder function
---@param argument string  what the value is, for the message
---@param form string  one of `forms`
---@param value any
---@return any value
function type_options.check(name, argument, form, value)
  if not forms[form][1](value) then
    type_options.misuse(name, "%s: %s", argument, wanted(form, value))
  end
  return value
end

--- The keyword that differs from `key` only in case, "_" or "-".
local function similar(allowed, key)
  local plain = key:gsub("[_-]", ""):lower()
  for keyword in pairs(allowed) do
    if keyword:lower() == plain then
      return keyword
    end
  end
end

local function unknown_option(name, allowed, key)
  local keyword = type(key) == "string" and similar(allowed, key)
  local hint = keyword and (", did you mean %q?"):format(keyword) or ""
  type_options.misuse(name, "unknown option %q%s", tostring(key), hint)
end

--- Copies checked `options` into `schema`. Keys that begin with "x-" are the user's own.
---@param name string  of the builder function
---@param schema table
---@param options? table
---@param allowed table<string, string>  form by keyword
---@return table schema
function type_options.apply(name, schema, options, allowed)
  if options ~= nil and (type(options) ~= "table" or getmetatable(options) == type_options.optional_mt) then
    type_options.misuse(name, "options: %s", wanted("table", options))
  end
  for key, value in pairs(options or {}) do
    if allowed[key] then
      schema[key] = type_options.check(name, ("option %q"):format(key), allowed[key], value)
    elseif type(key) == "string" and key:find("^x%-") then
      schema[key] = value
    else
      unknown_option(name, allowed, key)
    end
  end
  return schema
end

type_options.hide(1)

return type_options
