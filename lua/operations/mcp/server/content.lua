--- The resources and prompts that a program offers beside its operations. Each is an operation of a registry of the
--- server's own, so that access control, deadlines, failures and contexts work as for all calls.
local argument = require("operations.base.argument")
local core = require("operations.core")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local number_text = require("operations.base.number_text")
local registry = require("operations.registry")

local content = {}

--- A provider of resources and prompts: this server, or MCP servers behind it. All functions are optional.
---@class operations.mcp.Provider
---@field resources? fun(self, call: operations.mcp.ServerCall): table[]
---@field templates? fun(self, call: operations.mcp.ServerCall): table[]
---@field read? fun(self, call: operations.mcp.ServerCall, uri: string): table?, operations.mcp.Failure?  nil and no
---  failure, here and below: it has nothing of the kind
---@field prompts? fun(self, call: operations.mcp.ServerCall): table[]
---@field get? fun(self, call: operations.mcp.ServerCall, name: string, given: table): table?, operations.mcp.Failure?
---@field complete? fun(self, call: operations.mcp.ServerCall, params: table): table?, operations.mcp.Failure?
---@field has fun(self, kind: "resources"|"prompts"): boolean  may there be any?
---@field watch? fun(self, uri: string)  a client has subscribed to its changes
---@field unwatch? fun(self, uri: string)

---@class operations.mcp.Content : operations.mcp.Provider
---@field registry operations.Registry
local Content = {}
Content.__index = Content

--- Makes an empty one.
---@param server operations.McpServer
---@return operations.mcp.Content
function content.new(server)
  return setmetatable({ registry = registry.beside(server.registry, { log = server.options.log }), _server = server,
    _count = 0, _resources = {}, _templates = {}, _prompts = {} }, Content)
end

--- Registers a resource or prompt.
---@param self operations.mcp.Content
---@param kind string  "resource" or "prompt", also the name of the public function
---@param given table
---@param definition { handler: function, inputSchema: any }
---@return string id
function content.add(self, kind, given, definition)
  self._count = self._count + 1
  local id, err = self.registry:register({ namespace = kind, name = tostring(self._count), type = "query",
    description = given.description, accessControl = given.accessControl, inputSchema = definition.inputSchema,
    handler = definition.handler })
  if not id then
    error(("bad argument #1 to '%s' (%s)"):format(kind, err.message), 3)
  end
  return id
end

--- May the caller see it?
---@param call operations.mcp.ServerCall
---@param id string
---@return boolean
function Content:shows(call, id)
  return self.registry:visible(id, call.identity) == "yes"
end

--- Calls the program's function. nil without a failure: it is unknown, or hidden from the caller.
---@param call operations.mcp.ServerCall
---@param context table
---@param id string
---@param input table
---@return any data
---@return operations.mcp.Failure? failure
function Content:run(call, context, id, input)
  local options = call.server.options
  if self.registry:visible(id, call.identity) == "denied" then
    if options.hide_denied then
      return nil
    end
      local caller = require("operations.server.caller")
      local _, err, status, headers = caller.deny(self.registry:get_spec(id), call.identity, options.authorize)
    return nil, { code = message.codes.INVALID_REQUEST, message = err.message, data = err.details, status = status,
      headers = headers }
  end
  local envelope, err = self.registry:execute(id, input, context)
  if envelope then
    return envelope.data
  end
  return nil, content.failure(call, err)
end

--- A failed call as a failure of the protocol.
---@param call operations.mcp.ServerCall
---@param err operations.Error
---@return operations.mcp.Failure
function content.failure(call, err)
  local told = require("operations.mcp.server.told")
  local passed = told.passed(call, err)
  if passed then
    return passed
  end
  local is_told
  err, is_told = told.read(call, err, call.params.uri or call.params.name)
  local invalid = err.code == "VALIDATION_ERROR"
  return { code = invalid and message.codes.INVALID_PARAMS or message.codes.INTERNAL_ERROR,
    message = is_told and ("%s: %s"):format(err.code, err.message) or "the operation failed",
    data = invalid and message.encode(err.details or {}) and err.details or nil }
end

local common = { name = "string", title = "string", description = "string", icons = "table", annotations = "table",
  _meta = "table", accessControl = "table" }

--- Checks the argument of a program; misuse raises.
---@param given any
---@param name string  of the public function
---@param kinds table<string, string>  of its members, besides the common ones
---@param needed string  a required function
---@return table  a copy
function content.checked(given, name, kinds, needed)
  if type(given) ~= "table" then
    error(("bad argument #1 to '%s' (table expected, got %s)"):format(name, type(given)), 4)
  end
  argument.options(given, members.merged(common, kinds), name, 5)
  if type(given[needed]) ~= "function" then
    error(("bad option '%s' to '%s' (function expected, got %s)"):format(needed, name, type(given[needed])), 4)
  end
  return members.copy(given)
end

--- The members of a definition for clients.
---@param given table
---@return table
function content.told(given)
  return { name = given.name, title = given.title, description = given.description, icons = given.icons,
    annotations = given.annotations, _meta = given._meta }
end

local MAX_VALUES = 100 -- MCP's limit of one completion

local function starting_with(list, start)
  local found = {}
  for _, value in ipairs(list) do
    value = number_text.of(value)
    if value:sub(1, #start):lower() == start:lower() then
      found[#found + 1] = value
    end
  end
  return found
end

--- Completes the value of an argument from a list of values, or by the program's function.
---@param source any  string[] or fun(value: string, others: table): string[]
---@param params table  of `completion/complete`
---@return table  the result
function content.completion(source, params)
  local context = core.kind(params.context) == "object" and params.context or {}
  local others = core.kind(context.arguments) == "object" and context.arguments or {}
  local all = {}
  if type(source) == "function" then
    all = source(params.argument.value, others) or {}
  elseif type(source) == "table" then
    all = starting_with(source, params.argument.value)
  end
  local values = setmetatable({}, core.array_mt)
  for i = 1, math.min(#all, MAX_VALUES) do
    values[i] = number_text.of(all[i])
  end
  return { completion = { values = values, total = #all, hasMore = #all > MAX_VALUES } }
end

--- An operation that completes nothing.
---@return table
function content.no_completion()
  return content.completion(nil, { argument = {} })
end

content.Content = Content

return content
