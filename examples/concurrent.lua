--- Calls are written in direct style and wait on their own; `all` lets them wait together.
local operations = require("operations")

local registry = operations.registry()
local tasks = { namespace = "tasks", base_url = os.getenv("TASKS_URL") }
assert(registry:register_all(assert(operations.from_openapi.file("examples/tasks.openapi.json", tasks))))

operations.run(function()
  local titles = assert(operations.all({
    function() return assert(registry:execute("tasks.get", { id = 1 })).data.title end,
    function() return assert(registry:execute("tasks.get", { id = 2 })).data.title end,
  }))
  print(titles[1], titles[2]) --> Read the design	Water the plants

  -- A deadline reaches everything that the call waits for.
  local slow = assert(registry:subscribe("tasks.watch", { seconds = 60 }, { timeout = 1000 }))
  local count = 0
  local envelope, err = slow:next()
  while envelope do
    count = count + 1
    envelope, err = slow:next()
  end
  print(count, err.code) --> 2	TIMEOUT
end)
