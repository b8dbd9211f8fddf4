--- Runs the calls of an answer: asks for approval where required, then runs several at a time; every call gets a
--- result.
local approvals = require("operations.people.approvals")
local content = require("operations.tools.content")
local core = require("operations.core")
local errors = require("operations.base.error")
local first_events = require("operations.offer.first_events")
local members = require("operations.base.members")
local task = require("operations.task")
local task_map = require("operations.task.map")

local runner = {}

--- The result of a call.
---@class operations.ToolResult
---@field id? string
---@field name? string
---@field operationId? string
---@field ok boolean
---@field envelope? operations.Envelope
---@field error? operations.Error
---@field content operations.ToolContent  for the model

local function aborted()
  local err = errors.new("ABORTED", "the call was not made: the run was cancelled")
  err.mayHaveRun = false
  return err
end

local function is_cancelled(context)
  if task.cancelled() then
    return true
  end
  local asked = type(context) == "table" and context.cancelled
  if type(asked) ~= "function" then
    return false
  end
  local ok, answer = pcall(asked, context)
  return ok and answer == true
end

-- The first events of a subscription as a list.
local function events(self, call, context)
  local stream, err = self._registry:subscribe(call.operationId, call.input, context)
  if not stream then
    return nil, err
  end
  local list
  list, err = first_events.read(stream, self._options.subscriptions)
  return list and core.local_envelope(list, call.operationId), err
end

local function execute(self, call, context)
  if self._registry:type_of(call.operationId) == "subscription" then
    return events(self, call, context)
  end
  return self._registry:execute(call.operationId, call.input, context)
end

-- Runs one call; never raises.
local function perform(self, call, context)
  local options = self._options
  if call.own then
    local ok, text, failed, problem = pcall(call.own, call.input, context)
    if not ok then
      problem = errors.from(text)
      return content.of_error(problem, options), nil, problem
    end
    return content.of_text(text, failed or false, options), nil, problem
  end
  local ok, envelope, err = pcall(execute, self, call, context)
  if not ok then
    envelope, err = nil, (errors.from(envelope))
  end
  if not envelope then
    return content.of_error(err, options), nil, err
  end
  local schema = call.spec and call.spec.outputSchema
  if self._registry:type_of(call.operationId) == "subscription" then
    schema = { items = schema }
  end
  local made, told = pcall(content.of, envelope, schema, options)
  if not made then
    err = errors.from(told)
    return content.of_error(err, options), envelope, err
  end
  return told, envelope
end

local function result_of(call, told, envelope, err)
  return { id = call.id, name = call.name, operationId = call.operationId, ok = not told.failed and not err,
    envelope = envelope, error = err, content = told }
end

local function failed(self, call, err)
  return result_of(call, content.of_error(err, self._options), nil, err)
end

-- Asks for approval of one call if required; not for a call that the schema refuses.
local function approve(self, call, context)
  local options = self._options
  if not options.confirm or call.own or self._registry:type_of(call.operationId) == "query" then
    return true
  end
  local ok, fits, admitted = pcall(self._registry.admit, self._registry, call.operationId, call.input, context)
  if not ok or not fits then
    return nil, ok and admitted or (errors.from(fits))
  end
  call.input = admitted
  return approvals.ask({ operationId = call.operationId, input = admitted, identity = context.identity,
    spec = call.spec, name = call.name, id = call.id }, options.confirm, options.approvals)
end

-- Asks one question at a time, in the order of the calls.
local function ask(self, calls, results, context)
  local wanted = {}
  for i, call in ipairs(calls) do
    local err = call.error
    if not err and is_cancelled(context) then
      err = aborted()
    elseif not err then
      local _, refused = approve(self, call, context)
      err = refused
    end
    if err then
      results[i] = failed(self, call, err)
    else
      wanted[#wanted + 1] = i
    end
  end
  return wanted
end

--- Runs calls, at most `parallel` at a time, started in order. Never raises; when the running task or the context is
--- cancelled, calls that have not started get ABORTED.
---@param self operations.Tools
---@param calls operations.ToolCall[]
---@param given? operations.GivenContext
---@return operations.ToolResult[]  in the order of the calls
function runner.run(self, calls, given)
  local context = type(given) == "table" and given or {}
  if context.identity == nil and self._options.identity then
    context = context._registry and context or members.merged(context, { identity = self._options.identity })
  end
  local results = {}
  local wanted = ask(self, calls, results, context)
  local function work(i)
    if is_cancelled(context) then
      return
    end
    local call = calls[i]
    results[i] = result_of(call, perform(self, call, context))
  end
  if #wanted == 1 or self._options.parallel == 1 then
    for _, i in ipairs(wanted) do
      work(i)
    end
  elseif #wanted > 0 then
    -- Raises when this task is cancelled; finished calls keep their results.
    pcall(task_map.map, wanted, work, { limit = self._options.parallel, stop_on_error = false })
  end
  for i, call in ipairs(calls) do
    results[i] = results[i] or failed(self, call, aborted())
  end
  return results
end

return runner
