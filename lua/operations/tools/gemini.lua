--- Gemini's generateContent (npm @google/genai 3): function declarations, calls in an answer, contents with results.
local core = require("operations.core")
local members = require("operations.base.members")

local gemini = { shows = members.set({ "image/png", "image/jpeg", "image/webp" }) }

local function array(list)
  return setmetatable(list, core.array_mt)
end

---@param tool operations.Tool
---@return table
function gemini.definition(tool)
  local strict = tool.parameters.strict
  local schema = tool.parameters.schema
  -- Gemini refuses `parameters` without a property: such a function has no `parameters`.
  local bare = strict and next(schema.properties) == nil
  return { name = tool.name, description = tool.description,
    parameters = strict and not bare and schema or nil, parametersJsonSchema = not strict and schema or nil,
    responseJsonSchema = tool.output }
end

---@param list table[]
---@return table[]
function gemini.definitions(list)
  return list[1] and array({ { functionDeclarations = list } }) or list
end

local function content_of(response)
  local candidate = type(response.candidates) == "table" and response.candidates[1]
  local content = type(candidate) == "table" and candidate.content or response.content or response
  return type(content) == "table" and content or {}
end

local function parts_of(response)
  local parts = content_of(response).parts
  return core.kind(parts) == "array" and parts or {}
end

---@param response table
---@return { id: any, name: any, arguments: any }[]
function gemini.calls(response)
  local calls = {}
  for _, part in ipairs(parts_of(response)) do
    local call = type(part) == "table" and part.functionCall
    if type(call) == "table" then
      local arguments = call.args
      calls[#calls + 1] = { id = call.id, name = call.name,
        arguments = arguments == nil and setmetatable({}, core.object_mt) or arguments, may_lack_id = true }
    end
  end
  return calls
end

local function response_of(content)
  local value = content.data
  if value == nil or #content.images > 0 and type(value) ~= "table" then
    value = content.text
  end
  return content.failed and { error = value } or { output = value }
end

local function part_of(result)
  local parts
  for i, image in ipairs(result.content.images) do
    parts = parts or array({})
    parts[i] = { inlineData = { mimeType = image.mimeType, data = image.data } }
  end
  return { functionResponse = { id = result.id, name = result.name or "unknown",
    response = response_of(result.content), parts = parts } }
end

--- The contents to append: the model's content unchanged (its thought signatures must come back), then one of the user
--- with all results, in the order of the calls.
---@param response table
---@param results operations.ToolResult[]
---@return table[]
function gemini.messages(response, results)
  local content, parts = content_of(response), array({})
  if #parts_of(response) == 0 then
    return {}
  end
  for i, result in ipairs(results) do
    parts[i] = part_of(result)
  end
  return { content.role and content or members.merged(content, { role = "model" }),
    results[1] and { role = "user", parts = parts } or nil }
end

---@return table
function gemini.stream()
  return { parts = array({}) }
end

-- Pieces of one text become one part; a part with a signature is kept separate.
local function add_part(self, part)
  local last = self.parts[#self.parts]
  if last and type(part.text) == "string" and type(last.text) == "string" and last.thought == part.thought
    and not last.thoughtSignature and not part.thoughtSignature then
    last.text = last.text .. part.text
  else
    table.insert(self.parts, members.copy(part))
  end
end

---@param self table
---@param chunk any
---@return string? failure
function gemini.feed(self, chunk)
  if type(chunk) ~= "table" then
    return nil
  elseif type(chunk.error) == "table" then
    return tostring(chunk.error.message)
  end
  self.head = members.merged(self.head, chunk)
  local candidate = type(chunk.candidates) == "table" and chunk.candidates[1]
  if type(candidate) == "table" then
    for _, part in ipairs(parts_of(chunk)) do
      if type(part) == "table" then
        add_part(self, part)
      end
    end
    self.candidate = members.merged(self.candidate, candidate)
    self.ended = self.ended or type(candidate.finishReason) == "string"
  end
end

---@param self table
---@return table?
function gemini.finish(self)
  if not self.ended then
    return nil
  end
  local candidate = members.merged(self.candidate, { content = { role = "model", parts = self.parts } })
  return members.merged(self.head, { candidates = array({ candidate }) })
end

return gemini
