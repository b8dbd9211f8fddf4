--- Prints types as a JSON Schema: the types are definitions, `operations` has those of each id.
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local property_order = require("operations.base.property_order")

local printer = {}

local function name_of(named)
  return table.concat(named.parts, ".")
end

local function ordered(names, object)
  property_order.set(object, names)
  return object
end

local of_type

local function of_list(list)
  local schemas = marked.array()
  for i, item in ipairs(list) do
    schemas[i] = of_type(item)
  end
  return schemas
end

function of_type(of)
  if of.kind == "any" then
    return true
  elseif of.kind == "never" then
    return false
  elseif of.kind == "literal" then
    return { const = of.value }
  elseif of.kind == "ref" then
    return { ["$ref"] = "#/$defs/" .. name_of(of.of):gsub("~", "~0"):gsub("/", "~1") }
  elseif of.kind == "map" then
    return ordered({ "type", "additionalProperties" }, { type = "object", additionalProperties = of_type(of.item) })
  elseif of.kind == "array" then
    return ordered({ "type", "items" }, { type = "array", items = of_type(of.item) })
  elseif of.kind == "union" then
    return { anyOf = of_list(of.list) }
  end
  return { type = of.kind }
end

local function described(schema, description, is_deprecated)
  if (description or is_deprecated) and type(schema) == "table" then
    schema.description, schema.deprecated = description, is_deprecated
  end
  return schema
end

local function of_named(named)
  if named.type then
    return described(of_type(named.type), named.description)
  end
  local names, properties, required = {}, marked.object(), marked.array()
  for i, field in ipairs(named.fields) do
    names[i] = field.name
    properties[field.name] = described(of_type(field.type), field.description, field.deprecated)
    required[#required + 1] = field.required and field.name or nil
  end
  return ordered({ "description", "type", "properties", "required", "additionalProperties" }, {
    description = named.description, type = "object", properties = ordered(names, properties),
    required = required[1] and required or nil, additionalProperties = named.extra and of_type(named.extra) or nil,
  })
end

--- Prints a tree.
---@param tree operations.types.Tree
---@return string
function printer.text(tree)
  local definitions, names = marked.object(), {}
  for i, named in ipairs(tree.named) do
    names[i] = name_of(named)
    definitions[names[i]] = of_named(named)
  end
  local operations, ids = marked.object(), {}
  for i, operation in ipairs(tree.operations) do
    ids[i] = operation.id
    operations[operation.id] = ordered({ "type", "description", "input", "output", "errors" }, {
      type = operation.kind, description = operation.title or operation.description, input = of_type(operation.input),
      output = of_type(operation.output), errors = #operation.errors > 0 and operation.errors or marked.array(),
    })
  end
  local document = ordered({ "$schema", "operations", "$defs" }, {
    ["$schema"] = "https://json-schema.org/draft/2020-12/schema", operations = ordered(ids, operations),
    ["$defs"] = ordered(names, definitions),
  })
  return assert(json.encode(document, { indent = 2, keep_order = true })) .. "\n"
end

return printer
