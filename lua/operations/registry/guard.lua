--- The policy of a registry: what it decides about each operation, and the calls that it stops.
local context = require("operations.registry.context")
local errors = require("operations.base.error")
local mounts = require("operations.registry.mounts")
local policies = require("operations.policy")
local task = require("operations.task")

local guard = {}

local MOST_UNMATCHED = 20 -- warnings at once

--- What the rules of a policy see of an operation; nil when it is unknown.
---@param self operations.Registry
---@param id string
---@return operations.PolicyFacts?
function guard.facts(self, id)
  local operation = self._operations:find(id)
  if operation then
    local meta = operation:field("_meta")
    return { id = id, name = operation:field("name"), type = operation:field("type"),
      destructive = type(meta) == "table" and meta.destructive == true,
      source = type(meta) == "table" and type(meta.transforms) == "string" and meta.transforms or nil }
  end
  local other, there = mounts.find(self, id)
  local facts = other and guard.facts(other, there)
  if facts then
    facts.id = id
  end
  return facts
end

local function tell_unmatched(self)
  local specs_here = self:specs({ schemas = false })
  local at = 0
  local unmatched = self._policy:unmatched(function()
    at = at + 1
    local spec = specs_here[at]
    return spec and guard.facts(self, spec.namespace .. "." .. spec.name)
  end)
  for i, rule in ipairs(unmatched) do
    if i > MOST_UNMATCHED then
      return self._options.log("warn", ("policy: %d more rules fit no operation"):format(#unmatched - MOST_UNMATCHED))
    end
    self._options.log("warn", policies.unmatched(rule, specs_here))
  end
end

--- What the policy may do to calls of an operation; false: they all run. Rules are matched when the catalogue changes.
---@param self operations.Registry  with a policy
---@param id string
---@return operations.PolicyDecision|false
function guard.decision(self, id)
  local judged = self._judged
  if judged.revision ~= self._revision then
    judged = { revision = self._revision, of = {} }
    self._judged = judged
    tell_unmatched(self)
  end
  local decision = judged.of[id]
  if decision == nil then
    local facts = guard.facts(self, id)
    decision = self._policy:decision(facts or policies.unknown(id)) or false
    judged.of[id] = facts and decision -- others choose ids that nothing has
  end
  return decision
end

--- An admitted call that the policy may stop.
---@class operations.PolicedCall
---@field id string
---@field input any
---@field given? table  the context that its caller gave
---@field identity? operations.Identity
---@field deadline? integer  ms since the epoch
---@field nested boolean  made by a handler, by its env

-- The error of a call that ended before its handler ran: the wait for an answer was interrupted.
local function unbegun(err)
  if err.mayHaveRun == false then
    return err
  end
  local copy = errors.new(err.code, err.message, err.details)
  copy.mayHaveRun, copy.retryable = false, err.retryable
  return copy
end

--- The error of a call that the policy stops; nil: it may run. Waits while a person is asked.
---@param self operations.Registry
---@param decision operations.PolicyDecision
---@param call operations.PolicedCall
---@return operations.Error?
---@return { rule: string, by: string }? approval
function guard.stopped(self, decision, call)
  local rule, remember = policies.rule(decision, call.identity, call.input, call.nested)
  if not rule then
    return nil
  elseif rule.action == "block" then
    return policies.blocked(call.id, rule)
  end
  local asked = context.new(call.given, self, call.deadline)
  local ok, err = task.enclose(call.deadline, function()
    local destination = errors.destination(self:get_handler(call.id) or guard.stopped)
    return self._policy:ask(rule, remember, { operationId = call.id, input = call.input, identity = call.identity,
      spec = self:get_spec(call.id), destination = destination }, asked)
  end)
  asked._running = false
  if not ok then
    return unbegun(err)
  end
  return nil, { rule = rule.name, by = err }
end

--- Tells the recorders of a call to an operation that the policy hides from its caller, who is told that it does not
--- exist.
---@param self operations.Registry
---@param id string
---@param given table  the context of the call
function guard.hidden(self, id, given)
  local decision = self._recorders and self._policy and guard.decision(self, id)
  local rule = decision and policies.hides(decision, given.identity)
  if rule then
    guard.refused(self, { id = id, given = given }, policies.blocked(id, rule))
  end
end

--- Tells the recorders among the middleware of a call that was refused before its handler ran.
---@param self operations.Registry  with recorders
---@param asked { id: any, input: any, given: table? }
---@param err operations.Error
---@return nil
---@return operations.Error err
function guard.refused(self, asked, err)
  if err.code == "INPUT_REQUIRED" then -- the call continues in another round
    return nil, err
  end
  local id, given = asked.id, asked.given
  local found, inner = self._operations:find(id), given and given._registry
  local call = { id = id, input = asked.input, schema = found and found:field("inputSchema"),
    requestId = given and not inner and given.requestId or nil,
    parent = given and (inner and given.requestId or given.parentRequestId),
    identity = given and given.identity, metadata = given and given.metadata }
  for _, recorder in ipairs(self._recorders) do
    local ok, raised = pcall(recorder.refused, recorder, call, err)
    if not ok then
      self._options.log("error", ("%s: audit: %s"):format(id, errors.text(raised)))
    end
  end
  return nil, err
end

--- Tells the recorders of a program of a model that has ended, whose calls they know.
---@param self operations.Registry
---@param run operations.ProgramRun
---@param err? operations.Error
function guard.program(self, run, err)
  for _, recorder in ipairs(self._recorders or {}) do
    local ok, raised = pcall(recorder.program, recorder, run, err)
    if not ok then
      self._options.log("error", ("%s: audit: %s"):format(run.id, errors.text(raised)))
    end
  end
end

return guard
