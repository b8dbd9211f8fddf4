--- The Lua part of app.c: calls an HTTP API and follows a stream in the loop of the program.
local operations = require("operations")

io.stdout:setvbuf("line")
local loop = operations.loop()
local registry = operations.registry()
local tasks = { namespace = "tasks", base_url = os.getenv("TASKS_URL") }
assert(registry:register_all(assert(operations.from_openapi.file("examples/tasks.openapi.json", tasks))))

local function show(id)
  local answer = assert(registry:execute("tasks.get", { id = id }))
  print(answer.data.title)
end

operations.spawn(function()
  show(1)
  for envelope in registry:subscribe("tasks.watch", { seconds = 60 }) do
    print(envelope.meta.event, envelope.data.title)
    if envelope.data.id == 2 then
      break
    end
  end
  print("the stream is closed")
end)

return {
  fd = function() return loop:fd() end,
  turn = function() return loop:turn() end,
  key = function() operations.spawn(show, 2) end,
}
