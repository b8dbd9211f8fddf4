--- Turns a document of OpenAPI 3.1 into one of 3.0, for programs that know nothing newer. What 3.0 cannot express goes
--- into members that begin with `x-`, which such programs ignore, so the result accepts more values than the original.
local core = require("operations.core")
local keywords = require("operations.schema.keywords")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local walk = require("operations.openapi.walk")

local version30 = {}

-- The keywords of the Schema Object of 3.0.4 whose values stay; others begin with `x-`, or are converted below.
local kept = keywords.where(function(row)
  return row.version30
end)

local nothing = {}
local convert

-- A schema where 3.0 has no boolean.
local function schema_of(value)
  if value == true then
    return setmetatable({}, core.object_mt)
  elseif value == false then
    return { ["not"] = setmetatable({}, core.object_mt) }
  end
  return convert(value)
end

local function list_of(list)
  local copy = setmetatable({}, core.array_mt)
  for i, value in ipairs(list) do
    copy[i] = schema_of(value)
  end
  return copy
end

local function map_of(map)
  local copy = property_order.carry({}, map)
  for name, value in pairs(map) do
    copy[name] = schema_of(value)
  end
  return copy
end

local inner = { ["not"] = schema_of, allOf = list_of, anyOf = list_of, oneOf = list_of, properties = map_of }

function inner.items(value)
  return schema_of(value)
end

function inner.additionalProperties(value)
  return type(value) == "table" and schema_of(value) or value
end

-- Adds alternatives to a schema that may have some.
local function add_alternatives(made, list)
  if made.anyOf then
    made.allOf = members.joined(made.allOf or {}, { { anyOf = list } })
  else
    made.anyOf = list
  end
end

local function has_null(values)
  for _, value in ipairs(type(values) == "table" and values or nothing) do
    if value == core.null then
      return true
    end
  end
  return false
end

-- A list of types: one beside null, or alternatives. Only null is an enumeration.
local function set_type(made, types)
  local rest = {}
  for _, name in ipairs(type(types) == "table" and types or { types }) do
    rest[#rest + 1] = name ~= "null" and name or nil
  end
  made.type = rest[1]
  if #rest < (type(types) == "table" and #types or 1) then
    made.nullable = true
  end
  if rest[2] then
    made.type = nil
    local list = {}
    for i, name in ipairs(rest) do
      list[i] = { type = name, items = name == "array" and setmetatable({}, core.object_mt) or nil,
        nullable = made.nullable }
    end
    add_alternatives(made, list)
  elseif not rest[1] and types ~= nil then
    made.enum = setmetatable({ core.null }, core.array_mt)
  end
end

local function is_null(schema)
  return type(schema) == "table" and (schema.type == "null" or schema.const == core.null)
end

-- Alternatives without null, which is `nullable`. A single one that is left stands by itself.
local function take_null(made, key, original)
  local rest = {}
  for i, schema in ipairs(original) do
    rest[#rest + 1] = not is_null(schema) and made[key][i] or nil
  end
  if #rest == #original or not rest[1] then
    return
  end
  made.nullable, made[key] = true, nil
  if rest[2] or made.allOf or rest[1]["$ref"] then
    made[rest[2] and key or "allOf"] = members.joined(not rest[2] and made.allOf or {}, rest)
  else
    for name, value in pairs(rest[1]) do
      if made[name] == nil then
        made[name] = value
      end
    end
  end
end

local limits = { exclusiveMinimum = { "minimum", math.max }, exclusiveMaximum = { "maximum", math.min } }

-- Numbers as exclusive limits become flags beside the others.
local function set_limits(made)
  for name, other in pairs(limits) do
    local limit, plain = made[name], made[other[1]]
    if type(limit) == "number" then
      local is_tighter = type(plain) ~= "number" or other[2](limit, plain) == limit
      made[name], made[other[1]] = is_tighter or nil, is_tighter and limit or plain
    end
  end
end

-- Bytes and base64 are formats.
local function set_format(made, schema)
  if schema.contentMediaType and schema.contentEncoding == nil and schema.type == nil then
    made.type, made.format = "string", "binary"
  elseif schema.contentEncoding == "base64" then
    made.format = made.format or "byte"
  end
end

local function set_rest(made, schema)
  if schema.const ~= nil then
    made.enum = setmetatable({ schema.const }, core.array_mt)
    made["x-const"] = nil
  end
  if has_null(made.enum) then
    made.nullable = true
  end
  if core.kind(schema.examples) == "array" and schema.examples[1] ~= nil and made.example == nil then
    made.example = schema.examples[1]
  end
  if type(schema.required) == "table" and not schema.required[1] then
    made.required = nil
  end
  if type(schema.prefixItems) == "table" and type(made.items) ~= "table" then
    made.items = setmetatable({}, core.object_mt)
  elseif made.type == "array" and made.items == nil then
    made.items = setmetatable({}, core.object_mt)
  end
end

-- Beside a reference 3.0 has nothing else.
local function with_reference(made, ref)
  if next(made) == nil then
    return { ["$ref"] = ref }
  end
  made.allOf = members.joined(made.allOf or {}, { { ["$ref"] = ref } })
  return made
end

-- Schemas that identify themselves have references that lead nowhere in 3.0.
local function is_resource(schema)
  return schema["$id"] ~= nil or schema["$defs"] ~= nil or schema["$schema"] ~= nil
end

local lossless = members.set({ "const", "examples", "contentEncoding", "contentMediaType", "$ref", "$comment" })

-- Does a schema, or one in it, have keywords that 3.0 lacks?
local function loses(schemas)
  local found = false
  for _, schema in ipairs(schemas) do
    walk.each(schema, function(one)
      for key in pairs(one) do
        found = found or not (kept[key] or inner[key] or lossless[key] or key:find("^x%-"))
      end
    end)
  end
  return found
end

-- Where a schema that accepts more would make another accept less, it is left out, or a plain alternative.
local function loosened(schema)
  local is_open, is_plain = loses({ schema["not"] }), loses(schema.oneOf or nothing)
  if not is_open and not is_plain then
    return schema
  end
  local copy = property_order.carry(members.copy(schema), schema)
  if is_open then
    copy["not"], copy["x-not"] = nil, schema["not"]
  end
  if is_plain then
    copy.oneOf = nil
    add_alternatives(copy, schema.oneOf)
  end
  return copy
end

--- Converts a schema. Its input is not changed.
---@param schema table
---@return table
function convert(schema)
  if is_resource(schema) then
    return { title = schema.title, description = schema.description, ["x-schema"] = schema }
  end
  schema = loosened(schema)
  local made = members.mark({}, schema)
  for key, value in pairs(schema) do
    if inner[key] then
      made[key] = inner[key](value)
    elseif kept[key] or key:find("^x%-") then
      made[key] = value
    elseif key ~= "$ref" then
      made["x-" .. key:gsub("^%$", "")] = value
    end
  end
  if schema.type ~= nil then
    set_type(made, schema.type)
  end
  for _, key in ipairs({ "anyOf", "oneOf" }) do
    if schema[key] then
      take_null(made, key, schema[key])
    end
  end
  set_limits(made)
  set_format(made, schema)
  set_rest(made, schema)
  return schema["$ref"] and with_reference(made, schema["$ref"]) or made
end

-- Members of the document that hold schemas, or objects that do.
local function with_schemas(node)
  if type(node) ~= "table" or node["$ref"] then
    return node
  end
  local copy = members.copy(node)
  copy.schema = node.schema ~= nil and schema_of(node.schema) or nil
  for _, key in ipairs({ "content", "headers" }) do
    if node[key] then
      copy[key] = property_order.carry({}, node[key])
      for name, value in pairs(node[key]) do
        copy[key][name] = with_schemas(value)
        if key == "content" and next(copy[key][name]) == nil and not media.is_json(media.essence(name)) then
          copy[key][name].schema = { type = "string", format = "binary" }
        end
      end
    end
  end
  return copy
end

-- Some generators write a range of statuses into their programs as if it were one.
local function status_of(status, responses)
  local first = status:match("^([1-5])XX$")
  return first and not responses[first .. "00"] and first .. "00" or status
end

local function responses_of(responses)
  local copy = {}
  for status, response in pairs(responses) do
    copy[status_of(status, responses)] = with_schemas(response)
  end
  return copy
end

-- Scopes of schemes other than OAuth 2 and OpenID Connect do not exist in 3.0.
local function security_of(requirements, schemes)
  local copy = members.mark({}, requirements)
  for i, requirement in ipairs(requirements) do
    copy[i] = members.mark({}, requirement)
    for name, scopes in pairs(requirement) do
      local kind = type(schemes[name]) == "table" and schemes[name].type
      copy[i][name] = (kind == "oauth2" or kind == "openIdConnect") and scopes or setmetatable({}, core.array_mt)
    end
  end
  return copy
end

local function operation_of(operation, schemes)
  local copy, parameters = members.copy(operation), operation.parameters
  copy.parameters = parameters and {}
  for i, parameter in ipairs(parameters or nothing) do
    copy.parameters[i] = with_schemas(parameter)
  end
  copy.requestBody = operation.requestBody and with_schemas(operation.requestBody)
  copy.responses = responses_of(operation.responses)
  copy.security = operation.security and security_of(operation.security, schemes)
  return copy
end

local function info_of(info)
  local copy = members.copy(info)
  copy.summary, copy["x-summary"] = nil, info.summary
  if type(info.license) == "table" and info.license.identifier then
    copy.license = members.copy(info.license)
    copy.license.identifier, copy.license["x-identifier"] = nil, info.license.identifier
  end
  return copy
end

--- Converts a document that `openapi/out` made.
---@param document table  of 3.1; not changed
---@return table
function version30.document(document)
  local copy, components = members.copy(document), members.copy(document.components)
  local schemes = components.securitySchemes or nothing
  copy.openapi, copy.jsonSchemaDialect, copy.info = "3.0.4", nil, info_of(document.info)
  components.schemas, components.responses = map_of(components.schemas), responses_of(components.responses)
  copy.components, copy.paths = components, members.mark({}, document.paths)
  for path, item in pairs(document.paths) do
    copy.paths[path] = {}
    for method, operation in pairs(item) do
      copy.paths[path][method] = operation_of(operation, schemes)
    end
  end
  return copy
end

return version30
