--- Writes a JSON Schema for people: one line per property, nested objects indented.
local json = require("operations.json")

local schema_text = {}

-- Deeper objects are named only; `describe --json` has everything.
local MAX_DEPTH = 6

local type_text

--- Follows a local reference ("#/$defs/Task") in `root`; returns the schema and the reference's last name.
local function resolve(root, reference)
  local found = root
  for token in reference:gmatch("/([^/]*)") do
    found = type(found) == "table" and found[(token:gsub("~1", "/"):gsub("~0", "~"))] or nil
  end
  return reference:sub(1, 1) == "#" and found or nil, reference:match("([^/#]*)$")
end

local function joined(root, schemas, separator)
  local parts = {}
  for i, schema in ipairs(schemas) do
    parts[i] = type_text(root, schema)
  end
  return table.concat(parts, separator)
end

local function literal(value)
  return json.encode(value, { sort_keys = true }) or tostring(value)
end

local function literals(values)
  local parts = {}
  for i, value in ipairs(values) do
    parts[i] = literal(value)
  end
  return table.concat(parts, " | ")
end

local function array_text(root, schema)
  if schema.prefixItems then
    return "[" .. joined(root, schema.prefixItems, ", ") .. "]"
  end
  local items = schema.items and type_text(root, schema.items) or "any"
  return items:find("[ |]") and ("(%s)[]"):format(items) or items .. "[]"
end

--- The `type` keyword: a name or a list of them.
local function named_type(root, schema)
  if type(schema.type) == "table" then
    local parts = {}
    for i, name in ipairs(schema.type) do
      parts[i] = name == "array" and array_text(root, schema) or name
    end
    return table.concat(parts, " | ")
  end
  local name = schema.type or (schema.properties and "object") or (schema.items and "array") or "any"
  return name == "array" and array_text(root, schema) or name
end

--- The type of a schema in a few words: `string`, `"low" | "high"`, `Task[]`.
function type_text(root, schema)
  if type(schema) ~= "table" then
    return schema == false and "nothing" or "any"
  elseif schema["$ref"] then
    local target, name = resolve(root, schema["$ref"])
    return name ~= "" and name or target and target.title or "the whole schema"
  elseif schema.enum then
    return literals(schema.enum)
  elseif schema.const ~= nil then
    return literal(schema.const)
  elseif schema.anyOf or schema.oneOf then
    return joined(root, schema.anyOf or schema.oneOf, " | ")
  elseif schema.allOf and not schema.type and not schema.properties then
    return joined(root, schema.allOf, " & ")
  end
  return named_type(root, schema)
end

local function range(low, high, unit)
  if low and high then
    return ("%s to %s%s"):format(low, high, unit)
  elseif low or high then
    local only = low or high
    return ("%s %s%s"):format(low and "at least" or "at most", only, only == "1" and unit:gsub("s$", "") or unit)
  end
end

local function number(value)
  return type(value) == "number" and ("%.14g"):format(value) or nil
end

--- What a value must satisfy beyond its type, in words.
local function limits(schema)
  local all = {
    range(number(schema.minLength), number(schema.maxLength), " characters") or "",
    range(number(schema.minItems), number(schema.maxItems), " items") or "",
    range(number(schema.minimum), number(schema.maximum), "") or "",
    schema.exclusiveMinimum and "more than " .. tostring(schema.exclusiveMinimum) or "",
    schema.exclusiveMaximum and "less than " .. tostring(schema.exclusiveMaximum) or "",
    schema.multipleOf and "a multiple of " .. tostring(schema.multipleOf) or "",
    schema.uniqueItems and "all different" or "",
    schema.format or "",
    schema.pattern and "matching " .. schema.pattern or "",
    schema.default ~= nil and "default " .. literal(schema.default) or "",
    schema.deprecated and "deprecated" or "",
  }
  local words = {}
  for _, text in ipairs(all) do
    if text ~= "" then
      words[#words + 1] = text
    end
  end
  return words
end

local function sorted_names(properties, required)
  local names = {}
  for name in pairs(properties) do
    names[#names + 1] = name
  end
  table.sort(names, function(a, b)
    if (required[a] or false) ~= (required[b] or false) then
      return required[a] or false
    end
    return a < b
  end)
  return names
end

local function set_of(list)
  local set = {}
  for _, item in ipairs(list or {}) do
    set[item] = true
  end
  return set
end

--- The schema itself, or what its reference leads to.
local function target_of(root, schema)
  for _ = 1, 32 do
    if type(schema) ~= "table" or not schema["$ref"] then
      break
    end
    schema = resolve(root, schema["$ref"])
  end
  return type(schema) == "table" and schema or {}
end

--- The object schema whose properties are worth a list below this line, if any.
local function nested_object(root, schema)
  local target = target_of(root, schema)
  if target.items then
    target = target_of(root, target.items)
  end
  return target.properties and next(target.properties) and target or nil
end

local add_properties

local function add_property(state, name, schema, required, indent, width)
  local words = type(schema) == "table" and limits(schema) or {}
  if required then
    table.insert(words, 1, "required")
  end
  local line = ("%s%s%s  %s"):format(indent, name, (" "):rep(width - #name), type_text(state.root, schema))
  if #words > 0 then
    line = line .. ", " .. table.concat(words, ", ")
  end
  state.lines[#state.lines + 1] = line
  local description = type(schema) == "table" and schema.description
  if type(description) == "string" then
    state.lines[#state.lines + 1] = indent .. (" "):rep(width + 2) .. description:gsub("%s*\n%s*", " ")
  end
  local object = nested_object(state.root, schema)
  if object then
    add_properties(state, object, indent .. "  ")
  end
end

function add_properties(state, object, indent)
  if state.inside[object] or #indent > 2 * MAX_DEPTH then
    return
  end
  state.inside[object] = true
  local required, width = set_of(object.required), 0
  local names = sorted_names(object.properties, required)
  for _, name in ipairs(names) do
    width = math.max(width, #name)
  end
  for _, name in ipairs(names) do
    add_property(state, name, object.properties[name], required[name], indent, width)
  end
  state.inside[object] = nil
end

--- Describes a schema in lines, each indented by two spaces.
---@param schema table|boolean
---@return string
function schema_text.describe(schema)
  local object = nested_object(schema, schema)
  local state = { root = schema, lines = {}, inside = {} }
  if object ~= target_of(schema, schema) then
    local words = type(schema) == "table" and limits(schema) or {}
    table.insert(words, 1, type_text(schema, schema))
    state.lines[1] = "  " .. table.concat(words, ", ")
  end
  if object then
    add_properties(state, object, "  ")
  end
  return table.concat(state.lines, "\n") .. "\n"
end

return schema_text
