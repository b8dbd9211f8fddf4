--- The input of an operation: its parameters and body, as one flat input object and as a request plan.
local body = require("operations.openapi.body")
local header_field = require("operations.net.http.header_field")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local parameter = require("operations.openapi.parameter")
local property_order = require("operations.base.property_order")

local inputs = {}

-- OpenAPI ignores header parameters with these names: media types and security schemes define them.
local ignored_headers = { accept = true, ["content-type"] = true, authorization = true }

-- Set by the HTTP client: the length and the codings of a body.
local own_headers = { ["content-length"] = true, ["transfer-encoding"] = true, ["accept-encoding"] = true }

local function describe(schema, node)
  if type(node.description) ~= "string" and node.deprecated ~= true or schema == false then
    return schema
  end
  local copy = members.merged(type(schema) == "table" and schema or nil)
  copy.description = type(node.description) == "string" and node.description or copy.description
  copy.deprecated = node.deprecated == true or copy.deprecated
  return copy
end

-- "header x-key", as security.lua names the places of API keys.
local function place_of(node)
  return node["in"] .. " " .. (node["in"] == "header" and node.name:lower() or node.name)
end

-- The key of a parameter, its location and name; nil and the reason when it is ignored.
local function id_of(build, node)
  if type(node.name) ~= "string" or node.name == "" then
    return nil, "the parameter has no name"
  elseif type(node["in"]) ~= "string" or not parameter.default_style(node["in"]) then
    return nil, ("the parameter %q has no known location (in: %s)"):format(node.name, tostring(node["in"]))
  elseif node["in"] == "header" and not header_field.is_token(node.name) then
    return nil, ("%q is not a header name"):format(node.name)
  elseif node["in"] == "header" and ignored_headers[node.name:lower()] then
    return nil, ("the header parameter %q is ignored, as OpenAPI says"):format(node.name)
  elseif node["in"] == "header" and own_headers[node.name:lower()] then
    return nil, ("the header parameter %q is ignored: the HTTP client sets it"):format(node.name)
  elseif node["in"] == "path" and not build.template_names[node.name] then
    return nil, ("the path has no {%s}"):format(node.name)
  end
  local scheme = build.credential_places[place_of(node)]
  if scheme then
    return nil, ("the parameter %q is the API key of the security scheme %q, which is configured"):format(node.name,
      scheme)
  end
  return node["in"] .. " " .. node.name
end

--- Parameters of path templates that the document does not declare are strings.
local function add_undeclared(build, list)
  for _, name in ipairs(build.template_names) do
    if not list.index["path " .. name] then
      build.report(build.pointer, ("the path parameter {%s} is not declared; it is taken for a string"):format(name))
      local node = { name = name, ["in"] = "path", schema = { type = "string" } }
      list[#list + 1] = { node = node, file = build.file, pointer = build.pointer }
      list.index["path " .. name] = #list
    end
  end
end

local function style_of(build, place)
  local node = place.node
  local style = node.style
  if style == nil then
    return parameter.default_style(node["in"])
  elseif type(style) ~= "string" or not parameter.has_style(node["in"], style) then
    build.report(place.pointer .. "/style",
      ("style %s does not exist in: %s; the default is used"):format(tostring(style), node["in"]))
    return parameter.default_style(node["in"])
  end
  return style
end

local function content_of(node)
  local name = node.schema == nil and media.names(node.content)[1]
  return name or nil
end

local function schema_place(build, place)
  local name = content_of(place.node)
  if not name then
    return build.source:member(place, "schema")
  end
  local content = build.source:child(place, "content")
  local kind = content and build.source:child(content, name)
  return kind and build.source:member(kind, "schema")
end

-- Does the configuration send this header with every request?
local function is_configured(build, name)
  for header in pairs(build.config.headers or {}) do
    if header:lower() == name:lower() then
      return true
    end
  end
  return false
end

-- Does the path key have a value for this query parameter, which a given one replaces?
local function in_path_key(build, name)
  for _, pair in ipairs(build.query or {}) do
    if pair.name == name then
      return true
    end
  end
  return false
end

local function plan_parameter(build, place, key)
  local node = place.node
  local style = style_of(build, place)
  local explode = node.explode
  if type(explode) ~= "boolean" then
    explode = style == "form" or style == "cookie"
  end
  local content = content_of(node)
  return parameter.complete({
    name = node.name, key = key, location = node["in"], style = style, explode = explode,
    required = node.required == true and not (node["in"] == "query" and in_path_key(build, node.name))
      and not (node["in"] == "header" and is_configured(build, node.name))
      or node["in"] == "path",
    collection = build.is_swagger and node.collection or nil,
    -- Before 3.2 for queries only.
    reserved = node.allowReserved == true and (node["in"] == "query"
      or node["in"] ~= "header" and tostring(build.source.file.root.openapi):find("^3%.2") ~= nil),
    media = content and media.essence(content) or node["in"] == "querystring" and "text/plain" or nil,
    arrays = style == "deepObject" and build.config.deep_arrays or nil,
    empty = node.allowEmptyValue == true and node["in"] == "query" and not content or nil,
  })
end

--- Names used in two locations, and `body` and `contentType` beside a body, get their location as a prefix; twice if a
--- parameter has that name.
local function keys_of(build, list, request_body)
  local uses, keys = {}, {}
  if request_body then
    uses.body, uses[request_body.key or "body"] = 1, 1
  end
  for _, place in ipairs(list) do
    uses[place.node.name] = (uses[place.node.name] or 0) + 1
  end
  for i, place in ipairs(list) do
    local name, location = place.node.name, place.node["in"]
    keys[i] = name
    if uses[name] > 1 then
      repeat
        keys[i] = location .. "." .. keys[i]
      until not uses[keys[i]]
      uses[keys[i]] = 1
      build.report(place.pointer, ("the name %q is used twice; the input calls this one %q"):format(name, keys[i]))
    end
  end
  return keys
end

local function parameter_schema(build, place, from, plan, used)
  local schema = {}
  if from then
    schema = build.converter:convert(from, "input", used) -- may be `false`
  end
  if plan.empty and schema ~= true then
    schema = { anyOf = { schema, { const = "" } } }
  end
  return describe(schema, place.node)
end

local function add_body(build, request_body, properties, direction, used)
  local schema = body.schema(build, request_body, direction, used)
  properties.body = request_body.description and describe(schema, request_body) or schema
  if request_body.key then
    properties[request_body.key] = body.type_schema(request_body)
  end
end

local function gather(build, item, operation)
  local list = { index = {} }
  local function id_here(node)
    return id_of(build, node)
  end
  build.source:add_parameters(item, list, id_here, build.report)
  build.source:add_parameters(operation, list, id_here, build.report)
  add_undeclared(build, list)
  return list
end

-- The parameters of a path item and an operation, references followed, nothing checked but the name.
local function parameters_of(source, item, operation)
  local list = {}
  for _, owner in ipairs({ item, operation }) do
    local array = owner.node.parameters
    for _, node in ipairs(type(array) == "table" and array or {}) do
      local place = type(node) == "table" and node["$ref"] and source:follow({ node = node, file = owner.file })
      node = place and place.node or node
      list[#list + 1] = type(node) == "table" and type(node.name) == "string" and node or nil
    end
  end
  return list
end

--- The names of an operation's inputs, as far as known without reading it, for a search.
---@param source operations.openapi.Document
---@param item operations.openapi.Place
---@param operation operations.openapi.Place
---@return string[]
function inputs.names(source, item, operation)
  local names = {}
  for _, node in ipairs(parameters_of(source, item, operation)) do
    names[#names + 1] = node.name
  end
  names[#names + 1] = operation.node.requestBody ~= nil and "body" or nil
  return names
end

--- The places of an operation's parameters: "header x-key", "query key".
---@param source operations.openapi.Document
---@param item operations.openapi.Place
---@param operation operations.openapi.Place
---@return table<string, boolean>
function inputs.places(source, item, operation)
  local places = {}
  for _, node in ipairs(parameters_of(source, item, operation)) do
    if type(node["in"]) == "string" and not (node["in"] == "header" and ignored_headers[node.name:lower()]) then
      places[place_of(node)] = true
    end
  end
  return places
end

--- Reads parameters and body of an operation.
---@param build table  the operation being built: source, converter, report, file, pointer, template_names
---@param item operations.openapi.Place
---@param operation operations.openapi.Place
---@param method string
---@return { parameters: operations.openapi.Parameter[], body: table?, schema: table }
function inputs.read(build, item, operation, method)
  local direction = method == "PATCH" and "patch" or "input"
  local request_body = body.read(build, operation)
  local list = gather(build, item, operation)
  local keys = keys_of(build, list, request_body)
  local schema = { type = "object", properties = {}, additionalProperties = false }
  local result, required, used = { parameters = {}, body = request_body }, {}, {}
  local names = members.joined(keys, request_body and { "body", request_body.key } or {})
  for i, place in ipairs(list) do
    local key, from = keys[i], schema_place(build, place)
    local plan = plan_parameter(build, place, key)
    result.parameters[i] = plan
    schema.properties[key] = parameter_schema(build, place, from, plan, used)
    required[#required + 1] = plan.required and key or nil
  end
  if request_body then
    add_body(build, request_body, schema.properties, direction, used)
    required[#required + 1] = request_body.required and "body" or nil
  end
  property_order.set(schema.properties, names)
  schema.required = #required > 0 and required or nil
  result.schema = build.converter:complete(schema, used, direction)
  return result
end

return inputs
