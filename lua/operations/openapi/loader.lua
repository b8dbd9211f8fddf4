--- Reads a document and builds every operation that it can.
local config = require("operations.openapi.config")
local document = require("operations.openapi.document")
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local json_patch = require("operations.base.json_patch")
local json_pointer = require("operations.base.json_pointer")
local locations = require("operations.openapi.location")
local name = require("operations.openapi.name")
local operation = require("operations.openapi.operation")
local schema = require("operations.openapi.schema")
local security = require("operations.openapi.security")
local swagger = require("operations.openapi.swagger")
local verbatim = require("operations.openapi.verbatim")

local loader = {}

---@class operations.openapi.Problem
---@field pointer string  JSON Pointer, as a fragment
---@field message string
---@field operation? string

-- Methods as path items and as requests name them, in the order of the operations.
local methods = {}
for i, method in ipairs({ "get", "head", "post", "put", "patch", "delete", "options", "trace", "query" }) do
  methods[i] = { method, method:upper() }
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    if type(key) == "string" then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys)
  return keys
end

--- Makes the schemas of a definition now; false, and reported, when that fails.
local function make(definition)
  for _, field in ipairs({ "inputSchema", "outputSchema", "errorSchemas" }) do
    local ok, value = pcall(definition[field])
    if not ok then
      return false
    end
    definition[field] = value
  end
  return true
end

local function is_filled(node)
  return type(node) == "table" and next(node) ~= nil
end

local function add_operation(shared, list, item, given, method, path)
  local place, message = shared.source:follow_merged(given, shared.report)
  if not place or type(place.node) ~= "table" then
    return shared.report(given.pointer, message or "expected an operation")
  end
  local info = operation.describe(method, path, place.node)
  if not config.wants(shared.config, info) then
    return
  elseif shared.is_swagger then
    item, place = swagger.operation(shared.source, item, place, shared.report)
  end
  if is_filled(place.node.callbacks) then
    shared.report(place.pointer .. "/callbacks", "callbacks are requests that the API makes; they are not supported",
      info.operationId or info.name)
  end
  local ok, result = pcall(operation.build, shared, item, place, info)
  if not ok then
    local flaw = operation.flaw(result, place)
    return shared.report(flaw.pointer, flaw.message, info.operationId or info.name)
  end
  for _, definition in ipairs(result) do
    if not shared.config.eager or make(definition) then
      list[#list + 1] = definition
    end
  end
end

-- Operations follow their jobs.
local function is_of_job(node)
  return type(node) == "table" and node["x-operation-job"] == true
end

local function add_path(shared, list, paths, path)
  local item, message = shared.source:follow_merged(shared.source:member(paths, path), shared.report)
  if not item or type(item.node) ~= "table" then
    return shared.report("#/paths/" .. json_pointer.escape(path), message or "expected a path item")
  end
  local nodes = item.node
  for i = 1, #methods do
    local key, method = methods[i][1], methods[i][2]
    local node = nodes[key]
    if node ~= nil and not is_of_job(node) then
      add_operation(shared, list, item, shared.source:member(item, key), method, path)
    elseif nodes[method] ~= nil then
      shared.report(item.pointer .. "/" .. method, "methods must be in lower case; it is left out")
    end
  end
  local more = item.node.additionalOperations
  for _, method in ipairs(type(more) == "table" and sorted_keys(more) or {}) do
    local owner = shared.source:member(item, "additionalOperations")
    if header_field.is_token(method) then
      add_operation(shared, list, item, shared.source:member(owner, method), method, path)
    else
      shared.report(owner.pointer, ("%q is not an HTTP method"):format(method))
    end
  end
end

local function add_paths(shared, list)
  local root = shared.source.file
  local own = shared.source:member({ node = root.root, file = root, pointer = "#" }, "paths")
  local paths, message = own, nil
  if own then
    paths, message = shared.source:follow(own)
  end
  if paths and type(paths.node) == "table" then
    for _, path in ipairs(sorted_keys(paths.node)) do
      if path:sub(1, 1) == "/" then
        add_path(shared, list, paths, path)
      elseif path:sub(1, 2) ~= "x-" then
        shared.report(paths.pointer .. "/" .. json_pointer.escape(path), "a path must begin with /")
      end
    end
  elseif own then
    shared.report("#/paths", message or "expected an object")
  end
end

--- The document's security schemes, references followed.
local function schemes_of(source)
  local root = source.file.root
  local all = type(root.components) == "table" and root.components.securitySchemes
  local schemes = {}
  for key, node in pairs(type(all) == "table" and all or {}) do
    local place = source:follow({ node = node, file = source.file, pointer = "#" })
    schemes[key] = place and type(place.node) == "table" and place.node or nil
  end
  return schemes
end

local function check_version(root, location)
  local version = root.openapi
  if swagger.is_document(root) or type(version) == "string" and version:find("^3%.[012]") then
    return true
  end
  local found = root.swagger ~= nil and "Swagger " .. tostring(root.swagger)
    or type(version) == "string" and "OpenAPI " .. version
    or version ~= nil and ("a version that is a %s, not a string"):format(type(version)) or "no version"
  return nil, errors.new("EXECUTION_ERROR",
    ("%s: expected a document of OpenAPI 3.0, 3.1 or 3.2 or Swagger 2.0, found %s"):format(
      location or "document", found),
    { kind = "version", location = location })
end

local function new_shared(source, options, report)
  local root = source.file.root
  local info = type(root.info) == "table" and root.info or {}
  local told = {}
  local function add(pointer, message, id)
    local key = pointer .. " " .. message
    if not told[key] then
      told[key] = true
      report[#report + 1] = { pointer = pointer, message = message, operation = id }
    end
  end
  return {
    source = source, config = options, report = add, sequential = tostring(root.openapi):find("^3%.2") ~= nil,
    converter = schema.converter(source, add),
    namespace = options.namespace or name.namespace(info.title),
    version = type(info.version) == "string" and info.version ~= "" and info.version or nil,
    next_name = name.counter(), schemes = schemes_of(source), error_details = {},
    stream_names = {}, streams = {},
    schemas = verbatim.reader(root),
  }
end

local function report_rest(shared)
  local root = shared.source.file.root
  local dialect = root.jsonSchemaDialect
  if is_filled(root.webhooks) then
    shared.report("#/webhooks", "webhooks are requests that the API makes; they are not operations")
  end
  if type(dialect) == "string" and dialect ~= "https://json-schema.org/draft/2020-12/schema"
    and not dialect:find("^https://spec%.openapis%.org/oas/3%.") then
    shared.report("#/jsonSchemaDialect", ("schemas are read as JSON Schema 2020-12, not as %s"):format(dialect))
  end
  for _, problem in ipairs(security.problems(shared.schemes, shared.config.auth)) do
    shared.report("#/components/securitySchemes" .. problem.pointer, problem.message)
  end
end

--- Builds the definitions of a parsed document.
---@param root table
---@param options operations.openapi.Config  checked
---@param location? string  the document's path or URL
---@param read? fun(location: string): string?, string?, string?  reads files that it refers to, as for `document.new`
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function loader.load(root, options, location, read)
  local ok, err
  if options.patch then
    root, err = json_patch.apply(root, options.patch)
    if not root then
      return nil, err
    end
  end
  ok, err = check_version(root, location)
  if not ok then
    return nil, err
  end
  local is_swagger = swagger.is_document(root)
  if is_swagger then
    root = swagger.document(root, location)
  elseif type(root["$self"]) == "string" then -- 3.2: the document's URL, for relative references
    location = locations.resolve(location or "", root["$self"])
  end
  local source, report, list = document.new(root, location, read), {}, {}
  local shared = new_shared(source, options, report)
  shared.is_swagger = is_swagger
  add_paths(shared, list)
  report_rest(shared)
  return list, report
end

return loader
