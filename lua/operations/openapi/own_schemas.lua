--- Reassembles the schemas of an operation of a document made by this library (openapi/out) from its parameters, bodies
--- and problems.
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")

local own_schemas = {}

--- The media type of a body or a response.
---@param body any  a Request Body or Response Object
---@return string
function own_schemas.media(body)
  return type(body) == "table" and type(body.content) == "table" and members.names(body.content)[1]
    or "application/json"
end

local media_of = own_schemas.media

--- The parameters of an operation that are its input: headers belong to the request.
---@param node table  the Operation Object
---@return table[]
---@return boolean ok  true if all are Parameter Objects
function own_schemas.parameters(node)
  local list = type(node.parameters) == "table" and node.parameters or {}
  for _, parameter in ipairs(list) do
    if type(parameter) ~= "table" or type(parameter.name) ~= "string" or type(parameter["in"]) ~= "string" then
      return {}, false
    end
  end
  local kept = {}
  for _, parameter in ipairs(list) do
    kept[#kept + 1] = parameter["in"] ~= "header" and parameter or nil
  end
  return kept, true
end

-- An object schema of parameters; nil when one refers to something outside.
local function schema_of_parameters(reader, list, x)
  local properties, names, required = {}, {}, {}
  for _, node in ipairs(list) do
    names[#names + 1] = node.name
    properties[node.name] = node.schema == nil and true or node.schema
    required[#required + 1] = node.required == true and node.name or nil
  end
  property_order.set(properties, names)
  local schema = { type = "object", properties = properties, required = required[1] and required or nil }
  if not x.open then
    schema.additionalProperties = false
  end
  return reader:schema(schema)
end

-- Adds the members in the path to an object schema.
local function with_path(schema, list)
  local names, properties = {}, {}
  for _, node in ipairs(list) do
    if node["in"] == "path" then
      names[#names + 1], properties[node.name] = node.name, node.schema
    end
  end
  if not names[1] or type(schema) ~= "table" or schema.type ~= "object" then
    return schema
  end
  local copy, others = members.copy(schema), schema.properties or {}
  copy.properties = members.merged(properties, others)
  property_order.set(copy.properties, members.joined(names, property_order.names(others)))
  copy.required = members.joined(names, schema.required or {})
  return copy
end

-- The schema of a body: raw bytes have no type in the document, and a format of its own.
local function schema_in(content, name)
  local schema = type(content[name]) == "table" and content[name].schema or true
  if type(schema) == "table" and schema.type == nil and schema.contentMediaType == name then
    schema = members.merged(schema, { type = "string" })
    schema.format = schema.format ~= "binary" and schema.format or nil
  end
  return schema
end

--- The schema of the input; nil when it refers to something other than a component.
---@param reader operations.openapi.Verbatim
---@param node table
---@param x operations.openapi.Extension
---@return any?
function own_schemas.input(reader, node, x)
  local parameters = own_schemas.parameters(node)
  if x.input == "parameters" then
    return schema_of_parameters(reader, parameters, x)
  elseif type(node.requestBody) ~= "table" then
    return true
  end
  local content = type(node.requestBody.content) == "table" and node.requestBody.content or {}
  return reader:schema(with_path(schema_in(content, media_of(node.requestBody)), parameters))
end

--- The response of a successful call with data, and its status.
---@param node table
---@return table? response
---@return string status
function own_schemas.success(node)
  local found, status = nil, nil
  local x = type(node["x-operation"]) == "table" and node["x-operation"] or {}
  for key, response in pairs(type(node.responses) == "table" and node.responses or {}) do
    local is_other = key == "204" or key == "202" and x.task ~= nil
    if type(key) == "string" and key:find("^2%d%d$") and not is_other and (not status or key < status) then
      found, status = type(response) == "table" and response or nil, key
    end
  end
  return found, status or "200"
end

--- The schema of the data, or of one event.
---@param reader operations.openapi.Verbatim
---@param node table
---@param x operations.openapi.Extension
---@return any?
function own_schemas.output(reader, node, x)
  local success = own_schemas.success(node)
  local content = success and type(success.content) == "table" and success.content or {}
  if x.type == "subscription" then
    local lines = content["application/x-ndjson"]
    return reader:schema(type(lines) == "table" and (lines.itemSchema or lines["x-itemSchema"]) or true)
  end
  return reader:schema(schema_in(content, media_of(success)))
end

-- The branch of each code in the schema of a response.
local function branches_of(node, status)
  local response = type(node.responses) == "table" and node.responses[status]
  local content = type(response) == "table" and type(response.content) == "table" and response.content or {}
  local media = content["application/problem+json"]
  local schema = type(media) == "table" and type(media.schema) == "table" and media.schema or {}
  local branches = schema.oneOf or schema.anyOf
  return type(branches) == "table" and branches or {}
end

local function error_schema(reader, branch, code, status)
  local properties = type(branch) == "table" and type(branch.properties) == "table" and branch.properties or {}
  local pattern = type(properties.code) == "table" and properties.code.pattern
  local schema = reader:schema(properties.details == nil and true or properties.details)
  local number = not pattern and not code:find("^HTTP_%d%d%d$") and tonumber(status)
  return {
    code = code, pattern = type(pattern) == "string" and pattern or nil,
    description = type(branch) == "table" and type(branch.description) == "string" and branch.description or "",
    schema = schema == nil and true or schema,
    statusCode = number and number ~= 422 and number or nil,
  }
end

--- The errors that the operation declares.
---@param reader operations.openapi.Verbatim
---@param node table
---@param x operations.openapi.Extension
---@return operations.ErrorSchema[]?
function own_schemas.errors(reader, node, x)
  local list = {}
  for _, status in ipairs(members.names(x.errors or {})) do
    local branches = branches_of(node, status)
    for i, code in ipairs(x.errors[status]) do
      list[#list + 1] = error_schema(reader, branches[i], code, status)
    end
  end
  return list[1] and list or nil
end

return own_schemas
