--- Anthropic's messages (npm @anthropic-ai/sdk 1): tool definitions, calls in an answer, messages with results.
local core = require("operations.core")
local json = require("operations.base.json")
local members = require("operations.base.members")

local anthropic = { shows = members.set({ "image/png", "image/jpeg", "image/gif", "image/webp" }) }

local function array(list)
  return setmetatable(list, core.array_mt)
end

---@param tool operations.Tool
---@return table
function anthropic.definition(tool)
  return { name = tool.name, description = tool.description, input_schema = tool.parameters.schema,
    strict = tool.parameters.strict or nil }
end

---@param list table[]
---@return table[]
function anthropic.definitions(list)
  return list
end

local function blocks_of(response)
  return core.kind(response.content) == "array" and response.content or {}
end

---@param response table
---@return { id: any, name: any, arguments: any }[]
function anthropic.calls(response)
  local calls = {}
  for _, block in ipairs(blocks_of(response)) do
    if type(block) == "table" and block.type == "tool_use" then
      local input = block.input
      if response._broken and response._broken[block] then
        input = response._broken[block]
      end
      calls[#calls + 1] = { id = block.id, name = block.name, arguments = input }
    end
  end
  return calls
end

local function block_of(result)
  local content = result.content.text
  if #result.content.images > 0 then
    content = array({ { type = "text", text = content } })
    for _, image in ipairs(result.content.images) do
      content[#content + 1] = { type = "image",
        source = { type = "base64", media_type = image.mimeType, data = image.data } }
    end
  end
  return { type = "tool_result", tool_use_id = result.id, content = content,
    is_error = result.content.failed or nil }
end

--- The messages to append to the conversation: the model's, then one of the user with all results.
---@param response table
---@param results operations.ToolResult[]
---@return table[]
function anthropic.messages(response, results)
  local blocks, list = blocks_of(response), array({})
  if #blocks == 0 then
    return {}
  end
  for i, result in ipairs(results) do
    list[i] = block_of(result)
  end
  return { { role = "assistant", content = blocks }, results[1] and { role = "user", content = list } or nil }
end

---@return table
function anthropic.stream()
  return { blocks = {}, order = {}, texts = {} }
end

local deltas = {}

local function appends(kind, key)
  deltas[kind] = function(_, block, delta)
    block[key] = (type(block[key]) == "string" and block[key] or "") .. tostring(delta[key] or "")
  end
end

appends("text_delta", "text")
appends("thinking_delta", "thinking")
appends("signature_delta", "signature")

function deltas.input_json_delta(self, block, delta)
  local text = self.texts[block] or {}
  self.texts[block] = text
  text[#text + 1] = tostring(delta.partial_json or "")
end

function deltas.citations_delta(_, block, delta)
  block.citations = type(block.citations) == "table" and block.citations or array({})
  table.insert(block.citations, delta.citation)
end

local on = {}

function on.message_start(self, event)
  self.message = type(event.message) == "table" and members.copy(event.message) or {}
end

function on.content_block_start(self, event)
  if type(event.index) == "number" and type(event.content_block) == "table" and not self.blocks[event.index] then
    self.blocks[event.index] = members.copy(event.content_block)
    table.insert(self.order, event.index)
  end
end

function on.content_block_delta(self, event)
  local block, delta = self.blocks[event.index], event.delta
  if block and type(delta) == "table" and deltas[delta.type] then
    deltas[delta.type](self, block, delta)
  end
end

function on.message_delta(self, event)
  if self.message then
    for key, value in pairs(type(event.delta) == "table" and event.delta or {}) do
      self.message[key] = value
    end
    self.message.usage = members.merged(type(self.message.usage) == "table" and self.message.usage or nil,
      type(event.usage) == "table" and event.usage or nil)
  end
end

function on.message_stop(self)
  self.ended = self.message ~= nil
end

function on.error(_, event)
  return type(event.error) == "table" and tostring(event.error.message) or "an error without a message"
end

---@param self table
---@param event any
---@return string? failure
function anthropic.feed(self, event)
  local handler = type(event) == "table" and on[event.type]
  if handler then
    return handler(self, event)
  end
end

-- The input of a tool call, from its pieces. Invalid JSON is kept beside the message: the message is sent back to the
-- API and may only contain objects.
local function finish_input(self, block, broken)
  local text = table.concat(self.texts[block] or {})
  if text ~= "" then
    local input = json.decode(text)
    if core.kind(input) ~= "object" then
      broken[block], input = text, setmetatable({}, core.object_mt)
    end
    block.input = input
  end
end

---@param self table
---@return table?
function anthropic.finish(self)
  if not self.ended then
    return nil
  end
  table.sort(self.order)
  local message, broken = self.message, {}
  message.content = array({})
  for i, index in ipairs(self.order) do
    finish_input(self, self.blocks[index], broken)
    message.content[i] = self.blocks[index]
  end
  -- In the metatable: it must not be a field of the vendor's message.
  return next(broken) and setmetatable(message, { __index = { _broken = broken } }) or message
end

return anthropic
