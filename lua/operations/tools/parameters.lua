--- The parameters of a tool, from the input schema of an operation. Vendors require an object without combinators at
--- its top: other schemas are wrapped as `{ input = ... }`, and the input is unwrapped again.
local core = require("operations.core")
local members = require("operations.base.members")
local merge = require("operations.tools.merge")
local number_text = require("operations.base.number_text")
local phrase = require("operations.tools.phrase")
local property_order = require("operations.base.property_order")
local restore = require("operations.tools.restore")
local subset = require("operations.tools.subset")

local parameters = {}

---@class operations.ToolParameters
---@field schema table  as it is offered
---@field plan? table  how arguments become an input
---@field wrapped boolean
---@field strict boolean

local combinators = { "anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "dependentSchemas",
  "dependentRequired" }
local MAX_NODES = 20000 -- of a schema with its references written out

local function empty()
  return { type = "object", properties = setmetatable({}, core.object_mt) }
end

-- Do the branches only list required properties?
local function only_require(branches)
  for _, branch in ipairs(type(branches) == "table" and branches or {}) do
    for key in pairs(type(branch) == "table" and branch or { input = true }) do
      if key ~= "required" and not merge.is_annotation(key) then
        return false
      end
    end
  end
  return true
end

local function is_object(schema)
  local kind = schema.type
  local says_object = kind == "object" or type(kind) == "table" and members.contains(kind, "object")
    or kind == nil and type(schema.properties) == "table"
  return says_object and schema.enum == nil and schema.const == nil
    and (schema.properties or only_require(schema.anyOf) and only_require(schema.oneOf))
end

-- An object schema for the input, and whether the input is wrapped in it.
local function root_of(schema, definitions)
  if type(schema) ~= "table" or next(schema) == nil then
    return empty(), false
  end
  local whole = merge.one(schema, definitions)
  if whole then
    whole["$defs"], whole.definitions, whole["$schema"], whole["$id"] = nil, nil, nil, nil
    if next(whole) == nil then
      return empty(), false
    elseif is_object(whole) then
      whole.type = "object"
      return whole, false
    end
  else
    whole = members.copy(schema)
    whole["$defs"], whole.definitions, whole["$schema"] = nil, nil, nil
  end
  return { type = "object", properties = { input = whole }, required = setmetatable({ "input" }, core.array_mt) }, true
end

-- Writes out the references of a schema; a recursive one accepts any value.
local function written_out(schema, definitions, open, count)
  count[1] = count[1] + 1
  if type(schema) ~= "table" then
    return schema
  elseif count[1] > MAX_NODES then
    return {}
  end
  local ref = schema["$ref"]
  local name = merge.name_of(ref)
  if ref ~= nil then
    local own = members.copy(schema)
    own["$ref"] = nil
    local target = name and definitions[name]
    if type(target) ~= "table" or open[name] then
      own.description = own.description or type(target) == "table" and target.description or nil
      return setmetatable(own, core.object_mt)
    end
    open[name] = true
    local result = written_out(members.merged(target, own), definitions, open, count)
    open[name] = nil
    return result
  end
  local copy = property_order.carry({}, schema)
  for key, value in pairs(schema) do
    if key == "enum" or key == "const" or key == "default" or key == "examples" or key == "required" then
      copy[key] = value
    elseif key ~= "$defs" and key ~= "definitions" then
      copy[key] = type(value) == "table" and written_out(value, definitions, open, count) or value
    end
  end
  return copy
end

-- Renames properties whose names the vendor does not accept.
local function rename(root, pattern)
  local plan, properties, order, taken = { kind = "object", members = {} }, {}, {}, {}
  local names, changed = {}, false
  for i, key in ipairs(property_order.names(root.properties)) do
    local name = key
    if #key > 64 or not key:find(pattern) then
      name = ("p_" .. key:gsub("[^A-Za-z0-9_]", "_")):sub(1, 60)
    end
    while taken[name] or name ~= key and root.properties[name] ~= nil do
      name = name .. "_"
    end
    taken[name], names[key], order[i], properties[name] = true, name, name, root.properties[key]
    if name ~= key then
      plan.members[name], changed = { key = key }, true
    end
  end
  if not changed then
    return root
  end
  local copy = members.copy(root)
  property_order.set(properties, order)
  copy.properties, copy.required = properties, setmetatable({}, core.array_mt)
  for i, key in ipairs(root.required or {}) do
    copy.required[i] = names[key] or key
  end
  return copy, plan
end

-- Without strict mode any JSON Schema is accepted, except at its top.
local function loose(root, definitions, format)
  local offered, said = members.copy(root), members.copy(root)
  for _, key in ipairs(combinators) do
    offered[key], said[key] = nil, nil
  end
  for key in pairs(said) do
    said[key] = not merge.is_annotation(key) or key == "default" or nil
  end
  offered.description = phrase.of(root, said)
  offered.properties = offered.properties or setmetatable({}, core.object_mt)
  if format == "gemini" then
    offered = written_out(offered, definitions, {}, { 0 })
  elseif next(definitions) then
    offered["$defs"] = definitions
  end
  local pattern = subset.key_patterns[format]
  if pattern then
    return rename(offered, pattern)
  end
  return offered
end

-- The sizes that OpenAI limits for a whole schema.
local function measure(schema, sums)
  for name, property in pairs(type(schema.properties) == "table" and schema.properties or {}) do
    sums.properties, sums.characters = sums.properties + 1, sums.characters + #name
    measure(property, sums)
  end
  for name, definition in pairs(schema["$defs"] or {}) do
    sums.characters = sums.characters + #name
    measure(definition, sums)
  end
  for _, value in ipairs(schema.enum or {}) do
    sums.enum, sums.characters = sums.enum + 1, sums.characters + #number_text.of(value)
  end
  sums.characters = sums.characters + (type(schema.const) == "string" and #schema.const or 0)
  for _, branch in ipairs(schema.anyOf or {}) do
    measure(branch, sums)
  end
  if schema.items then
    measure(schema.items, sums)
  end
end

local function fits(schema, caps)
  local sums = { properties = 0, enum = 0, characters = 0 }
  measure(schema, sums)
  return sums.properties <= (caps.max_properties or math.huge) and sums.enum <= (caps.max_enum or math.huge)
    and sums.characters <= (caps.max_characters or math.huge)
end

--- Makes the parameters of a tool. A schema too large for strict mode is offered without it.
---@param input any  JSON Schema of the operation's input
---@param format string
---@param strict boolean
---@return operations.ToolParameters
function parameters.of(input, format, strict)
  local definitions = merge.definitions(input)
  local root, wrapped = root_of(input, definitions)
  local caps = subset.strict[format]
  if strict then
    local schema, plan = subset.of(root, definitions, caps)
    if schema and fits(schema, caps) then
      return { schema = schema, plan = plan, wrapped = wrapped, strict = true }
    end
  end
  local schema, plan = loose(root, definitions, format)
  return { schema = schema, plan = plan, wrapped = wrapped, strict = false }
end

--- The input for a model's arguments.
---@param made operations.ToolParameters
---@param arguments any
---@return any input
---@return table[] issues
function parameters.input(made, arguments)
  local value, issues = restore.value(made.plan, arguments)
  if made.wrapped and core.kind(value) == "object" then
    return value.input, issues
  end
  return value, issues
end

return parameters
