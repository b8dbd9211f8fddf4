--- An agent: a model is asked, what it calls is run, and so on until it calls nothing. Some calls need the user's
--- approval, one says how far it is, and the user stops it. The model is canned (examples/agent/model.lua); for a real
--- one, `ask` sends the vendor's request.
local operations = require("operations")
local model = require("examples.agent.model")
local T = operations.type
local registry, tasks = operations.registry(), {}

assert(registry:register_all({
  { namespace = "tasks", name = "add", description = "Adds a task",
    inputSchema = T.object({ title = T.string({ minLength = 1 }) }),
    handler = function(input)
      table.insert(tasks, input.title)
      return #tasks
    end },
  { namespace = "tasks", name = "export", type = "query", description = "Exports all tasks",
    handler = function(_, context)
      for i = 1, 1000 do
        context.progress(i, 1000)
        operations.sleep(0.01)
      end
      return tasks
    end },
}))

local url, stop_model = model.start()

local function ask(format, conversation, definitions)
  local response = assert(operations.http.request({ url = url, method = "POST",
    headers = { ["Content-Type"] = "application/json" },
    body = operations.json.encode({ format = format, conversation = conversation, tools = definitions }) }))
  return assert(operations.json.decode(response.body))
end

-- A program shows the call to its user. "arguments": these arguments need not be asked about again.
local function confirm(call)
  if call.input.title == "buy a yacht" then
    return false, "too expensive"
  end
  return true, "arguments"
end

local function agent(format, on_progress)
  local tools = assert(operations.to_tools(registry, { format = format, strict = true, confirm = confirm,
    approvals = operations.approvals() })) -- operations.approvals(stored, store) keeps them
  local conversation = { { role = "user", content = "Plan my day" } }
  repeat
    local answer = ask(format, conversation, tools.definitions)
    local messages, results = tools:run(answer, { on_progress = on_progress })
    for _, message in ipairs(messages) do
      table.insert(conversation, message)
    end
    for _, result in ipairs(results) do
      print(result.operationId, result.content.text:match("[^\n]*"))
    end
  until #results == 0 -- a cancelled task ends where it waits next
end

operations.run(function()
  for _, format in ipairs({ "openai", "openai-responses", "anthropic", "gemini" }) do
    print("-- " .. format)
    local running
    running = operations.spawn(agent, format, function(done, total)
      if done == 3 then
        print(("%d of %d: stopped by the user"):format(done, total))
        running:cancel("stopped by the user")
      end
    end)
    running:wait()
  end
  stop_model()
end)

-- What it prints:
--> -- openai
--> tasks.add	1
--> tasks.add	ACCESS_DENIED: the call was not approved: too expensive
--> 3 of 1000: stopped by the user
--> tasks.add	VALIDATION_ERROR: the arguments do not fit; correct them and call again:
--> tasks.export	ABORTED: stopped by the user
--> -- openai-responses
--> tasks.add	2
--> tasks.add	ACCESS_DENIED: the call was not approved: too expensive
--> 3 of 1000: stopped by the user
--> tasks.add	VALIDATION_ERROR: the arguments do not fit; correct them and call again:
--> tasks.export	ABORTED: stopped by the user
--> -- anthropic
--> tasks.add	3
--> tasks.add	ACCESS_DENIED: the call was not approved: too expensive
--> 3 of 1000: stopped by the user
--> tasks.add	VALIDATION_ERROR: the arguments do not fit; correct them and call again:
--> tasks.export	ABORTED: stopped by the user
--> -- gemini
--> tasks.add	4
--> tasks.add	ACCESS_DENIED: the call was not approved: too expensive
--> 3 of 1000: stopped by the user
--> tasks.add	VALIDATION_ERROR: the arguments do not fit; correct them and call again:
--> tasks.export	ABORTED: stopped by the user
