--- Queries as resources, by the option `resources`: `operation:namespace.name`; parameters are a query string:
--- `operation:issues.list{?state,page}`. Reading one gives its result as JSON, or its
--- bytes.
local bytes = require("operations.mcp.server.bytes")
local interaction = require("operations.mcp.server.interaction")
local content = require("operations.mcp.server.content")
local caller = require("operations.server.caller")
local json = require("operations.base.json")
local message = require("operations.mcp.protocol.message")
local resources = require("operations.mcp.server.resources")
local schema = require("operations.schema")
local template = require("operations.mcp.server.template")

local queries = {}

---@class operations.mcp.Queries : operations.mcp.Provider
local Queries = {}
Queries.__index = Queries

local SCHEME = "operation:"

--- Offers the queries that a filter selects.
---@param server operations.McpServer
---@param filter true|operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean
---@return operations.mcp.Queries
function queries.new(server, filter)
  return setmetatable({ _server = server, _filter = filter ~= true and filter or nil }, Queries)
end

function Queries.has(_, kind)
  return kind == "resources"
end

local function sight_of(self, call, id)
  local registry, options = self._server.registry, self._server.options
  local sight = registry:visible(id, call.identity, options.filter)
  if sight == "yes" then
    sight = registry:visible(id, call.identity, self._filter)
  end
  return sight == "denied" and options.hide_denied and "hidden" or sight
end

-- The names of a query's parameters that a template can have, in order.
local function parameters_of(self, id)
  local names = {}
  for _, name in ipairs(self._server.registry:parameters(id) or {}) do
    names[#names + 1] = name:find("^[%w_.]+$") and name or nil
  end
  table.sort(names)
  return names
end

local function listed(self, call, with_parameters)
  local list = {}
  for _, spec in ipairs(self._server.registry:specs({ type = "query", schemas = false })) do
    local id = spec.namespace .. "." .. spec.name
    local names = parameters_of(self, id)
    if (names[1] ~= nil) == with_parameters and sight_of(self, call, id) == "yes" then
      list[#list + 1] = { name = id, title = spec.title, description = spec.description, mimeType = "application/json",
        uri = not with_parameters and SCHEME .. id or nil,
        uriTemplate = with_parameters and ("%s%s{?%s}"):format(SCHEME, id, table.concat(names, ",")) or nil }
    end
  end
  return list
end

function Queries:resources(call)
  return listed(self, call, false)
end

function Queries:templates(call)
  return listed(self, call, true)
end

-- Converts texts by the schema, if that loses nothing.
local function input_of(spec, variables)
  local compiled = schema.compile(spec.inputSchema)
  return compiled and compiled:cast(variables) or variables
end

function Queries:read(call, uri)
  local id = uri:match("^" .. SCHEME .. "([^?]+)")
  local registry = self._server.registry
  local sight = id and registry:type_of(id) == "query" and sight_of(self, call, id)
  if not sight or sight == "hidden" then
    return nil
  end
  local spec = registry:get_spec(id)
  if sight == "denied" then
    local _, err, status, headers = caller.deny(spec, call.identity, self._server.options.authorize)
    return nil, { code = message.codes.INVALID_REQUEST, message = err.message, data = err.details, status = status,
      headers = headers }
  end
  local names = parameters_of(self, id)
  local fits = template.compile(SCHEME .. id .. (names[1] and "{?" .. table.concat(names, ",") .. "}" or ""))
  local variables = fits and fits:match(uri)
  if not variables then
    return nil
  end
  return interaction.run(call, function(context)
    local envelope, err = registry:execute(id, input_of(spec, variables), context)
    if not envelope then
      return nil, content.failure(call, err)
    end
    local value, media = bytes.of(envelope, spec.outputSchema)
    if value then
      return resources.result({ bytes = value, mimeType = media }, uri)
    end
    return resources.result({ contents = { { uri = uri, mimeType = "application/json", text = json.encode(envelope.data)
      or assert(json.encode(bytes.replaced(envelope, spec.outputSchema, bytes.encoded))) } } }, uri)
  end)
end

return queries
