--- The registry: every operation by id, called through `execute` and `subscribe`, whoever calls.
local argument = require("operations.base.argument")
local catalog = require("operations.registry.catalog")
local context = require("operations.registry.context")
local env = require("operations.registry.env")
local errors = require("operations.base.error")
local marked = require("operations.base.marked")
local operation = require("operations.registry.operation")
local subscription = require("operations.registry.subscription")
local task_loops = require("operations.task.loops")

local call_operation = operation.call

local registry = {}

---@class operations.Registry : operations.Catalog
local Registry = setmetatable({}, catalog)
Registry.__index = Registry

--- Makes an empty registry.
---@param options? operations.RegistryOptions
---@return operations.Registry
function registry.new(options)
  local self = setmetatable({}, Registry)
  self:init(options)
  return self
end

--- Sends calls of operations without a local handler to a call map.
---@param call_map { call: function, subscribe: function }?  nil: no longer
function Registry:route(call_map)
  argument.optional(call_map, "table", 1, "route")
  self._call_map = call_map
end

local function wrong_type(found, advice)
  return errors.new("EXECUTION_ERROR", ("%s is a %s: use registry:%s"):format(found.id, found.spec.type, advice),
    { operationId = found.id, type = found.spec.type })
end

-- A spec that is known here validates the input here as well; access is the other side's business.
local function admit_known(found, method, input)
  if found.streams ~= (method == "subscribe") then
    return false, wrong_type(found, found.streams and "subscribe" or "execute")
  end
  return found:admit(input == nil and {} or input, nil, true)
end

--- Are calls of operations without a handler sent to this call map?
---@param call_map operations.CallMap
---@return boolean
function Registry:routes_to(call_map)
  return self._call_map == call_map
end

-- What has no handler here is called where the registry routes to.
local function elsewhere(self, method, id, input, given)
  local found, call_map = self._operations[id], self._call_map
  argument.expect(id, "string", 1, method == "call" and "execute" or "subscribe")
  if not call_map then
    return nil, catalog.not_found(id, found and "operation '%s' has no handler" or "no operation '%s'")
  end
  local _, deadline = context.read(given)
  if found then
    local ok, admitted = admit_known(found, method, input)
    if not ok then
      return nil, admitted
    end
    local schema = found.spec.inputSchema
    input = marked.value(admitted, schema, schema)
  end
  local call = context.new(given, self, deadline)
  return call_map[method](call_map, id, input, {
    requestId = rawget(call, "requestId"),
    parentRequestId = call.parentRequestId,
    identity = call.identity,
    deadline = call.deadline,
    metadata = call.metadata,
    traceparent = call.traceparent,
  })
end

local function execute(self, id, input, given, trusted)
  local found = self._operations[id]
  if not found or not found.handler then
    return elsewhere(self, "call", id, input, given)
  elseif found.streams then
    return nil, wrong_type(found, "subscribe")
  elseif input == nil then
    input = {}
  end
  return call_operation(found, input, given, self, trusted)
end

-- Admits the call, then starts `source`, the operation itself or what stands for it.
local function start(self, found, source, input, given, trusted)
  local identity, deadline = context.read(given)
  local ok, admitted = found:admit(input == nil and {} or input, identity, trusted)
  if not ok then
    return nil, admitted
  end
  local stream = subscription.new(source, admitted, context.new(given, self, deadline), deadline)
  return stream, nil, task_loops.OWNED, stream -- the fourth is what Lua 5.4's `for` closes
end

local function subscribe(self, id, input, given, trusted)
  local found = self._operations[id]
  if not found or not found.handler then
    return elsewhere(self, "subscribe", id, input, given)
  elseif not found.streams then
    return nil, wrong_type(found, "execute")
  end
  return start(self, found, found, input, given, trusted)
end

--- Calls a query or mutation: access control, input validation, the handler, then its result wrapped, normalized and
--- validated. No input means an empty object.
---@param id string  "namespace.name"
---@param input? any
---@param given? operations.Context|table
---@return operations.Envelope? envelope
---@return operations.Error? err  OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR (details: issues), TIMEOUT,
---  ABORTED, a code of the operation, EXECUTION_ERROR or UNKNOWN_ERROR
function Registry:execute(id, input, given)
  return execute(self, id, input, given, false)
end

--- Starts a subscription. `for envelope in assert(registry:subscribe(id, input)) do` owns it and closes it when the
--- loop is left. On LuaJIT, which tells nobody that a loop was left by `break` or an error, it is closed when the task
--- or the subscription's handler that runs the loop ends, or when it is collected, outside of these and in coroutines
--- of one's own only then: call `:close()` to end it at once. A subscription kept in a variable is closed by nobody
--- else, whoever iterates over it.
---@param id string
---@param input? any
---@param given? operations.Context|table
---@return operations.Subscription? subscription
---@return operations.Error? err  as `execute`
function Registry:subscribe(id, input, given)
  return subscribe(self, id, input, given, false)
end

-- A query's handler may emit pages; what it returns is the last one.
local function paged(found)
  return setmetatable({
    handler = function(input, call)
      local value, failure = found.handler(input, call)
      if value == nil and failure ~= nil then
        return nil, failure
      end
      call.emit(value)
    end,
  }, { __index = found })
end

--- Iterates over the pages of a query's answer, each in an envelope of its own, fetched when it is asked for:
--- `for page in assert(registry:pages(id, input)) do`. A handler that knows of no pages gives one. A handler is told
--- by `context.emit` that pages are wanted: it emits all but the last, which it returns.
---@param id string
---@param input? any
---@param given? operations.Context|table
---@return operations.Subscription? pages  as of `subscribe`
---@return operations.Error? err  as `execute`
function Registry:pages(id, input, given)
  argument.expect(id, "string", 1, "pages")
  local found = self._operations[id]
  if not found or not found.handler then
    return nil, catalog.not_found(id, found and "operation '%s' has no handler" or "no operation '%s'")
  elseif found.streams then
    return nil, wrong_type(found, "subscribe")
  end
  return start(self, found, paged(found), input, given, false)
end

local env_options = { namespaces = "table" }

--- `env.namespace.name(input)` calls on behalf of `given`: access control is the calling operation's business. When
--- `given` is the context of a call that has ended, access is checked, by the identity of that call.
---@param given? operations.Context|table
---@param options? { namespaces?: string[] }
---@return table
function Registry:env(given, options)
  argument.optional(given, "table", 1, "env")
  argument.optional(options, "table", 2, "env")
  argument.options(options or {}, env_options, "env")
  return env.new(function(id, input)
    local found, trusted = self._operations[id], context.is_trusted(given)
    if found and found.streams then
      return subscribe(self, id, input, given, trusted)
    end
    return execute(self, id, input, given, trusted)
  end, options)
end

return registry
