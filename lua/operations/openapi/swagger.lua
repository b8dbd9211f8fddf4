--- Converts Swagger 2.0 to OpenAPI 3.0. The document itself is unchanged, so that pointers into it stay valid; each
--- operation is converted when it is reached: `body` and `formData` parameters to a request body, `consumes` and
--- `produces` to media types, `collectionFormat` to a style, or to the member `collection` of parameters and encodings:
--- separators (see `style.collected`), which only converted documents have.
local keywords = require("operations.schema.keywords")
local location = require("operations.openapi.location")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")

local swagger = {}

--- Is it a document of Swagger 2.0? (In YAML the version may be a number.)
---@param root table
---@return boolean
function swagger.is_document(root)
  return root.openapi == nil and (root.swagger == "2.0" or root.swagger == 2)
end

local function strings(list, default)
  local found = {}
  for _, item in ipairs(type(list) == "table" and list or {}) do
    found[#found + 1] = type(item) == "string" and item or nil
  end
  return #found > 0 and found or default
end

--- The API's servers: TLS first if both are offered. Without a host, the document's own.
local function servers_of(root, schemes)
  local path = type(root.basePath) == "string" and root.basePath:gsub("^/*", "/") or "/" -- else it ends the host
  if type(root.host) ~= "string" then
    return { { url = path } }
  end
  local host = root.host:gsub("^%a[%w+.-]*://", ""):gsub("/+$", "") -- some documents have a URL
  local servers = {}
  for _, scheme in ipairs(strings(schemes, { "https" })) do
    if scheme == "https" or scheme == "http" then
      table.insert(servers, scheme == "https" and 1 or #servers + 1, { url = scheme .. "://" .. host .. path })
    end
  end
  return servers
end

local flows = { implicit = "implicit", password = "password", application = "clientCredentials",
  accessCode = "authorizationCode" }

local function scheme_of(node)
  if node.type == "basic" then
    return { type = "http", scheme = "basic", description = node.description }
  elseif node.type ~= "oauth2" then
    return node
  end
  local flow = { authorizationUrl = node.authorizationUrl, tokenUrl = node.tokenUrl, scopes = node.scopes }
  return { type = "oauth2", description = node.description, flows = { [flows[node.flow] or "implicit"] = flow } }
end

--- The document's own fields in OpenAPI 3.0, added to existing ones. Paths are not converted.
---@param root table
---@param from? string  the document's path or URL
---@return table  a copy
function swagger.document(root, from)
  local schemes = {}
  for key, node in pairs(type(root.securityDefinitions) == "table" and root.securityDefinitions or {}) do
    schemes[key] = type(node) == "table" and scheme_of(node) or nil
  end
  local copy = members.merged(root)
  local is_known = type(root.host) == "string" or from and location.is_url(from)
  copy.swagger, copy.openapi, copy.components = nil, "3.0.4", { securitySchemes = schemes }
  copy.servers = is_known and servers_of(root, root.schemes) or nil
  return copy
end

local function content_of(schema, types)
  local content = {}
  for _, name in ipairs(types) do
    content[name] = { schema = schema }
  end
  return content
end

local MAX_DEPTH = 500

--- A copy of a schema for another file, with its references rewritten.
local function rebased(node, file, depth)
  if type(node) ~= "table" or depth > MAX_DEPTH then
    return node
  end
  local copy = property_order.carry({}, node)
  for key, value in pairs(node) do
    copy[key] = rebased(value, file, depth + 1)
  end
  local ref = node["$ref"]
  if type(ref) == "string" then
    local where = file.location or ""
    copy["$ref"] = ref:sub(1, 1) == "#" and where .. ref or location.resolve(where, ref)
  end
  return copy
end

-- The schema of a place for use in another file.
local function here(place, schema, file)
  if place.file == file then
    return schema
  end
  return rebased(schema, place.file, 0)
end

local schema_keywords = keywords.where(function(row)
  return row.parameter20
end)

-- Lists of files do not exist in 2.0, but in documents.
local function is_list_of_files(node)
  return node.type == "array" and type(node.items) == "table" and node.items.type == "file"
end

--- In 2.0 type and limits are beside the name; `file` is a separate type.
local function schema_of(node)
  local schema = {}
  for key in pairs(schema_keywords) do
    schema[key] = node[key]
  end
  if schema.type == "file" then
    schema.type, schema.format = "string", "binary"
  elseif is_list_of_files(node) then
    schema.items = schema_of(node.items)
  end
  return schema
end

local separators = { csv = ",", ssv = " ", tsv = "\t", pipes = "|" }

-- The separator of a list's items: false if the style of the parameter writes them.
local function separator_of(node, pointer, report, is_outer)
  local how = node.collectionFormat or "csv"
  if is_outer and (how == "multi" and (node["in"] == "query" or node["in"] == "formData") or how == "csv") then
    return false
  elseif not separators[how] then
    report(pointer .. "/collectionFormat", ("%s is not possible here; the items are separated by commas"):format(
      tostring(how)))
    return not is_outer and ","
  end
  return separators[how]
end

-- How the items of a list are joined, and those of lists in it: separators from the outside in; nil if the style alone
-- says it.
local function collection_of(node, pointer, report)
  local list = {}
  while type(node) == "table" and node.type == "array" do
    list[#list + 1] = separator_of(node, pointer, report, #list == 0)
    node, pointer = node.items, pointer .. "/items"
  end
  return (list[1] or list[2]) and list or nil
end

--- style, explode (nil: the style's own)
local function style_of(node)
  if node.type ~= "array" or is_list_of_files(node) then
    return nil
  elseif node["in"] == "query" or node["in"] == "formData" then
    return "form", node.collectionFormat == "multi"
  end
  return "simple"
end

local function plain(node, pointer, report)
  local style, explode = style_of(node)
  return {
    collection = style and collection_of(node, pointer, report),
    name = node.name, ["in"] = node["in"], description = node.description, required = node.required,
    deprecated = node["x-deprecated"], allowEmptyValue = node.allowEmptyValue,
    style = style, explode = explode, schema = schema_of(node),
  }
end

local function has_type(types, wanted)
  for _, name in ipairs(types) do
    if name:lower():find(wanted, 1, true) then
      return true
    end
  end
  return false
end

local function form_body(fields, consumes, report)
  local schema, encoding, has_file = { type = "object", properties = {} }, {}, false
  local required = {}
  for _, place in ipairs(fields) do
    local node = place.node
    local property = schema_of(node)
    property.description = node.description
    schema.properties[node.name] = property
    has_file = has_file or node.type == "file" or is_list_of_files(node)
    required[#required + 1] = node.required == true and node.name or nil
    local style, explode = style_of(node)
    encoding[node.name] = style
      and { style = style, explode = explode, collection = collection_of(node, place.pointer, report) } or nil
  end
  schema.required = #required > 0 and required or nil
  local multipart = has_file or has_type(consumes, "multipart/form-data")
    and not has_type(consumes, "application/x-www-form-urlencoded")
  local name = multipart and "multipart/form-data" or "application/x-www-form-urlencoded"
  return {
    required = #required > 0, content = { [name] = { schema = schema, encoding = next(encoding) and encoding or nil } },
  }
end

local function value_body(place, schema, consumes)
  return {
    required = place.node.required, description = place.node.description,
    content = content_of(schema, #consumes > 0 and consumes or { "application/json" }),
  }
end

-- Parameters are identified by name and location; there is at most one body.
local function id_of(node)
  return tostring(node["in"]) .. " " .. (node["in"] == "body" and "" or tostring(node.name))
end

-- The parameters of an operation, including those of its path item, and its body (a Request Body Object).
local function convert_parameters(source, item, operation, consumes, report)
  local found, list, fields, body = { index = {} }, {}, {}, nil
  source:add_parameters(item, found, id_of, report)
  source:add_parameters(operation, found, id_of, report)
  for _, place in ipairs(found) do
    local where = place.node["in"]
    if where == "body" then
      body = value_body(place, here(place, place.node.schema, operation.file), consumes)
    elseif where == "formData" and type(place.node.name) == "string" then
      fields[#fields + 1] = place
    else
      list[#list + 1] = plain(place.node, place.pointer, report)
    end
  end
  if body then
    for _, place in ipairs(fields) do
      report(place.pointer, ("the form field %q is beside a body; it is left out"):format(place.node.name))
    end
  elseif #fields > 0 then
    body = form_body(fields, consumes, report)
  end
  return list, body
end

local function response_of(source, place, types)
  local target = source:follow(place)
  local node = target and target.node
  if type(node) ~= "table" then
    return place.node -- the reader of responses reports the error
  end
  local schema = here(target, node.schema, place.file)
  if type(schema) == "table" and schema.type == "file" then
    schema = { type = "string", format = "binary" }
  end
  return { description = node.description, headers = node.headers, content = schema and content_of(schema, types) }
end

local function responses_of(source, place, types)
  local all = place.node.responses
  if type(all) ~= "table" then
    return all
  end
  local converted = {}
  for status, node in pairs(all) do
    converted[status] = response_of(source,
      { node = node, file = place.file, pointer = place.pointer .. "/responses/" .. status }, types)
  end
  return converted
end

--- An operation and its path item in OpenAPI 3.0.
---@param source operations.openapi.Document
---@param item operations.openapi.Place
---@param place operations.openapi.Place  the operation
---@param report fun(pointer: string, message: string)
---@return operations.openapi.Place item
---@return operations.openapi.Place place
function swagger.operation(source, item, place, report)
  local root, node, copy = source.file.root, place.node, {}
  for _, key in ipairs({ "operationId", "summary", "description", "tags", "deprecated", "security" }) do
    copy[key] = node[key]
  end
  local consumes = strings(node.consumes, strings(root.consumes, {}))
  copy.parameters, copy.requestBody = convert_parameters(source, item, place, consumes, report)
  copy.responses = responses_of(source, place, strings(node.produces, strings(root.produces, { "application/json" })))
  copy.servers = node.schemes and root.servers and servers_of(root, node.schemes) or nil
  return { node = {}, file = item.file, pointer = item.pointer },
    { node = copy, file = place.file, pointer = place.pointer }
end

return swagger
