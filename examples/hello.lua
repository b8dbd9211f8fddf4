local operations = require("operations")
local registry = operations.registry()
local api = { namespace = "tasks", base_url = os.getenv("TASKS_URL") }
assert(registry:register_all(assert(operations.from_openapi.file("examples/tasks.openapi.json", api))))
local server = { command = arg[-1], args = { "examples/mcp/words.lua" }, env_allow = { "PATH", "LUA_*" } }
assert(assert(operations.from_mcp.connect("words", server)):register(registry))
local task = assert(registry:execute("tasks.get", { id = 2 })).data
print(task.title, assert(registry:execute("words.count_words", { text = task.title })).data.words)
