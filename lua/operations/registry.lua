--- The registry: every operation by id, called through `execute` and `subscribe`, whoever calls.
local context = require("operations.context")
local env = require("operations.env")
local errors = require("operations.error")
local operation = require("operations.operation")
local specs = require("operations.spec")
local subscription = require("operations.subscription")

local registry = {}

---@class operations.RegistryOptions
---@field normalize? "cast"|"force"|"off"  what happens to handlers' results, default "cast"
---@field on_warning? fun(warning: { operationId: string, issues: table[], changes: table[]? })  default: to the log
---@field on_change? fun(operationId: string, changes: table[])  told of every change that casting made
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr
---@field middleware? (fun(handler: function, spec: operations.Spec): function)[]  wrapped around every handler

---@class operations.Registry
local Registry = {}
Registry.__index = Registry

local function log_to_stderr(level, message)
  if level == "warn" or level == "error" then
    io.stderr:write("operations: ", level, ": ", message, "\n")
  end
end

local function first_line(warning)
  local issue = warning.issues[1] or warning.changes[1]
  return ("%s: result does not fit its schema: %s: %s"):format(
    warning.operationId, issue.path, issue.message or "replaced")
end

local option_kinds = {
  normalize = "string", on_warning = "function", on_change = "function", log = "function", middleware = "table",
}

local function check_options(options)
  if type(options) ~= "table" then
    error(("bad argument #1 to 'registry' (table expected, got %s)"):format(type(options)), 3)
  end
  for key, value in pairs(options) do
    if type(value) ~= option_kinds[key] then
      error(("bad option '%s' to 'registry' (%s)"):format(tostring(key), option_kinds[key]
        and ("%s expected, got %s"):format(option_kinds[key], type(value)) or "unknown"), 3)
    end
  end
  local normalize = options.normalize or "cast"
  if normalize ~= "cast" and normalize ~= "force" and normalize ~= "off" then
    error("bad option 'normalize' to 'registry' (\"cast\", \"force\" or \"off\" expected)", 3)
  end
  return normalize
end

--- Makes an empty registry.
---@param options? operations.RegistryOptions
---@return operations.Registry
function registry.new(options)
  options = options or {}
  local normalize = check_options(options)
  local log = options.log or log_to_stderr
  return setmetatable({
    _operations = {}, -- by id
    _order = {}, -- ids as registered
    _log = log,
    _options = {
      normalize = normalize,
      log = log,
      on_warning = options.on_warning or function(warning)
        log("warn", first_line(warning), warning)
      end,
      on_change = options.on_change,
      middleware = options.middleware or {},
    },
  }, Registry)
end

local function duplicate(id)
  return errors.new("VALIDATION_ERROR", ("%s is registered already; pass { replace = true } to replace it"):format(id),
    { { path = "/name", keyword = "unique", message = "is registered already" } })
end

--- Checks a definition against the schema of specs and against what is there.
local function checked(self, definition, options)
  local result, err = specs.check(definition)
  if not result then
    return nil, err
  end
  local id = result.spec.namespace .. "." .. result.spec.name
  if self._operations[id] and not (options and options.replace) then
    return nil, duplicate(id)
  end
  return result, id
end

local function put(self, id, result)
  if not self._operations[id] then
    self._order[#self._order + 1] = id
  end
  self._operations[id] = operation.new(result, self._options)
end

--- Registers one operation. Its spec is copied; what was registered under the id before goes, handler and all.
---@param definition operations.Definition
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err  VALIDATION_ERROR: details lists every issue by path
function Registry:register(definition, options)
  local result, id = checked(self, definition, options)
  if not result then
    return nil, id
  end
  put(self, id, result)
  return id
end

--- Registers a list of operations, or none of them when one is refused.
---@param definitions operations.Definition[]
---@param options? { replace?: boolean }
---@return string[]? ids
---@return operations.Error? err  the paths of its issues start with the index in the list
function Registry:register_all(definitions, options)
  if type(definitions) ~= "table" then
    error(("bad argument #1 to 'register_all' (table expected, got %s)"):format(type(definitions)), 2)
  end
  local results, ids, seen, issues = {}, {}, {}, {}
  for i, definition in ipairs(definitions) do
    local result, id = checked(self, definition, options)
    if result and seen[id] then
      result, id = nil, duplicate(id)
    end
    if result then
      results[i], ids[i], seen[id] = result, id, true
    else
      for _, issue in ipairs(id.details) do
        issue.path = "/" .. i - 1 .. issue.path
        issues[#issues + 1] = issue
      end
    end
  end
  if #issues > 0 then
    return nil, errors.new("VALIDATION_ERROR", ("%s: %s"):format(issues[1].path, issues[1].message), issues)
  end
  for i, id in ipairs(ids) do
    put(self, id, results[i])
  end
  return ids
end

--- Registers a spec whose handler comes later (`register_handler`) or lives elsewhere (`route`).
---@param spec operations.Spec
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err
function Registry:register_spec(spec, options)
  if type(spec) == "table" and spec.handler ~= nil then
    error("bad argument #1 to 'register_spec' (a spec has no handler; use register)", 2)
  end
  return self:register(spec, options)
end

local function not_found(id, message)
  return errors.new("OPERATION_NOT_FOUND", message:format(id), { operationId = id })
end

local function expect_id(id, name)
  if type(id) ~= "string" then
    error(("bad argument #1 to '%s' (string expected, got %s)"):format(name, type(id)), 3)
  end
end

--- Gives a registered spec its handler, in place of the one it had.
---@param id string
---@param handler fun(input: any, context: operations.Context): any, any
---@return boolean? ok
---@return operations.Error? err
function Registry:register_handler(id, handler)
  expect_id(id, "register_handler")
  if type(handler) ~= "function" then
    error(("bad argument #2 to 'register_handler' (function expected, got %s)"):format(type(handler)), 2)
  end
  local found = self._operations[id]
  if not found then
    return nil, not_found(id, "no operation '%s'")
  end
  found:set_handler(handler)
  return true
end

--- Takes an operation out. Calls that run already end as they would.
---@param id string
---@return boolean removed
function Registry:unregister(id)
  expect_id(id, "unregister")
  if not self._operations[id] then
    return false
  end
  self._operations[id] = nil
  for i, other in ipairs(self._order) do
    if other == id then
      table.remove(self._order, i)
      break
    end
  end
  return true
end

local function copy(spec, handler)
  local fields = { handler = handler }
  for key, value in pairs(spec) do
    fields[key] = value
  end
  return fields
end

--- The definition (spec and handler) registered under an id; a copy.
---@param id string
---@return operations.Definition?
function Registry:get(id)
  expect_id(id, "get")
  local found = self._operations[id]
  return found and copy(found.spec, found.handler) or nil
end

---@param id string
---@return operations.Spec?
function Registry:get_spec(id)
  expect_id(id, "get_spec")
  local found = self._operations[id]
  return found and copy(found.spec) or nil
end

---@param id string
---@return function?
function Registry:get_handler(id)
  expect_id(id, "get_handler")
  local found = self._operations[id]
  return found and found.handler
end

---@param namespace string
---@param name string
---@return operations.Definition?
function Registry:get_by_name(namespace, name)
  return self:get(namespace .. "." .. name)
end

local function has_tag(spec, tag)
  for _, other in ipairs(spec.tags or {}) do
    if other == tag then
      return true
    end
  end
  return false
end

local function matches(spec, filter)
  return (filter.namespace == nil or spec.namespace == filter.namespace)
    and (filter.type == nil or spec.type == filter.type)
    and (filter.tag == nil or has_tag(spec, filter.tag))
end

local function select_operations(self, filter, make)
  local list = {}
  for _, id in ipairs(self._order) do
    local found = self._operations[id]
    if matches(found.spec, filter or {}) then
      list[#list + 1] = make(found)
    end
  end
  return list
end

--- The definitions, in the order of their registration.
---@param filter? { namespace?: string, type?: string, tag?: string }
---@return operations.Definition[]
function Registry:list(filter)
  return select_operations(self, filter, function(found)
    return copy(found.spec, found.handler)
  end)
end

--- As `list`, without handlers: what can be told to others.
---@param filter? { namespace?: string, type?: string, tag?: string }
---@return operations.Spec[]
function Registry:specs(filter)
  return select_operations(self, filter, function(found)
    return copy(found.spec)
  end)
end

--- Sends calls of operations without a local handler to a call map.
---@param call_map { call: function, subscribe: function }?  nil: no longer
function Registry:route(call_map)
  self._call_map = call_map
end

local function elsewhere(self, method, id, input, given)
  local found, call_map = self._operations[id], self._call_map
  expect_id(id, method == "call" and "execute" or "subscribe")
  if call_map then
    local call = context.new(given, self)
    return call_map[method](call_map, id, input, {
      parentRequestId = call.parentRequestId,
      identity = call.identity,
      deadline = call.deadline,
      metadata = call.metadata,
      traceparent = call.traceparent,
    })
  end
  return nil, not_found(id, found and "operation '%s' has no handler" or "no operation '%s'")
end

local function wrong_type(found, advice)
  return errors.new("EXECUTION_ERROR", ("%s is a %s: use registry:%s"):format(found.id, found.spec.type, advice),
    { operationId = found.id, type = found.spec.type })
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
  local call, identity, deadline = context.new(given, self)
  local ok, admitted = found:admit(input, identity, trusted)
  if not ok then
    return nil, admitted
  end
  return found:run(admitted, call, deadline)
end

local function subscribe(self, id, input, given, trusted)
  local found = self._operations[id]
  if not found or not found.handler then
    return elsewhere(self, "subscribe", id, input, given)
  elseif not found.streams then
    return nil, wrong_type(found, "execute")
  elseif input == nil then
    input = {}
  end
  local call, identity = context.new(given, self)
  local ok, admitted = found:admit(input, identity, trusted)
  if not ok then
    return nil, admitted
  end
  return subscription.new(found, admitted, call)
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

--- Starts a subscription. `for envelope in assert(registry:subscribe(id, input)) do` closes it when the loop is left
--- (on LuaJIT a `break` is noticed by the garbage collector: call `:close()` to end it at once).
---@param id string
---@param input? any
---@param given? operations.Context|table
---@return operations.Subscription? subscription
---@return operations.Error? err  as `execute`
function Registry:subscribe(id, input, given)
  local stream, err = subscribe(self, id, input, given, false)
  return stream, err, nil, stream -- the fourth is what Lua 5.4's `for` closes
end

--- `env.namespace.name(input)` calls on behalf of `given`: access control is the calling operation's business.
---@param given? operations.Context|table
---@param options? { namespaces?: string[] }
---@return table
function Registry:env(given, options)
  return env.new(function(id, input)
    local found = self._operations[id]
    if found and found.streams then
      local stream, err = subscribe(self, id, input, given, true)
      return stream, err, nil, stream
    end
    return execute(self, id, input, given, true)
  end, options)
end

return registry
