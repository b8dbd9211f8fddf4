--- OpenAI's chat completions (npm openai 7): tool definitions, calls in an answer, messages with results.
local core = require("operations.core")
local members = require("operations.base.members")

local openai = { shows = {} } -- a tool message is text

---@param tool operations.Tool
---@return table
function openai.definition(tool)
  return { type = "function", ["function"] = { name = tool.name, description = tool.description,
    parameters = tool.parameters.schema, strict = tool.parameters.strict or nil } }
end

--- The definitions for a request.
---@param list table[]
---@return table[]
function openai.definitions(list)
  return list
end

-- The message of an answer, or the value itself if it is a message.
local function message_of(response)
  local choice = type(response.choices) == "table" and response.choices[1]
  local message = type(choice) == "table" and choice.message or response.message or response
  return type(message) == "table" and message or {}
end

--- The calls in an answer, in order.
---@param response table
---@return { id: any, name: any, arguments: any }[]
function openai.calls(response)
  local calls, list = {}, message_of(response).tool_calls
  for i, call in ipairs(core.kind(list) == "array" and list or {}) do
    local fn = type(call) == "table" and type(call["function"]) == "table" and call["function"] or {}
    calls[i] = { id = type(call) == "table" and call.id or nil, name = fn.name, arguments = fn.arguments }
  end
  return calls
end

--- The messages to append: the model's, then one for each result.
---@param response table
---@param results operations.ToolResult[]
---@return table[]
function openai.messages(response, results)
  local given = message_of(response)
  if given.content == nil and given.tool_calls == nil then
    return {}
  end
  local own = members.copy(given)
  own.role, own.annotations, own.function_call, own.parsed = "assistant", nil, nil, nil
  own.audio = type(own.audio) == "table" and { id = own.audio.id } or nil
  local messages = { own }
  for _, result in ipairs(results) do
    messages[#messages + 1] = { role = "tool", tool_call_id = result.id, content = result.content.text }
  end
  return messages
end

-- Streams of chunks with deltas.

local function append(into, key, text)
  if type(text) == "string" then
    into[key] = (type(into[key]) == "string" and into[key] or "") .. text
  end
end

local function add_calls(self, list)
  for position, delta in ipairs(type(list) == "table" and list or {}) do
    local index = type(delta) == "table" and (tonumber(delta.index) or position - 1)
    local call = index and self.calls[index]
    if index and not call then
      call = { type = "function", ["function"] = { name = "", arguments = "" } }
      self.calls[index] = call
      table.insert(self.order, index)
    end
    local fn = index and type(delta["function"]) == "table" and delta["function"] or {}
    if index then
      call.id = type(delta.id) == "string" and delta.id ~= "" and delta.id or call.id
      append(call["function"], "name", fn.name)
      append(call["function"], "arguments", fn.arguments)
    end
  end
end

--- Begins to assemble a streamed answer.
---@return table
function openai.stream()
  return { message = { role = "assistant", content = core.null }, calls = {}, order = {} }
end

--- Handles one event. Returns a message when the server reports an error.
---@param self table
---@param chunk any  the data of the event
---@return string? failure
function openai.feed(self, chunk)
  if chunk == "[DONE]" then
    self.ended = true
    return nil
  elseif type(chunk) ~= "table" then
    return nil
  elseif type(chunk.error) == "table" then
    return tostring(chunk.error.message)
  end
  self.head = self.head or { id = chunk.id, object = "chat.completion", created = chunk.created, model = chunk.model }
  self.usage = type(chunk.usage) == "table" and chunk.usage or self.usage
  local choice = type(chunk.choices) == "table" and chunk.choices[1]
  if type(choice) ~= "table" then
    return nil
  end
  local delta = type(choice.delta) == "table" and choice.delta or {}
  append(self.message, "content", delta.content)
  append(self.message, "refusal", delta.refusal)
  append(self.message, "reasoning_content", delta.reasoning_content)
  add_calls(self, delta.tool_calls)
  self.reason = type(choice.finish_reason) == "string" and choice.finish_reason or self.reason
end

--- The complete answer; nil when it is incomplete.
---@param self table
---@return table?
function openai.finish(self)
  if not self.reason then
    return nil
  end
  table.sort(self.order)
  if self.order[1] then
    self.message.tool_calls = setmetatable({}, core.array_mt)
    for i, index in ipairs(self.order) do
      self.message.tool_calls[i] = self.calls[index]
    end
  end
  return members.merged(self.head, { usage = self.usage, choices = setmetatable({
    { index = 0, message = self.message, finish_reason = self.reason } }, core.array_mt) })
end

return openai
