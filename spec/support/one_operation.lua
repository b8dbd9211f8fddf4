--- One operation "a.b" in a registry of its own, what it warned of and what it logged.
local operations = require("operations")

local one_operation = { warnings = {}, logged = {} }

one_operation.task_schema = {
  type = "object",
  required = { "id", "total" },
  properties = {
    id = { type = "string" },
    total = { type = "integer" },
    state = { type = "string", default = "open" },
    note = { type = { "string", "null" } },
  },
}

--- A registry with the definition, which becomes that of "a.b".
function one_operation.registry(definition, options)
  local warnings, logged = {}, {}
  one_operation.warnings, one_operation.logged = warnings, logged
  options = options or {}
  options.log = function(_, message)
    logged[#logged + 1] = message
  end
  options.on_warning = function(warning)
    warnings[#warnings + 1] = warning
  end
  local registry = operations.registry(options)
  definition.namespace, definition.name = "a", "b"
  assert(registry:register(definition))
  return registry
end

--- What it answers with.
function one_operation.answer(definition, input, options)
  return one_operation.registry(definition, options):execute("a.b", input)
end

--- A definition whose handler returns the value, which should fit task_schema.
function one_operation.returning(value)
  return { outputSchema = one_operation.task_schema, handler = function() return value end }
end

return one_operation
