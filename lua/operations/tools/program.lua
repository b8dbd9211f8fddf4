--- The tool `run_lua`: programs that a model writes, as a call of `run`.
local approvals = require("operations.people.approvals")
local code = require("operations.offer.code")
local content = require("operations.tools.content")
local core = require("operations.core")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local task = require("operations.task")
local task_wait = require("operations.task.wait")

local program = {}

--- What programs may call: what is offered to the identity.
---@param self operations.Tools
---@return operations.offer.Sight
function program.sight(self)
  local options = self._options
  return code.sight(self._registry, options.code, { identity = options.identity, sees = function(id)
    return self._registry:visible(id, options.identity, options.filter) == "yes"
  end, id_of = function(name)
    return self:id_of(name)
  end })
end

--- The definitions of the three tools. Vendors have no annotations: they do not depend on what there is.
---@return table[]
function program.tools()
  return code.tools({ mutation = true, destructive = true })
end

-- One question at a time, as for the calls of an answer.
local function in_turn(waiting, fn)
  while waiting.busy do
    task.await(function(wake)
      return task_wait.add(waiting, wake)
    end)
  end
  waiting.busy = true
  local ok, result, err = pcall(fn)
  waiting.busy = false
  local wakes = members.joined(waiting)
  for i = #waiting, 1, -1 do
    waiting[i] = nil
  end
  task_wait.wake(wakes)
  if not ok then
    error(result, 0)
  end
  return result, err
end

-- Asks `confirm` about a call of the program that the schema takes.
local function approve(self, waiting, id, input, context)
  local fits, admitted = self._registry:admit(id, input, context)
  if not fits then
    return admitted
  end
  local _, err = in_turn(waiting, function()
    return approvals.ask({ operationId = id, input = admitted, identity = context.identity,
      spec = self._registry:get_spec(id), name = self:name_of(id) }, self._options.confirm, self._options.approvals)
  end)
  return err
end

-- The failure of a call as the model reads it: without details where they are internal.
local function tell(self, err)
  local seen = content.of_error(err, self._options).data or { code = err.code, message = "the message is too long" }
  local other = errors.new(seen.code, seen.message, err.code == "VALIDATION_ERROR" and err.details or seen.details)
  other.retryable, other.mayHaveRun = err.retryable, err.mayHaveRun
  return other
end

--- Runs a program.
---@param self operations.Tools
---@param input { code: string, dry_run?: boolean }
---@param given table  the context of the run
---@return string text  for the model
---@return boolean failed
---@return operations.Error? err
function program.run(self, input, given)
  local options, id, waiting = self._options, core.random_id(), {}
  local result, err = code.run({ registry = self._registry, guide = self._guide, sight = self._sight,
    options = options.code, code = input.code, dry_run = input.dry_run, id = id,
    identity = given.identity, metadata = given.metadata,
    deadline = given.deadline or given.timeout and task.now() + given.timeout, context = function()
      if given._registry then
        return given
      end
      local context = members.merged(given, { parentRequestId = id })
      context.requestId = nil
      return context
    end, tell = function(failure)
      return tell(self, failure)
    end, approve = options.confirm and function(operation, value, context)
      return approve(self, waiting, operation, value, context)
    end })
  if not result then
    return content.of_error(err, options).text, true, err
  end
  return result.ok and code.text(result) or code.failure(result), not result.ok, result.error
end

return program
