--- OpenAI's responses (npm openai 7): tool definitions, calls in an answer, items with results.
local core = require("operations.core")
local members = require("operations.base.members")

local responses = { shows = members.set({ "image/png", "image/jpeg", "image/webp", "image/gif" }) }

---@param tool operations.Tool
---@return table
function responses.definition(tool)
  return { type = "function", name = tool.name, description = tool.description,
    parameters = tool.parameters.schema, strict = tool.parameters.strict, output_schema = tool.output }
end

---@param list table[]
---@return table[]
function responses.definitions(list)
  return list
end

local function items_of(response)
  local list = response.output or response
  return core.kind(list) == "array" and list or {}
end

---@param response table
---@return { id: any, name: any, arguments: any }[]
function responses.calls(response)
  local calls = {}
  for _, item in ipairs(items_of(response)) do
    if type(item) == "table" and item.type == "function_call" then
      calls[#calls + 1] = { id = item.call_id, name = item.name, arguments = item.arguments }
    end
  end
  return calls
end

local function output_of(content)
  if #content.images == 0 then
    return content.text
  end
  local list = setmetatable({ { type = "input_text", text = content.text } }, core.array_mt)
  for _, image in ipairs(content.images) do
    list[#list + 1] = { type = "input_image", detail = "auto",
      image_url = ("data:%s;base64,%s"):format(image.mimeType, image.data) }
  end
  return list
end

--- The items to append to the input: those of the answer, including reasoning, then the outputs.
---@param response table
---@param results operations.ToolResult[]
---@return table[]
function responses.messages(response, results)
  local messages = {}
  for i, item in ipairs(items_of(response)) do
    messages[i] = item
  end
  for _, result in ipairs(results) do
    messages[#messages + 1] = { type = "function_call_output", call_id = result.id, output = output_of(result.content) }
  end
  return messages
end

---@return table
function responses.stream()
  return { items = setmetatable({}, core.array_mt) }
end

local final = members.set({ "response.completed", "response.incomplete", "response.failed" })

---@param self table
---@param event any
---@return string? failure
function responses.feed(self, event)
  if type(event) ~= "table" then
    return nil
  elseif event.type == "error" then
    return tostring(event.message or type(event.error) == "table" and event.error.message)
  elseif event.type == "response.output_item.done" then
    table.insert(self.items, event.item)
  elseif final[event.type] and type(event.response) == "table" then
    self.response = event.response
    local failure = event.response.error
    if event.type == "response.failed" then
      return type(failure) == "table" and tostring(failure.message) or "the response failed"
    end
  end
end

---@param self table
---@return table?
function responses.finish(self)
  if self.response and (type(self.response.output) ~= "table" or #self.response.output == 0) then
    return members.merged(self.response, { output = self.items })
  end
  return self.response
end

return responses
