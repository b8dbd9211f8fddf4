--- Goes through a document and builds every operation that it can.
local config = require("operations.from_openapi.config")
local document = require("operations.from_openapi.document")
local errors = require("operations.error")
local name = require("operations.from_openapi.name")
local operation = require("operations.from_openapi.operation")
local schema = require("operations.from_openapi.schema")
local security = require("operations.from_openapi.security")

local loader = {}

---@class operations.openapi.Problem
---@field pointer string  JSON Pointer, as a fragment
---@field message string
---@field operation? string

local methods = { "get", "head", "post", "put", "patch", "delete", "options", "trace", "query" }

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

local function add_operation(shared, list, item, place, method, path)
  if type(place.node) ~= "table" then
    return shared.report(place.pointer, "expected an operation")
  end
  local info = operation.describe(method, path, place.node)
  if not config.wants(shared.config, info) then
    return
  end
  local ok, result = pcall(operation.build, shared, item, place, info)
  if not ok then
    local flaw = type(result) == "table" and result.pointer and result
      or { pointer = place.pointer, message = "cannot be read: " .. tostring(result) }
    return shared.report(flaw.pointer, flaw.message, info.operationId or info.name)
  end
  for _, definition in ipairs(result) do
    list[#list + 1] = definition
  end
end

local function member(owner, key)
  return { node = owner.node[key], file = owner.file, pointer = owner.pointer .. "/" .. document.token(key) }
end

local function add_path(shared, list, paths, path)
  local item, message = shared.source:follow(member(paths, path))
  if not item or type(item.node) ~= "table" then
    return shared.report("#/paths/" .. document.token(path), message or "expected a path item")
  end
  for _, method in ipairs(methods) do
    if item.node[method] ~= nil then
      add_operation(shared, list, item, member(item, method), method:upper(), path)
    end
  end
  local more = item.node.additionalOperations
  for _, method in ipairs(type(more) == "table" and sorted_keys(more) or {}) do
    local owner = member(item, "additionalOperations")
    if method:find("^[A-Za-z0-9!#$%%&'*+.^_`|~-]+$") then
      add_operation(shared, list, item, member(owner, method), method, path)
    else
      shared.report(owner.pointer, ("%q is no HTTP method"):format(method))
    end
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
  if type(version) == "string" and version:find("^3%.[012]") then
    return true
  end
  local found = root.swagger ~= nil and "Swagger " .. tostring(root.swagger)
    or version ~= nil and "OpenAPI " .. tostring(version) or "no version"
  return nil, errors.new("EXECUTION_ERROR",
    ("%s: expected an OpenAPI 3.0, 3.1 or 3.2 document, found %s"):format(location or "document", found),
    { kind = "version", location = location })
end

local function new_shared(source, options, report)
  local root = source.file.root
  local info = type(root.info) == "table" and root.info or {}
  local function add(pointer, message, id)
    report[#report + 1] = { pointer = pointer, message = message, operation = id }
  end
  return {
    source = source, config = options, report = add,
    converter = schema.converter(source, add),
    namespace = options.namespace or name.namespace(info.title),
    version = type(info.version) == "string" and info.version ~= "" and info.version or nil,
    next_name = name.counter(), schemes = schemes_of(source), error_details = {},
  }
end

local function report_rest(shared)
  local root = shared.source.file.root
  if type(root.webhooks) == "table" and next(root.webhooks) ~= nil then
    shared.report("#/webhooks", "webhooks are calls that the API makes; they are no operations")
  end
  for _, unknown in ipairs(security.unknown(shared.schemes, shared.config.auth)) do
    shared.report("#/components/securitySchemes", ("config.auth names %q, which is not here"):format(unknown))
  end
end

--- Builds the definitions of a parsed document.
---@param root table
---@param options operations.openapi.Config  checked
---@param location? string  where the document came from
---@param read? fun(location: string): string?, string?  reads files that it refers to
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function loader.load(root, options, location, read)
  local ok, err = check_version(root, location)
  if not ok then
    return nil, err
  end
  local source, report, list = document.new(root, location, read), {}, {}
  local shared = new_shared(source, options, report)
  local paths = { node = root.paths, file = source.file, pointer = "#/paths" }
  if type(root.paths) == "table" then
    for _, path in ipairs(sorted_keys(root.paths)) do
      if path:sub(1, 1) == "/" then
        add_path(shared, list, paths, path)
      elseif path:sub(1, 2) ~= "x-" then
        shared.report("#/paths/" .. document.token(path), "a path must begin with /")
      end
    end
  elseif root.paths ~= nil then
    shared.report("#/paths", "expected an object")
  end
  report_rest(shared)
  return list, report
end

return loader
