--- Answers of models in the formats of four vendors: the same calls, as each says them, whole and streamed.
local core = require("operations.core")
local json = require("operations.base.json")

local answers = {}

answers.formats = { "openai", "openai-responses", "anthropic", "gemini" }

local function array(list)
  return setmetatable(list, core.array_mt)
end

local function text(value)
  return type(value) == "string" and value or assert(json.encode(value, { sort_keys = true }))
end

local makers = {}

function makers.openai(calls)
  local list = array({})
  for i, call in ipairs(calls) do
    list[i] = { id = call.id, type = "function", ["function"] = { name = call.name, arguments = text(call.arguments) } }
  end
  return { id = "r", object = "chat.completion", created = 1, model = "m", choices = array({ { index = 0,
    finish_reason = "tool_calls", message = { role = "assistant", content = core.null, tool_calls = list } } }) }
end

makers["openai-responses"] = function(calls)
  local list = array({ { type = "reasoning", id = "rs", summary = array({}) } })
  for _, call in ipairs(calls) do
    list[#list + 1] = { type = "function_call", id = "fc" .. #list, call_id = call.id, name = call.name,
      arguments = text(call.arguments), status = "completed" }
  end
  return { id = "r", object = "response", status = "completed", output = list }
end

function makers.anthropic(calls)
  local list = array({ { type = "text", text = "I see." } })
  for _, call in ipairs(calls) do
    list[#list + 1] = { type = "tool_use", id = call.id, name = call.name, input = call.arguments }
  end
  return { id = "r", type = "message", role = "assistant", model = "m", content = list, stop_reason = "tool_use" }
end

function makers.gemini(calls)
  local list = array({})
  for i, call in ipairs(calls) do
    list[i] = { functionCall = { id = call.id, name = call.name, args = call.arguments }, thoughtSignature = "c2ln" }
  end
  return { candidates = array({ { index = 0, finishReason = "STOP", content = { role = "model", parts = list } } }) }
end

--- An answer that asks for calls.
---@param format string
---@param calls { id: string, name: string, arguments: any }[]
---@return table
function answers.calling(format, calls)
  return makers[format](calls)
end

--- An answer that asks for nothing.
---@param format string
---@param words string
---@return table
function answers.saying(format, words)
  local made = makers[format]({})
  if format == "openai" then
    made.choices[1].message = { role = "assistant", content = words }
    made.choices[1].finish_reason = "stop"
  elseif format == "openai-responses" then
    made.output[2] = { type = "message", id = "m", role = "assistant", status = "completed",
      content = array({ { type = "output_text", text = words, annotations = array({}) } }) }
  elseif format == "anthropic" then
    made.content[1].text = words
  else
    made.candidates[1].content.parts[1] = { text = words }
  end
  return made
end

local function event(list, value, name)
  list[#list + 1] = (name and "event: " .. name .. "\n" or "") .. "data: " .. text(value) .. "\n\n"
end

-- In two halves, so that what comes has to be put together.
local function halves(words)
  local middle = math.floor(#words / 2)
  return { words:sub(1, middle), words:sub(middle + 1) }
end

local streams = {}

function streams.openai(answer)
  local list, message = {}, answer.choices[1].message
  local function chunk(delta, reason)
    event(list, { id = "r", object = "chat.completion.chunk", created = 1, model = "m", choices = array({ { index = 0,
      delta = delta, finish_reason = reason or core.null } }) })
  end
  chunk({ role = "assistant", content = core.null })
  for _, half in ipairs(type(message.content) == "string" and halves(message.content) or {}) do
    chunk({ content = half })
  end
  for i, call in ipairs(message.tool_calls or {}) do
    chunk({ tool_calls = array({ { index = i - 1, id = call.id, type = "function",
      ["function"] = { name = call["function"].name, arguments = "" } } }) })
    for _, half in ipairs(halves(call["function"].arguments)) do
      chunk({ tool_calls = array({ { index = i - 1, ["function"] = { arguments = half } } }) })
    end
  end
  chunk(setmetatable({}, core.object_mt), answer.choices[1].finish_reason)
  event(list, "[DONE]")
  return list
end

streams["openai-responses"] = function(answer)
  local list = {}
  event(list, { type = "response.created", response = { id = "r", output = array({}) } }, "response.created")
  for _, item in ipairs(answer.output) do
    event(list, { type = "response.output_item.done", item = item }, "response.output_item.done")
  end
  event(list, { type = "response.completed", response = answer }, "response.completed")
  return list
end

function streams.anthropic(answer)
  local list = {}
  local function say(value)
    event(list, value, value.type)
  end
  say({ type = "message_start", message = { id = "r", type = "message", role = "assistant", model = "m",
    content = array({}), usage = { input_tokens = 1 } } })
  say({ type = "ping" })
  for i, block in ipairs(answer.content) do
    if block.type == "text" then
      say({ type = "content_block_start", index = i - 1, content_block = { type = "text", text = "" } })
      for _, half in ipairs(halves(block.text)) do
        say({ type = "content_block_delta", index = i - 1, delta = { type = "text_delta", text = half } })
      end
    else
      say({ type = "content_block_start", index = i - 1, content_block = { type = "tool_use", id = block.id,
        name = block.name, input = setmetatable({}, core.object_mt) } })
      for _, half in ipairs(halves(text(block.input))) do
        say({ type = "content_block_delta", index = i - 1, delta = { type = "input_json_delta", partial_json = half } })
      end
    end
    say({ type = "content_block_stop", index = i - 1 })
  end
  say({ type = "message_delta", delta = { stop_reason = answer.stop_reason }, usage = { output_tokens = 2 } })
  say({ type = "message_stop" })
  return list
end

function streams.gemini(answer)
  local list, candidate = {}, answer.candidates[1]
  for _, part in ipairs(candidate.content.parts) do
    for _, piece in ipairs(part.text and halves(part.text) or { part }) do
      event(list, { candidates = array({ { index = 0, content = { role = "model",
        parts = array({ part.text and { text = piece } or part }) } } }) })
    end
  end
  event(list, { candidates = array({ { index = 0, finishReason = "STOP" } }), usageMetadata = { totalTokenCount = 3 } })
  return list
end

--- The same answer as the events of a stream.
---@param format string
---@param answer table
---@return string[]
function answers.events(format, answer)
  return streams[format](answer)
end

return answers
