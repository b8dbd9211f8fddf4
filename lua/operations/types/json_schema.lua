--- Prints types as a JSON Schema: the types are definitions, `operations` has those of each id.
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local property_order = require("operations.base.property_order")
local words = require("operations.types.words")

local printer = {}

local function name_of(named)
  return table.concat(named.parts, ".")
end

local function ordered(names, object)
  property_order.set(object, names)
  return object
end

local own = { plain = { any = true, never = false } }

for _, kind in ipairs({ "null", "boolean", "string", "number", "integer" }) do
  own.plain[kind] = { type = kind }
end

function own.literal(value)
  return { const = value }
end

function own.ref(named)
  return { ["$ref"] = "#/$defs/" .. name_of(named):gsub("~", "~0"):gsub("/", "~1") }
end

function own.map(item)
  return ordered({ "type", "additionalProperties" }, { type = "object", additionalProperties = item })
end

function own.array(item)
  return ordered({ "type", "items" }, { type = "array", items = item })
end

function own.union(list)
  return { anyOf = marked.array(list) }
end

local function of_type(of)
  return words.written(of, own)
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
---@param types operations.types.Tree
---@return string
function printer.text(types)
  local definitions, names = marked.object(), {}
  for i, named in ipairs(types.named) do
    names[i] = name_of(named)
    definitions[names[i]] = of_named(named)
  end
  local operations, ids = marked.object(), {}
  for i, operation in ipairs(types.operations) do
    ids[i] = operation.id
    operations[operation.id] = ordered({ "type", "description", "input", "output", "error" }, {
      type = operation.kind, description = operation.title or operation.description, input = of_type(operation.input),
      output = of_type(operation.output), error = of_type(operation.error),
    })
  end
  local document = ordered({ "$schema", "operations", "$defs" }, {
    ["$schema"] = "https://json-schema.org/draft/2020-12/schema", operations = ordered(ids, operations),
    ["$defs"] = ordered(names, definitions),
  })
  return assert(json.encode(document, { indent = 2, keep_order = true })) .. "\n"
end

return printer
