--- The registry: every operation by id, called through `execute` and `subscribe` by every caller.
local argument = require("operations.base.argument")
local catalog = require("operations.registry.catalog")
local context = require("operations.registry.context")
local core = require("operations.core")
local elsewhere = require("operations.registry.elsewhere")
local errors = require("operations.base.error")
local guard = require("operations.registry.guard")
local members = require("operations.base.members")
local mounts = require("operations.registry.mounts")
local operation = require("operations.registry.operation")
local policies = require("operations.policy")
local specs = require("operations.registry.spec")
local subscription = require("operations.registry.subscription")
local task_loops = require("operations.task.loops")

local operations_of, run = catalog.operations_of, operation.run
local trust = core.trust()

local registry = {}

---@class operations.Registry : operations.Catalog
---@field _jobs? operations.JobList
local Registry = setmetatable({}, catalog)
Registry.__index = Registry

function Registry:__tostring()
  local count = #self:list()
  return ("registry of %d operation%s"):format(count, count == 1 and "" or "s")
end

--- Makes an empty registry.
---@param options? operations.RegistryOptions
---@return operations.Registry
function registry.new(options)
  local self = setmetatable({ _call_map = false, _mounts = false }, Registry) -- false, not nil: each call reads them
  self:init(options)
  return self
end

--- Makes an empty registry whose handlers call the operations of another one by `context.env`.
---@param served operations.Registry
---@param options? operations.RegistryOptions
---@return operations.Registry
function registry.beside(served, options)
  local self = registry.new(options)
  self._served = served
  return self
end

--- Sends calls of operations without a local handler to a call map.
---@param call_map { call: function, subscribe: function }?  nil: stops that
function Registry:route(call_map)
  operations_of(self, "route")
  if call_map ~= nil then
    argument.object(call_map, "call", "call map", 1, "route")
    argument.object(call_map, "subscribe", "call map", 1, "route")
  end
  self._call_map = call_map or false
end

--- Are calls of operations without a handler sent to this call map?
---@param call_map operations.CallMap
---@return boolean
function Registry:routes_to(call_map)
  if not self._mounts then
    return self._call_map == call_map
  end
  return self._call_map == call_map or mounts.any(self, function(other)
    return other:routes_to(call_map)
  end)
end

local mount_options = { prefix = "string" }

--- Shows the operations of another registry in this one, `namespace.name` as `prefix.namespace.name`. The other
--- registry is read at each lookup and call. Calls go through `other:execute` and `other:subscribe`: its middleware,
--- options and access control apply, and envelopes and errors have its ids; trust between operations ends at the mount.
--- Operations registered in this registry come first.
---@param other operations.Registry
---@param options { prefix: string }
---@return boolean? ok
---@return operations.Error? err  VALIDATION_ERROR: `other` contains this registry, or another mount has the prefix
function Registry:mount(other, options)
  operations_of(self, "mount")
  argument.object(other, "routes_to", "registry", 1, "mount")
  argument.expect(options, "table", 2, "mount")
  argument.options(options, mount_options, "mount")
  local ok, err = mounts.add(self, other, options.prefix)
  if ok then
    other:on_revision(function()
      self:_changed()
    end)
    self:_changed()
  end
  return ok, err
end

-- The issues of an input without its body, which passes unread: those of other members are warned of, or refuse it.
local function beside_body(found, issues)
  local others = {}
  for _, issue in ipairs(issues) do
    others[#others + 1] = issue.path ~= "/body" and not issue.path:find("^/body/") and issue or nil
  end
  if others[1] == nil then
    return nil
  elseif found:field("validate") == "warn" then
    return others
  end
  local err = errors.new("VALIDATION_ERROR", ("%s: %s"):format(others[1].path, others[1].message), others)
  err.retryable, err.mayHaveRun = false, false
  return nil, err
end

-- Admits a call with a local handler; its schemas may have to be compiled first.
local function admit_here(self, method, call)
  local operations, unread = self._operations, call.unread
  local prepare = operations[method]
  local handler, admitted, found, _, issues = prepare(operations, call.id, call.input, call.identity, nil, unread)
  if not handler and found then
    local ok, flaw = specs.make(found)
    if not ok then
      return false, flaw
    end
    handler, admitted, found, _, issues = prepare(operations, call.id, call.input, call.identity, nil, unread)
  end
  local refused = unread and issues and select(2, beside_body(found, issues)) or nil
  return handler ~= nil and not refused, refused or admitted
end

local function admit(self, id, input, given)
  local operations = self._operations
  local found, identity, _, _, unread = operations:find(id), context.read(given)
  local streams = found and operations:type_of(id) == "subscription"
  if found and found:handler() then
    return admit_here(self, streams and "prepare_stream" or "prepare",
      { id = id, input = input, identity = identity, unread = unread })
  elseif found and self._call_map then
    local ok, admitted = elsewhere.admit(operations, found, streams and "subscribe" or "execute", input)
    return ok or false, admitted
  end
  local other, there = mounts.find(self, id)
  if other and not found then
    return other:admit(there, input, given)
  elseif self._call_map then
    return true, input -- the other registry validates it
  end
  return false, select(2, elsewhere.not_here(self, id))
end

--- Returns the input that a call would pass to the handler, after access control, defaults, validation and the rules of
--- the policy that block, without a call. For callers that ask for an approval first.
---@param id string
---@param input? any
---@param given? operations.GivenContext
---@return boolean ok
---@return any input  or the error: OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR
function Registry:admit(id, input, given)
  operations_of(self, "admit")
  argument.expect(id, "string", 1, "admit")
  local ok, admitted = admit(self, id, input, given)
  local decision = ok and self._policy and guard.decision(self, id)
  local rule = decision and policies.rule(decision, context.read(given), admitted, true)
  if rule and rule.action == "block" then
    return false, policies.blocked(id, rule)
  end
  return ok, admitted
end

local execute

---@class operations.registry.Asked  what a caller asks for
---@field id string
---@field input any
---@field given? operations.GivenContext
---@field trusted? userdata  the mark of calls between operations

-- The results of a call that is refused before its handler runs.
local function refuse(self, asked, err)
  if self._recorders then
    return guard.refused(self, asked, err)
  end
  return nil, err
end

-- As `guard.stopped` for an operation without a local handler.
local function stopped_elsewhere(self, asked)
  local id, given = asked.id, asked.given
  local decision = self._policy and type(id) == "string" and guard.decision(self, id)
  if not decision then
    return nil
  end
  local ok, admitted = admit(self, id, asked.input, given)
  if not ok then
    return admitted
  end
  local identity, deadline = context.read(given)
  return guard.stopped(self, decision, { id = id, input = admitted, given = given, identity = identity,
    deadline = deadline, nested = asked.trusted ~= nil })
end

local function call_elsewhere(self, method, asked)
  local err = stopped_elsewhere(self, asked)
  if err then
    return refuse(self, asked, err)
  end
  return elsewhere.call(self, method, asked)
end

-- Handles a call for which `prepare` gave no handler: it was refused, needs compiled schemas, or runs elsewhere.
local function not_prepared(self, asked, err, unmade)
  if unmade then
    local ok, flaw = specs.make(unmade)
    if ok then
      return execute(self, asked.id, asked.input, asked.given, asked.trusted)
    end
    return refuse(self, asked, flaw)
  elseif err then
    return refuse(self, asked, err)
  end
  return call_elsewhere(self, "execute", asked)
end

function execute(self, id, input, given, trusted)
  local identity, deadline, now, unread
  if given ~= nil then
    identity, deadline, now, unread = context.read(given)
  end
  local handler, admitted, found, takes_context, issues = self._operations:prepare(id, input, identity, trusted,
    unread)
  local refused, approval
  if not handler then
    return not_prepared(self, { id = id, input = input, given = given, trusted = trusted }, admitted, found)
  elseif unread and issues then
    issues, refused = beside_body(found, issues)
  end
  if refused then
    return nil, refused
  elseif issues then
    self._options.on_warning({ operationId = id, input = true, issues = issues })
  end
  local decision = self._policy and guard.decision(self, id)
  if decision and unread and policies.reads_input(decision) then
    refused = errors.new("VALIDATION_ERROR", id .. ": a rule of the policy reads the input: a body has to be JSON")
  elseif decision then
    refused, approval = guard.stopped(self, decision, { id = id, input = admitted, given = given, identity = identity,
      deadline = deadline, nested = trusted ~= nil })
  end
  if refused then
    return refuse(self, { id = id, input = admitted, given = given }, refused)
  end
  local call = takes_context and context.new(given, self, deadline)
  if approval and call then
    rawset(call, "_approval", approval)
  end
  if deadline and now >= deadline then
    return nil, operation.late(found, deadline, false)
  elseif deadline then
    return operation.run_until(deadline, found, self._options, handler, admitted, call)
  end
  return run(found, self._options, handler, admitted, call)
end

--- Calls a query or mutation: access control, input validation, the handler, then wrapping, normalization and
--- validation of its result. No input means an empty object.
---@param id string  "namespace.name"
---@param input? any
---@param given? operations.GivenContext
---@return operations.Envelope? envelope
---@return operations.Error? err  OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR (details: issues), TIMEOUT,
---  ABORTED, a code of the operation, EXECUTION_ERROR or UNKNOWN_ERROR
function Registry:execute(id, input, given)
  if not self._operations then
    operations_of(self, "execute")
  end
  return execute(self, id, input, given)
end

--- Waits for a task that a call has left running on its server (`context.detach`), also in an earlier program: its
--- outcome is that of the call.
---@param id string  of the operation
---@param task string  `details.task` of DETACHED
---@param given? operations.Context|table
---@return operations.Envelope? envelope
---@return operations.Error? err  as `execute`; OPERATION_NOT_FOUND, too, for operations without such tasks
function Registry:resume(id, task, given)
  operations_of(self, "resume")
  argument.expect(id, "string", 1, "resume")
  argument.expect(task, "string", 2, "resume")
  return elsewhere.of_task(self, "wait", { id = id, task = task, given = given })
end

--- Asks the server to end such a task.
---@param id string  of the operation
---@param task string
---@param given? operations.Context|table
---@return true? ok
---@return operations.Error? err
function Registry:cancel_task(id, task, given)
  operations_of(self, "cancel_task")
  argument.expect(id, "string", 1, "cancel_task")
  argument.expect(task, "string", 2, "cancel_task")
  return elsewhere.of_task(self, "cancel", { id = id, task = task, given = given })
end

--- Starts a call in the background: it continues when the task that started it has ended. Access and input are checked
--- first. As in `execute`, its questions are put by the functions of `given`.
---@param id string  "namespace.name", a query or mutation
---@param input? any
---@param given? operations.GivenContext
---@return operations.Job? job
---@return operations.Error? err  OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR
function Registry:start(id, input, given)
  operations_of(self, "start")
  argument.expect(id, "string", 1, "start")
  context.read(given)
  local ok, err = self:admit(id, input, given)
  if not ok then
    return nil, err
  end
  self._jobs = self._jobs or require("operations.registry.job").list()
  return self._jobs:start(self, { operation = id, input = input, context = given })
end

--- The jobs that `start` made: the last ones that ended, then those that run, each in order.
---@return operations.Job[]
function Registry:jobs()
  operations_of(self, "jobs")
  return self._jobs and self._jobs:all() or {}
end

---@class operations.registry.Way  how a stream of envelopes is started
---@field prepare "prepare"|"prepare_stream"  the function that admits the call
---@field body? fun(handler: function): function  makes what runs of the handler
---@field missing fun(self: operations.Registry, asked: operations.registry.Asked): any, operations.Error?  without one

-- Admits the call, then starts the handler.
local function start(self, way, asked)
  local identity, deadline = context.read(asked.given)
  local operations = self._operations
  local handler, admitted, found, _, issues = operations[way.prepare](operations, asked.id, asked.input, identity,
    asked.trusted)
  if issues then
    self._options.on_warning({ operationId = asked.id, input = true, issues = issues })
  end
  if handler then
    local decision = self._policy and guard.decision(self, asked.id)
    local refused, approval
    if decision then
      refused, approval = guard.stopped(self, decision, { id = asked.id, input = admitted, given = asked.given,
        identity = identity, deadline = deadline, nested = asked.trusted ~= nil })
    end
    if refused then
      return refuse(self, { id = asked.id, input = admitted, given = asked.given }, refused)
    end
    local call = context.new(asked.given, self, deadline)
    rawset(call, "_approval", approval)
    local stream = subscription.new({ operation = found, options = self._options, input = admitted,
      handler = way.body and way.body(handler) or handler, context = call, deadline = deadline })
    return stream, nil, task_loops.OWNED, stream -- Lua 5.4's `for` closes the fourth value
  elseif found then
    local ok, flaw = specs.make(found)
    if ok then
      return start(self, way, asked)
    end
    return refuse(self, asked, flaw)
  elseif admitted then
    return refuse(self, asked, admitted)
  end
  return way.missing(self, asked)
end

---@type operations.registry.Way
local as_stream = { prepare = "prepare_stream", missing = function(self, asked)
  return call_elsewhere(self, "subscribe", asked)
end }

--- Starts a subscription. `for envelope in assert(registry:subscribe(id, input)) do` closes it when the loop is left.
--- LuaJIT does not tell when a loop is left by `break` or an error: there it is closed when the task or subscription
--- handler that runs the loop ends, or when it is collected. Outside of these, and in coroutines of the program, only
--- collection closes it; call `:close()` to end it at once. A subscription kept in a variable is not closed by loops
--- over it.
---@param id string
---@param input? any
---@param given? operations.GivenContext
---@return operations.Subscription? subscription
---@return operations.Error? err  as `execute`
function Registry:subscribe(id, input, given)
  operations_of(self, "subscribe")
  return start(self, as_stream, { id = id, input = input, given = given })
end

-- A query's handler may emit pages; its result is the last page.
local function paged(handler)
  return function(input, call)
    local value, failure = handler(input, call)
    if value == nil and failure ~= nil then
      return nil, failure
    end
    call.emit(value)
  end
end

---@type operations.registry.Way
local as_pages = { prepare = "prepare", body = paged, missing = function(self, asked)
  local other, there = mounts.find(self, asked.id)
  local err = other and stopped_elsewhere(self, asked)
  if err then
    return refuse(self, asked, err)
  elseif other then
    return other:pages(there, asked.input, asked.given)
  end
  return elsewhere.not_here(self, asked.id, asked.trusted ~= nil)
end }

--- Iterates over the pages of a query's answer, each in its own envelope, fetched on demand: `for page in
--- assert(registry:pages(id, input)) do`. A handler without pages gives one. A handler sees `context.emit` when pages
--- are wanted: it emits all but the last, which it returns.
---@param id string
---@param input? any
---@param given? operations.GivenContext
---@return operations.Subscription? pages  as from `subscribe`
---@return operations.Error? err  as `execute`
function Registry:pages(id, input, given)
  operations_of(self, "pages")
  argument.expect(id, "string", 1, "pages")
  return start(self, as_pages, { id = id, input = input, given = given })
end

-- A table whose fields are made when they are first read.
local function made_when_read(make)
  return setmetatable({}, {
    __index = function(self, name)
      local value = make(name)
      rawset(self, name, value)
      return value
    end,
  })
end

-- It is live: operations registered later can be called.
local function env_of(self, given, options, trust_of)
  local operations = self._operations
  local allowed = options and options.namespaces and members.set(options.namespaces)
  local function bind(namespace, name)
    local id = namespace .. "." .. name
    return function(input)
      if allowed and not allowed[namespace] then
        return nil, errors.new("OPERATION_NOT_FOUND", ("%s is outside this env"):format(id), { operationId = id })
      end
      local trusted = trust_of and trust_of(given)
      if operations:type_of(id) == "subscription" then
        return start(self, as_stream, { id = id, input = input, given = given, trusted = trusted })
      end
      return execute(self, id, input, given, trusted)
    end
  end
  return made_when_read(function(namespace)
    return made_when_read(function(name)
      return bind(namespace, name)
    end)
  end)
end

local env_options = { namespaces = "table" }

--- `env.namespace.name(input)` calls on behalf of `given`. Each call asks for access with `given.identity`; without
--- `given`, the caller is anonymous. Only the env that a handler finds in its own context is trusted.
---@param given? operations.GivenContext
---@param options? { namespaces?: string[] }
---@return operations.Env
function Registry:env(given, options)
  operations_of(self, "env")
  argument.optional(given, "table", 1, "env")
  argument.optional(options, "table", 2, "env")
  argument.options(options or {}, env_options, "env")
  return env_of(self, given, options)
end

-- The handler is responsible for access control until its call has ended; after that, its identity is asked for access.
local function trust_of(own)
  return own._running and trust or nil
end

-- The env of a handler's own context.
context.use_env(function(self, own)
  return env_of(self._served or self, own, nil, trust_of)
end)

return registry
