--- A model that says what it was told to, behind the HTTP APIs of four vendors: for examples without a network.
local operations = require("operations")
local json = operations.json

local model = {}

-- What it asks for, turn by turn; then it says something.
local turns = {
  { { "tasks_add", { title = "buy milk" } }, { "tasks_add", { title = "buy a yacht" } } },
  { { "tasks_add", { title = "" } }, { "tasks_export", operations.object({}) } },
}

local say = {}

function say.openai(calls, words)
  local list = calls[1] and operations.array()
  for i, call in ipairs(calls) do
    list[i] = { id = call.id, type = "function", ["function"] = { name = call[1], arguments = json.encode(call[2]) } }
  end
  return { choices = { { message = { role = "assistant", content = words, tool_calls = list } } } }
end

say["openai-responses"] = function(calls, words)
  local output = operations.array({ { type = "message", role = "assistant",
    content = { { type = "output_text", text = words } } } })
  for _, call in ipairs(calls) do
    table.insert(output, { type = "function_call", call_id = call.id, name = call[1],
      arguments = json.encode(call[2]) })
  end
  return { output = output }
end

function say.anthropic(calls, words)
  local content = operations.array({ { type = "text", text = words } })
  for _, call in ipairs(calls) do
    table.insert(content, { type = "tool_use", id = call.id, name = call[1], input = call[2] })
  end
  return { role = "assistant", content = content }
end

function say.gemini(calls, words)
  local parts = operations.array({ { text = words } })
  for _, call in ipairs(calls) do
    table.insert(parts, { functionCall = { id = call.id, name = call[1], args = call[2] } })
  end
  return { candidates = { { content = { role = "model", parts = parts } } } }
end

local T = operations.type
local registry = operations.registry()
assert(registry:register({ namespace = "model", name = "answer",
  inputSchema = T.object({ format = T.string(), conversation = T.array(T.any()), tools = T.array(T.any()) }),
  handler = function(input)
    local text, calls = json.encode(input.conversation), {}
    local turn = text:find('"2.1"', 1, true) and 3 or text:find('"1.1"', 1, true) and 2 or 1
    for i, call in ipairs(turns[turn] or {}) do
      calls[i] = { id = turn .. "." .. i, call[1], call[2] }
    end
    return say[input.format](calls, "Turn " .. turn)
  end }))

--- Starts the server on a free port.
---@return string url
---@return fun() close
function model.start()
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0 }))
  return ("http://127.0.0.1:%d/model/answer"):format(listener.port), function()
    server:close()
  end
end

return model
