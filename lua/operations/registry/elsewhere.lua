--- Calls operations without a local handler: through the registry that is mounted there, or the call map that the
--- registry routes to. Follows tasks that operations have started on other servers.
local argument = require("operations.base.argument")
local catalog = require("operations.registry.catalog")
local context = require("operations.registry.context")
local errors = require("operations.base.error")
local importing = require("operations.registry.importing")
local marked = require("operations.base.marked")
local mounts = require("operations.registry.mounts")
local operation = require("operations.registry.operation")
local specs = require("operations.registry.spec")
local subscription = require("operations.registry.subscription")
local suggestion = require("operations.base.suggestion")
local task_loops = require("operations.task.loops")

local elsewhere = {}

--- The failure of a call that cannot be routed. It names what may be meant, but not to a handler: its errors may reach
--- callers that do not see all operations.
---@param self operations.Registry
---@param id string
---@param is_nested boolean?
---@return nil
---@return operations.Error err  OPERATION_NOT_FOUND
function elsewhere.not_here(self, id, is_nested)
  if self._operations:find(id) then
    return nil, catalog.not_found(id, "operation '%s' has no handler")
  end
  local near = not is_nested and suggestion.of(id, (self:specs({ schemas = false }))) or {}
  local hint = near[1] and (" (did you mean %s?)"):format(table.concat(near, " or ")):gsub("%%", "%%%%") or ""
  return nil, catalog.not_found(id, "no operation '%s'" .. hint)
end

-- What a call carries to another process.
local function options_of(call)
  return {
    requestId = rawget(call, "requestId"),
    parentRequestId = call.parentRequestId,
    identity = call.identity,
    deadline = call.deadline,
    metadata = call.metadata,
    traceparent = call.traceparent,
    on_progress = call.on_progress,
  }
end

-- The handler of a subscription whose events come from another process.
local function relayed(call_map, id, options)
  return function(input, call)
    local remote, err = call_map:subscribe(id, input, options)
    if not remote then
      return nil, err
    end
    call.defer(function()
      remote:close()
    end)
    local envelope
    envelope, err = remote:next()
    while envelope do
      call.emit(envelope)
      envelope, err = remote:next()
    end
    return nil, err
  end
end

--- A handler that calls an operation of another process.
---@param call_map { call: function, subscribe: function }
---@param id string
---@param streams boolean  it is a subscription
---@return fun(input: any, context: operations.Context): any, operations.Error?
function elsewhere.handler(call_map, id, streams)
  return errors.relay(function(input, call)
    if streams then
      return relayed(call_map, id, options_of(call))(input, call)
    end
    return call_map:call(id, input, options_of(call))
  end)
end

-- Calls through a call map and finishes the results: they may be cast here too, or fail when they do not fit.
local function finished_here(self, found, method, sent)
  local options = sent.options
  if method == "subscribe" then
    local stream = subscription.new({ operation = found, options = self._options, input = sent.input,
      handler = relayed(self._call_map, found:id(), options), context = sent.context, deadline = options.deadline })
    return stream, nil, task_loops.OWNED, stream
  end
  local envelope, err = self._call_map:call(found:id(), sent.input, options)
  if not envelope then
    return nil, err
  end
  return operation.answer(found, self._options, envelope)
end

--- Validates the input of an operation that is known here, ready to be sent. The other side checks access.
---@param operations table
---@param found operations.Operation
---@param method "execute"|"subscribe"
---@param input any
---@return boolean ok
---@return any input  or the error
function elsewhere.admit(operations, found, method, input)
  local id, streams = found:id(), method == "subscribe"
  local ok, admitted, unmade = operations:admit(id, input, streams)
  if unmade then
    ok, admitted = specs.make(unmade)
    if ok then
      ok, admitted = operations:admit(id, input, streams)
    end
  end
  if not ok then
    return nil, admitted
  end
  local schema = found:field("inputSchema")
  return true, marked.value(admitted, schema, schema)
end

local function route(self, found, method, asked)
  local input, _, deadline = asked.input, context.read(asked.given)
  if found then
    local ok, admitted = elsewhere.admit(self._operations, found, method, input)
    if not ok then
      return nil, admitted
    end
    input = admitted
  end
  local call_map, call = self._call_map, context.new(asked.given, self, deadline)
  local options = options_of(call)
  if found and found:finishes_all() then
    return finished_here(self, found, method, { input = input, context = call, options = options })
  elseif method == "subscribe" then
    return call_map:subscribe(asked.id, input, options)
  end
  return call_map:call(asked.id, input, options)
end

--- Calls an operation without a local handler. If its spec is known here, the input is also validated here.
---@param self operations.Registry
---@param method "execute"|"subscribe"
---@param asked operations.registry.Asked
---@return operations.Envelope|operations.Subscription|nil
---@return operations.Error?
function elsewhere.call(self, method, asked)
  argument.expect(asked.id, "string", 1, method)
  local found = self._operations:find(asked.id)
  local other, there = nil, nil
  if not found then
    other, there = mounts.find(self, asked.id)
  end
  if other then
    return other[method](other, there, asked.input, asked.given)
  elseif self._call_map then
    return route(self, found, method, asked)
  end
  return elsewhere.not_here(self, asked.id, asked.trusted ~= nil)
end

--- Waits for a task that an operation has started on its server, or cancels it, for a caller who may call the
--- operation.
---@param self operations.Registry
---@param what "wait"|"cancel"
---@param asked { id: string, task: string, given: operations.Context|table|nil }
---@return any
---@return operations.Error? err
function elsewhere.of_task(self, what, asked)
  local id, task = asked.id, asked.task
  local identity, deadline = context.read(asked.given)
  local handler, err, found = self._operations:prepare(id, {}, identity, nil, true)
  if not handler and found and specs.make(found) then
    handler, err, found = self._operations:prepare(id, {}, identity, nil, true)
  end
  local tasks = handler and importing.tasks_of(self:get_handler(id))
  if not tasks then
    return nil, not handler and errors.is_error(err) and err
      or errors.new("OPERATION_NOT_FOUND", id .. " starts no tasks of another server", { operationId = id })
  end
  local call = context.new(asked.given, self, deadline)
  if what == "cancel" then
    return tasks.cancel(task, call)
  end
  local function follow(_, own)
    return tasks.wait(task, own)
  end
  if deadline then
    return operation.run_until(deadline, found, self._options, follow, {}, call)
  end
  return operation.run(found, self._options, follow, {}, call)
end

return elsewhere
