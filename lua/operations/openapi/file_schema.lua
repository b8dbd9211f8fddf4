--- The JSON Schema of a body whose properties may be files: as the document has it, but a binary property takes a file
--- value beside a string.
local core = require("operations.core")
local direction = require("operations.openapi.direction")
local encoding = require("operations.openapi.encoding")
local file_value = require("operations.openapi.file_value")
local keyword = require("operations.openapi.keyword")
local members = require("operations.base.members")

local file_schema = {}

-- So many schemas that a body is combined of take files; of circles and of masses the rest is converted as it is.
local MAX_INLINED = 64

local combinators = { "allOf", "anyOf", "oneOf" }

local function copy_limits(node, copy)
  for _, key in ipairs({ "minItems", "maxItems" }) do
    copy[key] = not keyword.expected(key, node[key]) and node[key] or nil
  end
  copy.description = type(node.description) == "string" and node.description or nil
end

-- The schema of one property, in which a file may be given as such.
local function property_schema(build, place, field, way, used)
  local schema = build.converter:convert(place, way, used)
  if not encoding.may_be_file(field) then
    return schema
  end
  local file = build.files_allowed and file_value.schema or file_value.schema_without_path
  if not field.is_array then
    return file
  end
  local target = build.source:follow(place)
  local copy = { type = "array", items = file }
  copy_limits(target and target.node or {}, copy)
  return copy
end

local object_schema

-- `work` is what `object_schema` and its branches share: what they are made for, and how many there are.
local function branches_of(work, target, key)
  local list = {}
  for i, branch in ipairs(target.node[key]) do
    local pointer = target.pointer .. "/" .. key .. "/" .. i - 1
    list[i] = object_schema(work, { node = branch, file = target.file, pointer = pointer })
  end
  return list
end

-- A schema without its properties, which are not to be converted as they are.
local function converted(work, target)
  local rest, branches = members.copy(target.node), {}
  if core.kind(rest.properties) == "object" then
    rest.properties = nil -- what is none is the converter's to report
  end
  for _, key in ipairs(combinators) do
    if type(rest[key]) == "table" then
      branches[key], rest[key] = branches_of(work, target, key), nil
    end
  end
  local schema = members.copy(work.build.converter:convert(
    { node = rest, file = target.file, pointer = target.pointer }, work.way, work.used))
  for key, list in pairs(branches) do
    schema[key] = list
  end
  return schema
end

local function add_properties(work, target, schema)
  local properties = target.node.properties
  schema.properties = {}
  for name, node in pairs(properties) do
    local property = { node = node, file = target.file, pointer = target.pointer .. "/properties/" .. name }
    schema.properties[name] = property_schema(work.build, property, work.fields[name], work.way, work.used)
  end
  local gone = direction.gone(work.build.source, properties, target.file, work.way)
  if gone then
    direction.remove(schema, gone)
  end
end

function object_schema(work, place)
  local target = work.build.source:follow(place)
  work.count = work.count + 1
  if not target or core.kind(target.node) ~= "object" or work.count > MAX_INLINED then
    return work.build.converter:convert(place, work.way, work.used)
  end
  local schema = converted(work, target)
  if core.kind(target.node.properties) == "object" then
    add_properties(work, target, schema)
  end
  return schema
end

-- An array whose items are parts: each may be a file.
local function array_schema(build, target, positions, way, used)
  local function item(key, field, node)
    return property_schema(build, { node = node, file = target.file, pointer = target.pointer .. "/" .. key },
      field, way, used)
  end
  local node = target.node
  local schema = { type = "array" }
  copy_limits(node, schema)
  if node.items ~= nil then
    schema.items = item("items", positions.items, node.items)
  end
  for i, prefix in ipairs(type(node.prefixItems) == "table" and node.prefixItems or {}) do
    schema.prefixItems = schema.prefixItems or {}
    schema.prefixItems[i] = item("prefixItems/" .. i - 1, positions.prefix[i], prefix)
  end
  return schema
end

--- The JSON Schema of a multipart body whose parts may be files.
---@param build table
---@param place operations.openapi.Place  of the body's schema
---@param made operations.openapi.BodyType
---@param way operations.openapi.Direction
---@param used table<string, operations.openapi.Place>
---@return table|boolean
function file_schema.of(build, place, made, way, used)
  local target = build.source:follow(place)
  if made.positions and target and target.node.type == "array" then
    return array_schema(build, target, made.positions, way, used)
  end
  return object_schema({ build = build, fields = made.fields, way = way, used = used, count = 0 }, place)
end

return file_schema
