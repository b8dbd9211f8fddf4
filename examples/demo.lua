--- `make demo`: a real HTTP API and a few Lua functions, called the same way.
--- The address of the API comes in TASKS_URL; examples/server/run sets it.
local operations = require("operations")

local url = assert(os.getenv("TASKS_URL"), "start me with examples/server/run")

local function heading(text)
  print("\n== " .. text)
end

local function show(value)
  print(assert(operations.json.encode(value, { indent = 2, sort_keys = true })))
end

--- The demo shows what happens; this makes it fail when something else does.
local function expect(condition, what)
  if not condition then
    error("the demo expected " .. what, 2)
  end
end

local registry = operations.registry()
local envelopes = {}

--- Calls an operation that must succeed, prints its data and keeps its envelope.
local function call(id, input)
  local envelope = assert(registry:execute(id, input))
  print(id)
  show(envelope.data)
  envelopes[#envelopes + 1] = envelope
  return envelope.data
end

print("nginx serves the API of examples/tasks.openapi.json at " .. url)

heading("Operations of an OpenAPI document, and of Lua files")
local imported = assert(operations.from_openapi.file("examples/tasks.openapi.json", {
  namespace = "tasks",
  base_url = url,
}))
local written, problems = assert(operations.scanner.scan("examples/definitions"))
expect(#problems == 0, "every file to give a definition")
assert(registry:register_all(imported))
assert(registry:register_all(written))
for _, spec in ipairs(registry:specs()) do
  print(("%-16s %-13s %s"):format(spec.namespace .. "." .. spec.name, spec.type, spec.description))
end
expect(#registry:specs() == 7, "seven operations")

heading("A query over HTTP")
local tasks = call("tasks.list", { done = false })
expect(#tasks == 1 and tasks[1].id == 2, "one open task")

heading("A mutation with a body")
local created = call("tasks.create", { body = { title = "Show the demo", priority = "high" } })
expect(created.id == 3 and created.done == false, "the third task")

heading("A Lua function that calls the HTTP operation through its env")
local summary = call("demo.summary", {})
expect(summary.open == 2 and summary.done == 1, "two open tasks and one that is done")

heading("Invalid input never leaves the program")
local nothing, invalid = registry:execute("tasks.create", { body = { title = "", priority = "urgent" } })
expect(nothing == nil and invalid.code == "VALIDATION_ERROR", "a validation error")
print(invalid)
for _, issue in ipairs(invalid.details) do
  print("  " .. issue.path .. ": " .. issue.message)
end
expect(#invalid.details == 2 and invalid.details[1].path:find("^/body/"), "two issues with their paths")

heading("An HTTP error status is an error object")
local none, missing = registry:execute("tasks.get", { id = 99 })
expect(none == nil and missing.details.statusCode == 404, "HTTP 404")
print(missing)
show({ code = missing.code, statusCode = missing.details.statusCode, body = missing.details.body })

heading("Server-sent events, each as it arrives, until the stream ends")
local events = 0
for envelope in assert(registry:subscribe("tasks.watch", { seconds = 0.1 })) do
  events = events + 1
  print(("%s %s: %s"):format(envelope.meta.event, envelope.meta.lastEventId, envelope.data.title))
  envelopes[4] = envelope
end
expect(events == 3, "an event for each of the three tasks")

heading("A subscription written in Lua")
local steps = {}
for envelope in assert(registry:subscribe("demo.countdown", { from = 3, pause = 0.01 })) do
  steps[#steps + 1] = tostring(envelope.data.left)
end
print(table.concat(steps, " "))
expect(table.concat(steps, " ") == "3 2 1 0", "a countdown")

heading("The envelopes: one shape, wherever the data came from")
for _, envelope in ipairs(envelopes) do
  expect(operations.is_response_envelope(envelope), "an envelope")
  show(envelope)
end

print("\nThe demo is done.")
