--- Merges `allOf` into one schema and follows `$ref`s, for vendors' subsets without them.
local core = require("operations.core")
local json = require("operations.base.json")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")

local merge = {}

local MAX_DEPTH = 32 -- of nested references and allOf
local MAX_PARTS = 1000 -- of one schema: parts that lead to the same ones may double with each level

local annotations = members.set({ "title", "description", "default", "examples", "example", "deprecated", "readOnly",
  "writeOnly", "$comment", "$schema", "$id" })

--- The name of the definition that a reference points to.
---@param ref any
---@return string?  nil: it points elsewhere
function merge.name_of(ref)
  local name = type(ref) == "string" and (ref:match("^#/%$defs/([^/]+)$") or ref:match("^#/definitions/([^/]+)$"))
  if not name then
    return nil
  end
  name = name:gsub("%%(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end)
  return (name:gsub("~1", "/"):gsub("~0", "~"))
end

--- The definitions of a root schema by name.
---@param root any
---@return table<string, any>
function merge.definitions(root)
  root = type(root) == "table" and root or {}
  return members.merged(type(root.definitions) == "table" and root.definitions or nil,
    type(root["$defs"]) == "table" and root["$defs"] or nil)
end

--- Is it a keyword that does not restrict values, such as `description`?
---@param key string
---@return boolean
function merge.is_annotation(key)
  return annotations[key] or key:sub(1, 2) == "x-"
end

local function equal(a, b)
  if a == b then
    return true
  end
  local one, other = json.encode(a, { sort_keys = true }), json.encode(b, { sort_keys = true })
  return one ~= nil and one == other
end

local combine = {}

function combine.required(a, b)
  local list = setmetatable({}, core.array_mt)
  local seen = {}
  for _, names in ipairs({ a, b }) do
    for _, name in ipairs(names) do
      list[#list + 1] = not seen[name] and name or nil
      seen[name] = true
    end
  end
  return list
end

function combine.properties(a, b)
  local all, names = setmetatable({}, core.object_mt), {}
  for _, properties in ipairs({ a, b }) do
    for _, name in ipairs(property_order.names(properties)) do
      local there, more = all[name], properties[name]
      if there == nil then
        all[name], names[#names + 1] = more, name
      elseif not equal(there, more) then
        all[name] = { allOf = setmetatable({ there, more }, core.array_mt) }
      end
    end
  end
  property_order.set(all, names)
  return all
end

local function add(into, part)
  for key, value in pairs(part) do
    local there = into[key]
    if there == nil then
      into[key] = value
    elseif combine[key] and type(there) == "table" and type(value) == "table" then
      into[key] = combine[key](there, value)
    elseif not annotations[key] and not equal(there, value) then
      return false
    end
  end
  return true
end

-- A closed schema and another one with further properties cannot be merged into one object.
local function is_closed(schema)
  return schema.additionalProperties ~= nil and schema.additionalProperties ~= true
    or schema.unevaluatedProperties ~= nil or schema.patternProperties ~= nil
end

local function one(schema, definitions, depth, count)
  count.parts = count.parts + 1
  if depth > MAX_DEPTH or count.parts > MAX_PARTS or type(schema) ~= "table" then
    return nil
  end
  local name = merge.name_of(schema["$ref"])
  if schema["$ref"] ~= nil and (not name or definitions[name] == nil) then
    return nil
  end
  local parts = { name and definitions[name] }
  for _, part in ipairs(type(schema.allOf) == "table" and schema.allOf or {}) do
    parts[#parts + 1] = part
  end
  local own = members.copy(schema)
  own["$ref"], own.allOf = nil, nil
  if #parts == 0 then
    return own
  end
  local result, closed, objects = own, is_closed(own), own.properties and 1 or 0
  for _, part in ipairs(parts) do
    if part ~= true then
      local whole = one(part, definitions, depth + 1, count)
      if not whole then
        return nil
      end
      whole["$defs"], whole.definitions = nil, nil
      closed, objects = closed or is_closed(whole), objects + (whole.properties and 1 or 0)
      if not add(result, whole) then
        return nil
      end
    end
  end
  return not (closed and objects > 1) and result or nil
end

--- A schema without `$ref` and `allOf` at its top, which accepts the same values.
---@param schema any
---@param definitions table<string, any>
---@return table? schema  a copy; nil if there is none
function merge.one(schema, definitions)
  return one(schema, definitions, 0, { parts = 0 })
end

return merge
