--- Swagger 2.0 in the form of OpenAPI 3.0. The document stays where it is, so that pointers into it stay right; each
--- operation is rewritten when it is reached: `body` and `formData` parameters into a request body, `consumes` and
--- `produces` into media types, `collectionFormat` into a style.
local location = require("operations.openapi.location")
local members = require("operations.base.members")
local parameters = require("operations.openapi.swagger_parameter")

local swagger = {}

--- Is it a document of Swagger 2.0? (In YAML without quotes the version is a number.)
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

--- Where the API is: TLS first where both are offered. Without a host it is where the document came from.
local function servers_of(root, schemes)
  local path = type(root.basePath) == "string" and root.basePath:gsub("^/*", "/") or "/" -- else it would end the host
  if type(root.host) ~= "string" then
    return { { url = path } }
  end
  local host = root.host:gsub("^%a[%w+.-]*://", ""):gsub("/+$", "") -- a URL, in some documents
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

--- The document's own fields as OpenAPI 3.0 has them, beside those that are there. Its paths are not touched.
---@param root table
---@param from? string  where the document came from
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

local function response_of(source, place, types)
  local target = source:follow(place)
  local node = target and target.node
  if type(node) ~= "table" then
    return place.node -- the reader of responses says what is wrong
  end
  local schema = parameters.here(target, node.schema, place.file)
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

--- An operation and its path item as OpenAPI 3.0 has them.
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
  copy.parameters, copy.requestBody = parameters.convert(source, item, place, consumes, report)
  copy.responses = responses_of(source, place, strings(node.produces, strings(root.produces, { "application/json" })))
  copy.servers = node.schemes and root.servers and servers_of(root, node.schemes) or nil
  return { node = {}, file = item.file, pointer = item.pointer },
    { node = copy, file = place.file, pointer = place.pointer }
end

return swagger
