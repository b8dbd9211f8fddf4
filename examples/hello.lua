local operations = require("operations")
local T = operations.type
local registry = operations.registry()
local api = { namespace = "tasks", base_url = os.getenv("TASKS_URL") }
assert(registry:register_all(assert(operations.from_openapi.file("examples/tasks.openapi.json", api))))
assert(registry:register({
  namespace = "report", name = "open", type = "query", outputSchema = T.integer(),
  handler = function(_, context)
    return #assert(context.env.tasks.list({ done = false })).data
  end,
}))
print(assert(registry:execute("report.open")).data)
print(select(2, registry:execute("tasks.get", { id = "seven" })))
print(select(2, registry:execute("tasks.get", { id = 7 })))
