--- Finds the parts of a JSON Schema for a place in a value, through references and branches.
local json_pointer = require("operations.base.json_pointer")
local property_order = require("operations.base.property_order")

local schema_place = {}

local MOST = 200 -- the most schemas for one place

local combinators = { "allOf", "anyOf", "oneOf" }

-- Adds a schema and all schemas that it refers to or combines.
local function expand(root, schema, list, seen)
  if type(schema) ~= "table" or seen[schema] or #list >= MOST then
    return
  end
  seen[schema] = true
  list[#list + 1] = schema
  if type(schema["$ref"]) == "string" and schema["$ref"]:sub(1, 1) == "#" then
    expand(root, json_pointer.get(root, schema["$ref"]), list, seen)
  end
  for _, key in ipairs(combinators) do
    for _, branch in ipairs(type(schema[key]) == "table" and schema[key] or {}) do
      expand(root, branch, list, seen)
    end
  end
end

-- The schema of a member or an item.
local function child(schema, token)
  if type(token) == "number" then
    return type(schema.prefixItems) == "table" and schema.prefixItems[token + 1] or schema.items
  end
  local own = type(schema.properties) == "table" and schema.properties[token]
  return own or schema.additionalProperties
end

--- All schemas that may apply to the value at a place.
---@param root any  the whole schema
---@param tokens (string|integer)[]  names, and indices from 0
---@param ... string|integer  further tokens
---@return table[]
function schema_place.find(root, tokens, ...)
  local list = {}
  expand(root, root, list, {})
  local path = { ... }
  for i = #tokens, 1, -1 do
    table.insert(path, 1, tokens[i])
  end
  for _, token in ipairs(path) do
    local following, seen = {}, {}
    for _, schema in ipairs(list) do
      expand(root, child(schema, token), following, seen)
    end
    list = following
  end
  return list
end

--- The property names of an object at a place.
---@param root any
---@param tokens (string|integer)[]
---@return string[] names
---@return table<string, boolean> set
function schema_place.names(root, tokens)
  local names, set = {}, {}
  for _, schema in ipairs(schema_place.find(root, tokens)) do
    for _, name in ipairs(property_order.names(type(schema.properties) == "table" and schema.properties or {})) do
      if not set[name] then
        names[#names + 1], set[name] = name, true
      end
    end
  end
  return names, set
end

--- May the value at a place have this type? Without type keywords every type is allowed.
---@param schemas table[]  from `find`
---@param name string
---@return boolean
function schema_place.allows(schemas, name)
  local is_told = false
  for _, schema in ipairs(schemas) do
    local types = type(schema.type) == "table" and schema.type or { schema.type }
    for _, one in ipairs(types) do
      is_told = true
      if one == name then
        return true
      end
    end
  end
  return not is_told
end

return schema_place
