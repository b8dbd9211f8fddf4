--- A model that says what it was told to, behind the HTTP APIs of four vendors: for examples without a network.
local operations = require("operations")
local json = operations.json

local model = {}

-- What it asks for, turn by turn, unless it is told; then it says something.
local usual = {
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

-- Which vendor's a request is; the example of an agent says it.
local function format_of(input)
  return input.format or input.contents and "gemini" or input.input and "openai-responses"
    or input.max_tokens and "anthropic" or "openai"
end

-- Calls are numbered, so the conversation tells how many turns there were.
local function answer_of(turns, input)
  local text = json.encode(input.conversation or input.contents or input.input or input.messages)
  local calls, turn = {}, 1
  while text:find(('"%d.1"'):format(turn), 1, true) do
    turn = turn + 1
  end
  for i, call in ipairs(turns[turn] or {}) do
    calls[i] = { id = turn .. "." .. i, call[1], call[2] }
  end
  return say[format_of(input)](calls, "Turn " .. turn)
end

--- Starts the server on a free port.
---@param turns? table[]  lists of calls { name, arguments }
---@return string url
---@return fun() close
function model.start(turns)
  local registry = operations.registry()
  assert(registry:register({ namespace = "model", name = "answer", inputSchema = operations.type.any(),
    handler = function(input)
      return answer_of(turns or usual, input)
    end }))
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0 }))
  return ("http://127.0.0.1:%d/model/answer"):format(listener.port), function()
    server:close()
  end
end

return model
