--- An API without a network: definitions of a document, and the requests that their calls make.
local members = require("operations.base.members")
local operations = require("operations")

local openapi = {}

local function defaults(doc)
  if doc.swagger then
    return doc
  end
  doc.openapi = doc.openapi or "3.1.0"
  doc.info = doc.info or { title = "Test", version = "1.0.0" }
  doc.servers = doc.servers or { { url = "http://api.test" } }
  return doc
end

--- A stream that gives out `chunks`, one per read; an error object among them is a failed read.
local function stream_of(reply, log)
  local position = 0
  return {
    status = reply.status or 200,
    headers = reply.headers or {},
    linger = reply.linger,
    read = function()
      position = position + 1
      local chunk = (reply.chunks or {})[position]
      if operations.is_error(chunk) then
        return nil, chunk
      end
      return chunk
    end,
    close = function()
      log.closed = log.closed + 1
    end,
  }
end

--- Imports a document, whose missing parts are filled in, and makes all schemas unless `config.eager` is false. `reply`
--- answers every request: a message, or nil, err.
---@param doc table
---@param config? table
---@param reply? table|fun(request: table): table?, table?
---@return { definitions: table[], report: table[], requests: table[], closed: integer, by_name: table }
function openapi.api(doc, config, reply)
  local api = { requests = {}, closed = 0, by_name = {} }
  local function answer(request)
    api.requests[#api.requests + 1] = request
    if type(reply) == "function" then
      return reply(request)
    end
    return reply or { status = 200, headers = {}, body = "" }
  end
  config = members.merged(config)
  config.eager = config.eager ~= false
  config.http = {
    request = answer,
    open = function(request)
      local found, err = answer(request)
      if not found then
        return nil, err
      end
      return stream_of(found, api)
    end,
  }
  api.definitions, api.report = operations.from_openapi.document(defaults(doc), config)
  for _, definition in ipairs(api.definitions or {}) do
    api.by_name[definition.name] = definition
  end
  return api
end

--- A registry with the operations of a document, whose missing parts are filled in, and the library's own HTTP client.
---@param doc table
---@param url string  of the server
---@param config? table
---@param options? table  of the registry
---@return operations.Registry  its namespace is "api"
---@return table[] report
function openapi.registry(doc, url, config, options)
  config = members.merged(config)
  config.namespace, config.base_url = "api", url
  local list, report = operations.from_openapi.document(defaults(doc), config)
  local registry = operations.registry(options)
  assert(registry:register_all(assert(list, report)))
  return registry, report
end

--- A document with one operation, called `op`.
---@param operation table
---@param more? { path?: string, method?: string, item?: table, doc?: table }
---@return table
function openapi.one(operation, more)
  more = more or {}
  operation.operationId = operation.operationId or "op"
  operation.responses = operation.responses or {}
  local item = members.merged(more.item)
  item[more.method or "get"] = operation
  local doc = members.merged(more.doc)
  doc.paths = { [more.path or "/op"] = item }
  return doc
end

return openapi
