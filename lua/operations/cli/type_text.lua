--- The type of a JSON Schema in a few words, and what a value must satisfy beyond it.
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")

local type_text = {}

-- Longer types are named or counted, not spelled out.
local MAX_WIDTH = 72

--- Follows a local reference ("#/$defs/Task") in `root`; returns the schema and the reference's last name.
local function resolve(root, reference)
  local found = reference:sub(1, 1) == "#" and json_pointer.get(root, reference) or nil
  return found, reference:match("([^/#]*)$")
end

--- The schema itself, or what its reference leads to.
---@param root table|boolean
---@param schema any
---@return table
function type_text.target(root, schema)
  for _ = 1, 32 do
    if type(schema) ~= "table" or not schema["$ref"] then
      break
    end
    schema = resolve(root, schema["$ref"])
  end
  return type(schema) == "table" and schema or {}
end

local scalars = { string = true, integer = true, number = true, boolean = true, null = true }

local function joined(root, schemas, separator)
  local parts = {}
  for i, schema in ipairs(schemas) do
    parts[i] = type_text.of(root, schema)
  end
  local text = table.concat(parts, separator)
  return #text > MAX_WIDTH and separator == " | " and ("one of %d"):format(#parts) or text
end

--- Of what an object is made of, the parts that have names, where some have: the rest only adds to them.
local function named_parts(parts)
  local named = {}
  for _, part in ipairs(parts) do
    named[#named + 1] = type(part) == "table" and part["$ref"] and part or nil
  end
  return #named > 0 and named or parts
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
  local items = schema.items and type_text.of(root, schema.items) or "any"
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

--- What a reference means: scalars and lists of values are spelled out, the rest goes by its name.
local function reference_text(root, reference)
  local target, name = resolve(root, reference)
  local schema = type_text.target(root, target or {})
  local is_scalar = schema.enum or schema.const ~= nil or type(schema.type) == "string" and scalars[schema.type]
  local text = is_scalar and type_text.of(root, schema)
  if text and #text <= MAX_WIDTH then
    return text
  end
  return name ~= "" and name or target and target.title or "the whole schema"
end

--- The type of a schema in a few words: `string`, `"low" | "high"`, `Task[]`.
---@param root table|boolean  that references are relative to
---@param schema table|boolean
---@return string
function type_text.of(root, schema)
  if type(schema) ~= "table" then
    return schema == false and "nothing" or "any"
  elseif schema["$ref"] then
    return reference_text(root, schema["$ref"])
  elseif schema.enum then
    return literals(schema.enum)
  elseif schema.const ~= nil then
    return literal(schema.const)
  elseif schema.anyOf or schema.oneOf then
    return joined(root, schema.anyOf or schema.oneOf, " | ")
  elseif schema.allOf and not schema.type and not schema.properties then
    return joined(root, named_parts(schema.allOf), " & ")
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
---@param schema table
---@return string[]
function type_text.limits(schema)
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

return type_text
