--- An agent whose model writes programs (code mode): three tools in place of many definitions, and one program for
--- the whole job. Each mutation of the program needs the user's approval. The model is canned
--- (examples/agent/model.lua); for a real one, `ask` sends the vendor's request.
local operations = require("operations")
local model = require("examples.agent.model")
local T = operations.type
local registry = operations.registry()

local tasks = { { id = 1, title = "buy milk", done = true }, { id = 2, title = "call Ada", done = false },
  { id = 3, title = "buy bread", done = true } }

assert(registry:register_all({
  { namespace = "tasks", name = "list", type = "query", description = "Lists all tasks",
    outputSchema = T.array(T.object({ id = T.integer(), title = T.string(), done = T.boolean() })),
    handler = function()
      return tasks
    end },
  { namespace = "tasks", name = "remove", description = "Removes a task", _meta = { destructive = true },
    inputSchema = T.object({ id = T.integer({ minimum = 1 }) }),
    handler = function(input)
      return { removed = input.id }
    end },
}))

-- What the model says, turn by turn. Its second program is the first one, repaired.
local url, stop_model = model.start({
  { { "search_operations", { query = "tasks" } } },
  { { "run_lua", { code = [[
    local list, err = call("tasks.lst")
    if not list then return nil, err end
    return #list]] } } },
  { { "run_lua", { code = [[
    local list, err = call("tasks.list")
    if not list then return nil, err end
    local report = {}
    for _, task in ipairs(list) do
      if task.done then
        local removed, refused = call("tasks.remove", { id = task.id })
        report[#report + 1] = task.title .. ": " .. (removed and "removed" or refused.message)
      end
    end
    return report]] } } },
})

local function ask(conversation, definitions)
  local response = assert(operations.http.request({ url = url, method = "POST",
    json = { format = "anthropic", conversation = conversation, tools = definitions } }))
  return assert(operations.json.decode(response.body))
end

-- A program shows the call to its user.
local function confirm(call)
  if call.input.id == 3 then
    return false, "keep the bread"
  end
  return true
end

local tools = assert(operations.to_tools(registry, { format = "anthropic", code = true, confirm = confirm }))
local conversation = { { role = "user", content = "Remove what is done" } }
repeat
  local messages, results = tools:run(ask(conversation, tools.definitions))
  for _, message in ipairs(messages) do
    table.insert(conversation, message)
  end
  for _, result in ipairs(results) do
    if result.name == "search_operations" then
      for _, found in ipairs(operations.json.decode(result.content.text).operations) do
        print(found.signature)
      end
    else
      print(result.ok, (result.content.text:gsub(" %(%d+ ms%)", "")))
    end
  end
until #results == 0
stop_model()

-- What it prints:
--> call("tasks.list", input?: any): { done: boolean, id: integer, title: string }[]
--> call("tasks.remove", input: { id: integer }): any
--> false	OPERATION_NOT_FOUND: unknown operation "tasks.lst" (did you mean tasks.list?)
--> Calls that it made; nothing of them is undone:
--> - call tasks.lst: OPERATION_NOT_FOUND
--> true	["buy milk: removed","buy bread: the call was not approved: keep the bread"]
