--- A model that says what it was told to, behind the HTTP APIs of four vendors, whole and streamed: for examples
--- without a network.
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

-- The same answers as events of a stream, with the texts in pieces, as the vendors send them.
local stream = {}

local function pieces_of(words)
  local pieces = {}
  for piece in words:gmatch("%S+%s*") do
    pieces[#pieces + 1] = piece
  end
  return pieces
end

function stream.openai(answer)
  local message = answer.choices[1].message
  local function chunk(delta, reason)
    return { choices = { { index = 0, delta = delta, finish_reason = reason or operations.null } } }
  end
  local events = { chunk({ role = "assistant", content = operations.null }) }
  for _, piece in ipairs(pieces_of(message.content)) do
    events[#events + 1] = chunk({ content = piece })
  end
  for i, call in ipairs(message.tool_calls or {}) do
    events[#events + 1] = chunk({ content = operations.null, tool_calls = { { index = i - 1, id = call.id,
      type = "function", ["function"] = call["function"] } } })
  end
  events[#events + 1] = chunk(operations.object(), "stop")
  events[#events + 1] = "[DONE]"
  return events
end

stream["openai-responses"] = function(answer)
  local events = {}
  for _, item in ipairs(answer.output) do
    for _, piece in ipairs(item.content and pieces_of(item.content[1].text) or {}) do
      events[#events + 1] = { type = "response.output_text.delta", delta = piece }
    end
    events[#events + 1] = { type = "response.output_item.done", item = item }
  end
  events[#events + 1] = { type = "response.completed", response = { output = operations.array() } }
  return events
end

function stream.anthropic(answer)
  local events = { { type = "message_start", message = { role = "assistant", content = operations.array() } } }
  local function add(event)
    events[#events + 1] = event
  end
  for i, block in ipairs(answer.content) do
    if block.text then
      add({ type = "content_block_start", index = i - 1, content_block = { type = "text", text = "" } })
      for _, piece in ipairs(pieces_of(block.text)) do
        add({ type = "content_block_delta", index = i - 1, delta = { type = "text_delta", text = piece } })
      end
    else
      add({ type = "content_block_start", index = i - 1, content_block = { type = "tool_use", id = block.id,
        name = block.name, input = operations.object() } })
      add({ type = "content_block_delta", index = i - 1, delta = { type = "input_json_delta",
        partial_json = json.encode(block.input) } })
    end
    add({ type = "content_block_stop", index = i - 1 })
  end
  add({ type = "message_delta", delta = { stop_reason = "end_turn" } })
  add({ type = "message_stop" })
  return events
end

function stream.gemini(answer)
  local events = {}
  for _, part in ipairs(answer.candidates[1].content.parts) do
    for _, piece in ipairs(part.text and pieces_of(part.text) or { part }) do
      events[#events + 1] = { candidates = { { content = { role = "model",
        parts = { part.text and { text = piece } or piece } } } } }
    end
  end
  events[#events + 1] = { candidates = { { content = { role = "model", parts = operations.array() },
    finishReason = "STOP" } } }
  return events
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
---@return string url  of whole answers; that of streamed ones ends in "stream" instead of "answer"
---@return fun() close
function model.start(turns)
  local registry = operations.registry()
  assert(registry:register({ namespace = "model", name = "answer", inputSchema = operations.type.any(),
    handler = function(input)
      return answer_of(turns or usual, input)
    end }))
  assert(registry:register({ namespace = "model", name = "stream", inputSchema = operations.type.any(),
    outputSchema = operations.type.string({ contentMediaType = "text/event-stream" }),
    handler = function(input, context)
      for _, event in ipairs(stream[format_of(input)](answer_of(turns or usual, input))) do
        context.sink(("data: %s\n\n"):format(type(event) == "string" and event or json.encode(event)))
      end
    end }))
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0 }))
  return ("http://127.0.0.1:%d/model/answer"):format(listener.port), function()
    server:close()
  end
end

return model
