--- Input types as JSON Schema, and the files among variables.
local core = require("operations.core")
local lexer = require("operations.graphql.lexer")
local limits = require("operations.base.limits")
local literals = require("operations.graphql.literals")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")

local inputs = {}

local fail = lexer.fail

-- What a value of the scalars of every service is.
local scalars = {
  Int = { type = "integer", minimum = -literals.INT - 1, maximum = literals.INT },
  Float = { type = "number" },
  String = { type = "string" },
  Boolean = { type = "boolean" },
  ID = { type = { "string", "integer" } },
}

-- The same of answers, where it is less.
local answered = { Int = { type = "integer" }, ID = { type = "string" } }

-- One conversion of types: the definitions that the schema of one operation needs.
local function new_build(schema, options)
  return { schema = schema, scalars = options.scalars or {}, definitions = {}, count = 0 }
end

local function scalar_schema(build, of)
  local given = build.scalars[of.name]
  if given ~= nil then
    return given
  elseif scalars[of.name] then
    return members.copy(scalars[of.name])
  end
  local note = of.description or of.specified_by
  return { description = of.name .. (note and ": " .. note or "") }
end

local function enum_schema(of)
  local names = marked.array()
  for i, value in ipairs(of.values) do
    names[i] = value.name
  end
  return { type = "string", enum = names, description = of.description }
end

local ref_schema

-- The properties of arguments or of an input object, and the names of the required ones.
local function properties_of(build, list)
  local properties, order, required = marked.object(), {}, marked.array()
  for i, input in ipairs(list) do
    local property = ref_schema(build, input.type)
    if type(property) == "table" then
      property = members.copy(property)
      property.description = input.description or property.description
      property.deprecated = input.deprecated and true or nil
      property.default = input.default and literals.json(input.default)
    end
    properties[input.name], order[i] = property, input.name
    if input.type.required and not input.default then
      required[#required + 1] = input.name
    end
  end
  property_order.set(properties, order)
  return properties, required
end

-- `@oneOf`: a branch for each input, which is the only one.
local function one_of_schema(build, of)
  local branches, properties = marked.array(), properties_of(build, of.inputs)
  for i, input in ipairs(of.inputs) do
    local plain = members.copy(input)
    plain.type = members.merged(input.type, { required = true })
    local own = properties_of(build, { plain })
    branches[i] = { type = "object", properties = own, required = marked.array({ input.name }),
      additionalProperties = false }
  end
  return { type = "object", description = of.description, minProperties = 1, maxProperties = 1, properties = properties,
    oneOf = branches }
end

local function define(build, of)
  if build.definitions[of.name] then
    return
  end
  build.count = build.count + 1
  if build.count > limits.graphql_inputs then
    build.definitions[of.name] = { description = of.name .. ": too large to be described here" }
    return
  end
  build.definitions[of.name] = true -- types may contain themselves
  if of.one_of then
    build.definitions[of.name] = one_of_schema(build, of)
    return
  end
  local properties, required = properties_of(build, of.inputs)
  build.definitions[of.name] = { type = "object", description = of.description, properties = properties,
    required = required, additionalProperties = false }
end

local function named_schema(build, name)
  local of = build.schema:type(name)
  if of.kind == "SCALAR" then
    return scalar_schema(build, of)
  elseif of.kind == "ENUM" then
    return enum_schema(of)
  elseif of.kind ~= "INPUT_OBJECT" then
    fail(("%s is not a type of inputs"):format(name))
  end
  define(build, of)
  return { ["$ref"] = "#/$defs/" .. name }
end

-- A schema that takes null as well.
local function nullable(schema)
  if type(schema) ~= "table" then
    return schema
  elseif schema.anyOf then
    return { anyOf = marked.array(members.joined(schema.anyOf, { { type = "null" } })) }
  elseif schema["$ref"] or schema.oneOf or schema.allOf or schema.const ~= nil then
    return { anyOf = { schema, { type = "null" } } }
  elseif schema.type == nil and not schema.enum then
    return schema -- anything, null too
  end
  local copy = members.copy(schema)
  local types = type(schema.type) == "table" and schema.type or { schema.type }
  copy.type = schema.type and members.joined(types, { "null" })
  copy.enum = schema.enum and marked.array(members.joined(schema.enum, { core.null })) or nil
  return copy
end

function ref_schema(build, ref)
  local made
  if ref.list then
    made = { type = "array", items = ref_schema(build, ref.list) }
  else
    made = named_schema(build, ref.name)
  end
  return ref.required and made or nullable(made)
end

--- The schema of a scalar or an enum in an answer, without null.
---@param schema operations.graphql.Schema
---@param of operations.graphql.Type
---@param options { scalars: table? }
---@return table|boolean
function inputs.leaf(schema, of, options)
  if of.kind == "ENUM" then
    return enum_schema(of)
  end
  local is_given = options.scalars and options.scalars[of.name] ~= nil
  return not is_given and answered[of.name] or scalar_schema(new_build(schema, options), of)
end
inputs.nullable = nullable

--- The schema of arguments, or of the variables of a named operation: one flat object.
---@param schema operations.graphql.Schema
---@param list operations.graphql.Input[]
---@param options { scalars: table? }
---@return table
function inputs.schema(schema, list, options)
  local build = new_build(schema, options)
  local properties, required = properties_of(build, list)
  return {
    type = "object", properties = properties, required = required, additionalProperties = false,
    ["$defs"] = next(build.definitions) and build.definitions or nil,
  }
end

local function add_files(schema, ref, value, path, found)
  if value == nil or value == core.null then
    return
  elseif ref.list and type(value) == "table" then
    for i, item in ipairs(value) do
      add_files(schema, ref.list, item, path .. "." .. i - 1, found)
    end
  elseif found.scalars[ref.name] then
    found[#found + 1] = { path = path, value = value }
  elseif ref.name and type(value) == "table" then
    local of = schema:type(ref.name)
    for _, input in ipairs(of.inputs or {}) do
      add_files(schema, input.type, value[input.name], path .. "." .. input.name, found)
    end
  end
end

--- The files in variables: values of the scalars of `config.uploads`.
---@param schema operations.graphql.Schema
---@param list operations.graphql.Input[]
---@param variables table
---@param uploads table<string, true>
---@return { path: string, value: any }[]?
function inputs.files(schema, list, variables, uploads)
  local found = { scalars = uploads }
  for _, input in ipairs(list) do
    add_files(schema, input.type, variables[input.name], "variables." .. input.name, found)
  end
  found.scalars = nil
  return found[1] and found or nil
end

return inputs
