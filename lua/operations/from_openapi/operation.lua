--- One operation of a document: a path item and a method in, one definition out (two, when it answers with a value
--- or with a stream).
local call = require("operations.from_openapi.call")
local inputs = require("operations.from_openapi.inputs")
local name = require("operations.from_openapi.name")
local outputs = require("operations.from_openapi.outputs")
local request = require("operations.from_openapi.request")
local security = require("operations.from_openapi.security")
local server = require("operations.from_openapi.server")
local stream = require("operations.from_openapi.stream")

local operation = {}

local function text(value)
  return type(value) == "string" and value ~= "" and value or nil
end

local function tags_of(node)
  local tags
  for _, tag in ipairs(type(node.tags) == "table" and node.tags or {}) do
    if text(tag) then
      tags = tags or {}
      tags[#tags + 1] = tag
    end
  end
  return tags
end

--- What config.include and config.exclude see of an operation.
---@param method string
---@param path string
---@param node table  the Operation Object
---@return { method: string, path: string, operationId: string?, name: string, tags: string[] }
function operation.describe(method, path, node)
  local id = text(node.operationId)
  local wanted = id and name.sanitize(id) or ""
  if wanted == "" then
    wanted = name.of_path(method, path)
  end
  return { method = method, path = path, operationId = id, name = wanted, tags = tags_of(node) or {} }
end

local function base_of(build, item, place)
  local config = build.config
  if config.base_url then
    return config.base_url
  end
  return server.base({ place.node.servers, item.node.servers, build.source.file.root.servers },
    build.source.file.location, config.server_variables)
end

local function new_plan(build, item, place, info, input, output)
  local config = build.config
  local base, base_error = base_of(build, item, place)
  if not base then
    build.report(place.pointer, base_error)
  end
  local requirements = place.node.security
  if requirements == nil then
    requirements = build.source.file.root.security
  end
  local keys = { body = input.body and true or nil }
  for _, param in ipairs(input.parameters) do
    keys[param.key] = true
  end
  return {
    method = info.method, base = base, base_error = base_error,
    segments = build.segments, query = build.query, parameters = input.parameters, keys = keys,
    body = input.body, input_schema = input.schema, headers = config.headers, redirects = output.redirects,
    security = security.plan(requirements, build.schemes, config.auth),
    timeout = config.timeout, max_body = config.max_body, max_event = config.max_event, http = config.http,
    idle_timeout = config.idle_timeout, reconnect = config.reconnect, done = config.done, retry = config.retry,
    jar = config.jar, ca_file = config.ca_file, proxy = config.proxy, encoded_slashes = config.encoded_slashes,
  }
end

local function meta_of(build, info, node)
  return {
    source = "openapi", method = info.method, path = info.path, operationId = info.operationId,
    deprecated = node.deprecated == true or nil, exposed = build.config.accessControl ~= nil,
  }
end

local function variant(plan, accept, is_json)
  local copy = {}
  for key, value in pairs(plan) do
    copy[key] = value
  end
  copy.accept, copy.json = accept, is_json
  return copy
end

local function new_definition(build, info, node, wanted, kind)
  local given, changed = build.next_name(wanted)
  if changed then
    build.report(build.pointer, ("the name %q is taken; this operation is called %q"):format(wanted, given))
  end
  return {
    namespace = build.namespace, name = given, version = build.version, type = kind,
    title = text(node.summary), tags = tags_of(node),
    description = text(node.description) or text(node.summary) or info.method .. " " .. info.path,
    _meta = meta_of(build, info, node),
  }
end

local queries = { GET = true, HEAD = true, QUERY = true }

local function finish(definition, build, input, schema, errors, handler)
  definition.inputSchema, definition.outputSchema = input.schema, schema
  definition.errorSchemas, definition.handler = errors, handler
  local access = build.config.accessControl
  if type(access) == "function" then
    access = access(definition)
  end
  definition.accessControl = access
  return definition
end

--- Builds the definitions of one operation. Raises a flaw `{ pointer, message }` when it cannot be called.
---@param loader table  what all operations of the document share, see init.lua
---@param item operations.openapi.Place  path item
---@param place operations.openapi.Place  the operation
---@param info table  from `describe`
---@return operations.Definition[]
function operation.build(loader, item, place, info)
  local build = setmetatable({ pointer = place.pointer, file = place.file }, { __index = loader })
  function build.report(pointer, message)
    loader.report(pointer, message, info.operationId or info.name)
  end
  loader.converter.report = build.report
  build.segments, build.template_names, build.query = request.template(info.path)
  local input = inputs.read(build, item, place, info.method)
  local output = outputs.read(build, place)
  local plan = new_plan(build, item, place, info, input, output)
  local list = {}
  if output.value then
    local kind = queries[info.method] and "query" or "mutation"
    local definition = new_definition(build, info, place.node, info.name, kind)
    list[1] = finish(definition, build, input, output.value.schema, output.errors,
      call.handler(variant(plan, output.value.accept)))
  end
  if output.stream then
    local wanted = info.name .. (output.value and "_stream" or "")
    local definition = new_definition(build, info, place.node, wanted, "subscription")
    list[#list + 1] = finish(definition, build, input, output.stream.schema, output.errors,
      stream.handler(variant(plan, output.stream.accept, output.stream.json)))
  end
  return list
end

return operation
