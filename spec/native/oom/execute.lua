-- A registry is made, a definition registered, looked at, called, called with bad input and without the right to, and
-- unregistered.
local operations = require("operations")

local definition = {
  namespace = "task",
  name = "create",
  inputSchema = {
    type = "object",
    properties = { title = { type = "string", minLength = 1 }, priority = { type = "integer", default = 3 } },
    required = { "title" },
  },
  outputSchema = { type = "object", properties = { id = { type = "string" }, priority = { type = "integer" } } },
  accessControl = { requiredScopes = { "task:write" } },
  handler = function(input)
    return { id = "task-" .. input.title, priority = input.priority, internal = true }
  end,
}

local owner = { identity = { id = "ada", scopes = { "task:write" } } }
local guest = { identity = { id = "bob", scopes = {} } }

return function()
  local registry = operations.registry({ log = function() end })
  assert(registry:register(definition))
  local envelope = assert(registry:execute("task.create", { title = "x" }, owner))
  assert(operations.is_response_envelope(envelope) and envelope.meta.operationId == "task.create")
  local data = operations.unwrap(envelope)
  assert(data.id == "task-x" and data.priority == 3 and data.internal == nil)
  local none, err = registry:execute("task.create", { title = "", priority = "high" }, owner)
  assert(none == nil and err.code == "VALIDATION_ERROR" and #err.details == 2, tostring(err))
  none, err = registry:execute("task.create", { title = "x" }, guest)
  assert(none == nil and err.code == "ACCESS_DENIED", tostring(err))
  assert(registry:get_spec("task.create").inputSchema.properties.title.minLength == 1)
  assert(registry:specs({ schemas = false })[1].name == "create")
  assert(registry:visible("task.create", owner.identity) == "yes" and registry:visible("task.create") == "denied")
  assert(registry:register(definition, { replace = true }))
  assert(registry:unregister("task.create") and #registry:list() == 0)
  none, err = registry:execute("task.remove", {})
  assert(none == nil and err.code == "OPERATION_NOT_FOUND", tostring(err))
end
