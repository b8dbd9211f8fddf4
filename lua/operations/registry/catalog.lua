--- Registers, removes, looks up and lists operations. One C object (src/registry/registry.c) holds them by id, in the
--- order of registration, and gives out copies of their specs. Those of a mounted registry are looked up there.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local guard = require("operations.registry.guard")
local log = require("operations.task.log")
local members = require("operations.base.members")
local mounts = require("operations.registry.mounts")
local policies = require("operations.policy")
local specs = require("operations.registry.spec")
local subscription = require("operations.registry.subscription")

---@class operations.Catalog
local catalog = {}
catalog.__index = catalog

---@class operations.RegistryOptions
---@field normalize? "cast"|"force"|"off"  how results of handlers are normalized; default "cast"
---@field on_mismatch? "warn"|"fail"  a result that does not fit its schema is a warning (default), or the error
---  OUTPUT_INVALID with the issues as details
---@field on_warning? fun(warning: { operationId: string, issues: table[], changes: table[]?, input: true? })  called
---  for results that do not fit, and, with `validate = "warn"`, for inputs; default: to the log
---@field on_change? fun(operationId: string, changes: table[])  called with every change that casting makes
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr
---@field middleware? (fun(handler: function, spec: operations.Spec): function)[]  wrapped around every handler
---@field policy? operations.Policy|operations.PolicyRule[]  which calls run, need an approval, or never run

local option_kinds = {
  normalize = "string", on_mismatch = "string",
  on_warning = "function", on_change = "function", log = "function", middleware = "table", policy = "table",
}

local function check_options(given)
  if type(given) ~= "table" then
    error(("bad argument #1 to 'registry' (table expected, got %s)"):format(type(given)), 4)
  end
  argument.options(given, option_kinds, "registry", 5)
  local normalize, on_mismatch = given.normalize or "cast", given.on_mismatch or "warn"
  if normalize ~= "cast" and normalize ~= "force" and normalize ~= "off" then
    error("bad option 'normalize' to 'registry' (\"cast\", \"force\" or \"off\" expected)", 4)
  elseif on_mismatch ~= "warn" and on_mismatch ~= "fail" then
    error("bad option 'on_mismatch' to 'registry' (\"warn\" or \"fail\" expected)", 4)
  end
end

local function first_line(warning)
  local issue, subject = warning.issues[1] or warning.changes[1], warning.input and "input" or "result"
  return ("%s: %s does not fit its schema: %s: %s"):format(
    warning.operationId, subject, issue.path == "" and subject or issue.path, issue.message or "replaced")
end

--- Sets the fields of a catalog in a new object.
---@param self table
---@param given? operations.RegistryOptions
function catalog.init(self, given)
  given = given == nil and {} or given
  check_options(given)
  local write = given.log or log.write
  local policy, flaw
  if given.policy then
    policy, flaw = policies.of(given.policy)
    if not policy then
      error(("bad option 'policy' to 'registry' (%s)"):format(flaw.message), 3)
    end
  end
  self._policy, self._judged, self._recorders = policy or false, {}, false
  self._revision = 0
  self._operations = core.registry(given.normalize or "cast", given.on_change ~= nil, given.on_mismatch == "fail")
  self._options = {
    log = write,
    on_warning = given.on_warning or function(warning)
      write("warn", first_line(warning), warning)
    end,
    on_change = given.on_change,
    middleware = given.middleware or {},
  }
  for _, each in ipairs(self._options.middleware) do
    if type(each) == "table" and type(each.refused) == "function" then
      self._recorders = members.joined(self._recorders or {}, { each })
    end
  end
end

--- The operations of a registry; raises for other values: `registry.get({})`.
---@param self any
---@param name string  of the public function
---@return table
function catalog.operations_of(self, name)
  local operations = type(self) == "table" and self._operations
  if not operations then
    error(("calling '%s' on bad self (registry expected, got %s)"):format(name, type(self)), 3)
  end
  return operations
end

local operations_of = catalog.operations_of

-- Notifies the listeners.
local function changed(self)
  self._revision = self._revision + 1
  for _, listener in ipairs(self._listeners or {}) do
    listener()
  end
end
catalog._changed = changed

--- Calls a function whenever operations were registered or removed, here or in a mounted registry. It must not wait.
---@param fn fun()
---@return fun() stop
function catalog:on_revision(fn)
  operations_of(self, "on_revision")
  argument.expect(fn, "function", 1, "on_revision")
  local function listener() -- a new function: the same one may be given twice
    fn()
  end
  self._listeners = members.joined(self._listeners or {}, { listener }) -- a new list: a traversal may be running
  return function()
    local others = {}
    for _, each in ipairs(self._listeners) do
      others[#others + 1] = each ~= listener and each or nil
    end
    self._listeners = others
  end
end

local function duplicate(id)
  return errors.new("VALIDATION_ERROR", ("%s is already registered; pass { replace = true } to replace it"):format(id),
    { { path = "/name", keyword = "unique", message = "is already registered" } })
end

--- Checks a definition against the schema of specs and the registered operations.
local function checked(operations, definition, options)
  local result, err = specs.check(definition)
  if not result then
    return nil, err
  end
  local id = result.spec.namespace .. "." .. result.spec.name
  if operations:find(id) and not (options and options.replace) then
    return nil, duplicate(id)
  end
  return result, id
end

-- The handlers of definitions by those around them, which refer to them. Weak values: LuaJIT's tables with weak keys
-- are no ephemeron tables, and would keep what a handler refers to.
local origins = setmetatable({}, { __mode = "kv" })

--- Each middleware takes (handler, spec) and returns the handler to use; the first one listed is the outermost.
local function set_handler(self, operation, handler)
  local origin = handler
  if operation:field("type") == "subscription" then
    handler = errors.relay(subscription.iterating(handler), handler)
  end
  local middleware, given = self._options.middleware, handler
  for i = #middleware, 1, -1 do
    handler = middleware[i](handler, operation:spec())
    if type(handler) ~= "function" then
      error(("middleware [%d] has to return a function for %s, not a %s"):format(i, operation:id(), type(handler)), 0)
    end
  end
  if handler ~= given then
    errors.relay(handler, given)
  end
  if handler ~= origin then
    origins[handler] = origin
  end
  local info = debug and debug.getinfo(handler, "u") -- a program may have left out `debug`
  operation:set_handler(handler, not info or info.isvararg or info.nparams >= 2) -- C functions are variadic
end

--- The handler of an operation as its definition had it, without middleware.
---@param id string
---@return function?
function catalog:origin(id)
  local operation = operations_of(self, "origin"):find(id)
  if operation then
    local handler = operation:handler()
    return handler and (origins[handler] or handler)
  end
  local other, there = mounts.find(self, id)
  return other and other:origin(there)
end

-- Makes an operation that is not in the registry yet. Middleware may raise; then nothing has changed.
local function made_of(self, result)
  local compiled = result.compiled or {}
  local operation = self._operations:operation(result.spec, compiled.inputSchema, compiled.outputSchema)
  if result.handler then
    set_handler(self, operation, result.handler)
  end
  return operation
end

--- Registers one operation. Copies its spec; with `replace`, the previous operation is removed with its handler.
---@param definition operations.Definition
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err  VALIDATION_ERROR: details lists every issue by path
function catalog:register(definition, options)
  local operations = operations_of(self, "register")
  argument.expect(definition, "table", 1, "register")
  argument.optional(options, "table", 2, "register")
  local result, id = checked(operations, definition, options)
  if not result then
    return nil, id
  end
  operations:put(made_of(self, result))
  changed(self)
  return id
end

--- Registers a list of operations; none of them if one is refused.
---@param definitions operations.Definition[]
---@param options? { replace?: boolean }
---@return string[]? ids
---@return operations.Error? err  the paths of its issues start with the index in the list
function catalog:register_all(definitions, options)
  local operations = operations_of(self, "register_all")
  argument.expect(definitions, "table", 1, "register_all")
  argument.optional(options, "table", 2, "register_all")
  local results, ids, seen, issues = {}, {}, {}, {}
  for i, definition in ipairs(definitions) do
    local result, id = checked(operations, definition, options)
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
  for i, result in ipairs(results) do
    results[i] = made_of(self, result)
  end
  for _, operation in ipairs(results) do
    operations:put(operation)
  end
  changed(self)
  return ids
end

--- Registers a spec whose handler comes later (`register_handler`) or is in another process (`route`).
---@param spec operations.Spec
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err
function catalog:register_spec(spec, options)
  operations_of(self, "register_spec")
  argument.expect(spec, "table", 1, "register_spec")
  argument.optional(options, "table", 2, "register_spec")
  if spec.handler ~= nil then
    error("bad argument #1 to 'register_spec' (a spec has no handler; use register)", 2)
  end
  return self:register(spec, options)
end

--- The error for an id that cannot be called.
---@param id string
---@param message string  a format for the id
---@return operations.Error
function catalog.not_found(id, message)
  local err = errors.new("OPERATION_NOT_FOUND", message:format(id), { operationId = id })
  err.retryable, err.mayHaveRun = false, false
  return err
end

--- Sets the handler of a registered spec.
---@param id string
---@param handler fun(input: any, context: operations.Context): any, any
---@return boolean? ok
---@return operations.Error? err
function catalog:register_handler(id, handler)
  local operations = operations_of(self, "register_handler")
  argument.expect(id, "string", 1, "register_handler")
  argument.expect(handler, "function", 2, "register_handler")
  local operation = operations:find(id)
  if not operation then
    return nil, catalog.not_found(id, "no operation '%s'")
  end
  set_handler(self, operation, handler)
  return true
end

--- Removes an operation. Running calls are not affected.
---@param id string
---@return boolean removed
function catalog:unregister(id)
  local operations = operations_of(self, "unregister")
  argument.expect(id, "string", 1, "unregister")
  local removed = operations:remove(id)
  if removed then
    changed(self)
  end
  return removed
end

--- A copy of a registered operation with its schemas compiled.
local function whole(operation)
  local ok, err = specs.make(operation)
  if not ok then
    return nil, err
  end
  return operation:spec()
end

--- The definition (spec and handler) registered under an id; a copy.
---@param id string
---@return operations.Definition?
---@return operations.Error? err  when its schemas, made on first use, are invalid
function catalog:get(id)
  local operation = operations_of(self, "get"):find(id)
  argument.expect(id, "string", 1, "get")
  if not operation then
    return mounts.get(self, "get", id)
  end
  local definition, err = whole(operation)
  if definition then
    definition.handler = operation:handler()
  end
  return definition, err
end

--- A copy of the spec of an operation, without its handler.
---@param id string
---@return operations.Spec?
---@return operations.Error? err  as `get`
function catalog:get_spec(id)
  local operation = operations_of(self, "get_spec"):find(id)
  argument.expect(id, "string", 1, "get_spec")
  if operation then
    return whole(operation)
  end
  return mounts.get(self, "get_spec", id)
end

--- The type of an operation, and whether it may be offered to others (`_meta.exposed` is not false).
---@param id string
---@return "query"|"mutation"|"subscription"|nil type
---@return boolean exposed
---@return boolean? looks  does its handler, the policy or a recorder of calls read the context?
function catalog:type_of(id)
  local operations = operations_of(self, "type_of")
  argument.expect(id, "string", 1, "type_of")
  if self._mounts and not operations:find(id) then
    local other, there = mounts.find(self, id)
    if other then
      return other:type_of(there)
    end
  end
  local kind, exposed, looks = operations:type_of(id)
  return kind, exposed, looks or kind and (self._policy or self._recorders) and true or looks
end

--- A number that grows with every registration and removal, here and in mounted registries: data derived from specs is
--- then out of date.
---@return number
function catalog:revision()
  if not self._revision then
    operations_of(self, "revision")
  end
  return self._revision
end

--- The names of an operation's parameters (the properties of its inputSchema) in any order, for a search. Does not make
--- schemas: of a schema made on first use, only the names that its source already knows.
---@param id string
---@return string[]? names  nil when the operation is unknown
function catalog:parameters(id)
  local operation = operations_of(self, "parameters"):find(id)
  argument.expect(id, "string", 1, "parameters")
  if operation then
    return specs.parameters(operation:field("inputSchema"))
  end
  local other, there = mounts.find(self, id)
  return other and other:parameters(there)
end

--- The handler of an operation, with its middleware; nil when the id is unknown.
---@param id string
---@return function?
function catalog:get_handler(id)
  local operation = operations_of(self, "get_handler"):find(id)
  argument.expect(id, "string", 1, "get_handler")
  if operation then
    return operation:handler()
  end
  local other, there = mounts.find(self, id)
  return other and other:get_handler(there)
end

--- The definition of an operation by the two parts of its id; nil when it is unknown.
---@param namespace string
---@param name string
---@return operations.Definition?
function catalog:get_by_name(namespace, name)
  operations_of(self, "get_by_name")
  argument.expect(namespace, "string", 1, "get_by_name")
  argument.expect(name, "string", 2, "get_by_name")
  return self:get(namespace .. "." .. name)
end

---@class operations.Filter
---@field namespace? string
---@field type? string
---@field tag? string
---@field schemas? boolean  false: leaves out inputSchema, outputSchema and errorSchemas, and does not make those that
---  are made on first use, so that long lists are cheap

local filter_kinds = { namespace = "string", type = "string", tag = "string", schemas = "boolean" }

local function select_operations(self, filter, name)
  local operations = operations_of(self, name)
  if filter ~= nil then
    argument.options(filter, filter_kinds, name)
  end
  local bare, list, flaws = filter ~= nil and filter.schemas == false, {}, {}
  for _, operation in ipairs(operations:select(filter)) do
    local spec, flaw
    if bare then
      spec = operation:spec(false)
    else
      spec, flaw = whole(operation)
    end
    if spec and name == "list" then
      spec.handler = operation:handler()
    end
    list[#list + 1], flaws[#flaws + 1] = spec, flaw
  end
  mounts.add_to(self, name, filter, list, flaws)
  return list, flaws
end

--- The definitions, in the order of registration, without those whose schemas are invalid.
---@param filter? operations.Filter
---@return operations.Definition[]
---@return operations.Error[] flaws  of the invalid ones, details { operationId, issues }
function catalog:list(filter)
  argument.optional(filter, "table", 1, "list")
  return select_operations(self, filter, "list")
end

--- As `list`, without handlers: data that can be sent to others.
---@param filter? operations.Filter
---@return operations.Spec[]
---@return operations.Error[] flaws
function catalog:specs(filter)
  argument.optional(filter, "table", 1, "specs")
  return select_operations(self, filter, "specs")
end

--- Tells if an identity may see an operation. "hidden": it is not exposed (`_meta.exposed` is false) or excluded by the
--- filter, or the policy blocks every call of it, and others must not learn of it. "denied": this identity may not call
--- it. The input is unknown: where access to one resource of a type is required, access to any of them counts.
---@param spec operations.Spec|string  or the id of a registered operation
---@param identity? operations.Identity  nil: none
---@param filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean
---@return "yes"|"denied"|"hidden"
function catalog:visible(spec, identity, filter)
  local operations = operations_of(self, "visible")
  if type(spec) ~= "string" then
    argument.expect(spec, "table", 1, "visible")
  end
  argument.optional(identity, "table", 2, "visible")
  local found = spec
  if type(filter) == "function" then
    found = type(spec) == "table" and spec or self:get_spec(spec)
    if not found or not filter(found, identity) then
      return "hidden"
    end
    filter = nil
  end
  argument.optional(filter, "table", 3, "visible")
  argument.options(filter or {}, filter_kinds, "visible")
  local other, there = nil, nil
  if type(spec) == "string" and self._mounts and not operations:find(spec) then
    other, there = mounts.find(self, spec)
    found = self:get_spec(spec)
  end
  local seen = operations:visible(found, identity, filter)
  if self._policy and seen == "yes" then
    local decision = guard.decision(self, type(spec) == "string" and spec or spec.namespace .. "." .. spec.name)
    seen = decision and policies.hides(decision, identity) and "hidden" or seen
  end
  return other and seen == "yes" and other:visible(there, identity) or seen
end

return catalog
