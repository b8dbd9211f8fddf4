--- Turns the result of a call into texts and images for a model.
local base64 = require("operations.base.base64")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local members = require("operations.base.members")

local content = {}

---@class operations.ToolContent
---@field text string  never empty
---@field images { mimeType: string, data: string }[]  base64
---@field data any  the value of the text, unless it was cut
---@field failed boolean

local MAX_DEPTH, MAX_DETAILS = 8, 4096

local function size(bytes)
  return bytes < 1024 and bytes .. " B" or math.floor(bytes / 1024 + 0.5) .. " KB"
end

local function note(mime, bytes)
  return ("[%s %s, %s]"):format(mime:match("^(%w+)/") or "data", mime, size(bytes))
end

-- Adds an image if the vendor accepts it; returns its placeholder in the text.
local function add_image(self, mime, data)
  local text = note(mime, math.floor(#data * 3 / 4))
  if self.shows[mime] and #data <= self.max_image then
    table.insert(self.images, { mimeType = mime, data = data })
  end
  return text
end

-- How a schema's strings are bytes: their media type, and whether they are base64.
local function media_of(schema)
  local mime = schema.contentMediaType
  if type(mime) == "string" and not mime:find("^text/") and not mime:find("json") then
    return { type = mime:lower():match("^[^;%s]+"), encoded = schema.contentEncoding == "base64" }
  end
end

local function tells_of_media(schema)
  for key, part in next, schema do
    if key == "contentMediaType" or type(part) == "table" and tells_of_media(part) then
      return true
    end
  end
  return false
end

local tells = setmetatable({}, { __mode = "k" }) -- by schema

-- A copy of the data with notes in place of bytes.
local function noted(self, data, schema, depth)
  if type(data) == "string" then
    local media = marked.first(schema, self.schema, media_of)
    return media and add_image(self, media.type, media.encoded and data or base64.encode(data)) or data
  elseif type(data) ~= "table" or type(schema) ~= "table" or depth > MAX_DEPTH then
    return data
  end
  local copy
  for key, item in pairs(data) do
    local new = noted(self, item, marked.part(schema, self.schema, key), depth + 1)
    if new ~= item then
      copy = copy or members.copy(data)
      copy[key] = new
    end
  end
  return copy or data
end

local function with_notes(self, data, schema)
  if type(schema) ~= "table" then
    return data
  elseif tells[schema] == nil then
    tells[schema] = tells_of_media(schema)
  end
  self.schema = schema
  return tells[schema] and noted(self, data, schema, 0) or data
end

-- The beginning of a text, in whole characters, and a note.
local function cut(text, max)
  if #text <= max then
    return text
  end
  local last = max
  while last > 0 and text:byte(last + 1) >= 128 and text:byte(last + 1) < 192 do
    last = last - 1
  end
  return ("%s\n[cut: %d of %d bytes]"):format(text:sub(1, last), last, #text), true
end

local block_text = {}

function block_text.text(_, block)
  return block.text
end

local function media(self, block)
  local mime = tostring(block.mimeType or "application/octet-stream"):lower()
  return add_image(self, mime, tostring(block.data or ""))
end

block_text.image, block_text.audio = media, media

function block_text.resource_link(_, block)
  return ("[%s](%s)"):format(tostring(block.title or block.name or "resource"), tostring(block.uri))
end

function block_text.resource(self, block)
  local resource = type(block.resource) == "table" and block.resource or {}
  if type(resource.text) == "string" then
    return resource.text
  end
  return tostring(resource.uri or "") .. " " .. media(self, { mimeType = resource.mimeType, data = resource.blob })
end

-- The content blocks of a tool of an MCP server.
local function of_blocks(self, blocks)
  local texts = {}
  for _, block in ipairs(blocks) do
    local maker = type(block) == "table" and block_text[block.type]
    local text = maker and maker(self, block) or json.encode(block)
    texts[#texts + 1] = type(text) == "string" and text ~= "" and text or nil
  end
  return table.concat(texts, "\n")
end

local function new(options)
  return { shows = options.shows, max_image = options.max_image, images = {} }
end

local function finished(self, text, data, options)
  local is_cut
  text, is_cut = cut(text, options.max_result)
  if is_cut then
    data = nil
  end
  return { text = text ~= "" and text or "(no result)", images = self.images, data = data,
    failed = self.failed or false }
end

---@class operations.ToolContentOptions
---@field max_result integer  bytes of text
---@field max_image integer  bytes of base64
---@field shows table<string, true>  media types of images that the vendor accepts

--- The content of an envelope.
---@param envelope operations.Envelope
---@param schema any  output schema of the operation
---@param options operations.ToolContentOptions
---@return operations.ToolContent
function content.of(envelope, schema, options)
  local self, meta = new(options), envelope.meta or {}
  if meta.source == "mcp" and type(meta.content) == "table" and #meta.content > 0 then
    self.failed = meta.isError == true
    return finished(self, of_blocks(self, meta.content), nil, options)
  elseif envelope.data == nil then
    return finished(self, "", nil, options)
  end
  local data = with_notes(self, envelope.data, schema)
  if type(data) == "string" and data ~= envelope.data or type(schema) == "table" and type(data) == "string"
    and tostring(schema.contentMediaType):find("^text/") then
    return finished(self, data, data, options)
  end
  local text, err = json.encode(data, { keep_order = true })
  if not text then
    self.failed = true
    return finished(self, "OUTPUT_INVALID: the result is not JSON: " .. err.message, nil, options)
  end
  return finished(self, text, data, options)
end

--- The content of a text.
---@param text string
---@param failed boolean
---@param options operations.ToolContentOptions
---@return operations.ToolContent
function content.of_text(text, failed, options)
  local self = new(options)
  self.failed = failed
  return finished(self, text, nil, options)
end

local function issue_lines(details)
  local lines = {}
  for _, issue in ipairs(type(details) == "table" and details or {}) do
    if type(issue) == "table" and type(issue.message) == "string" then
      local path = type(issue.path) == "string" and issue.path ~= "" and issue.path or "the arguments"
      lines[#lines + 1] = "- " .. path .. ": " .. issue.message
    end
  end
  return lines
end

-- Their messages are internal.
local inner = members.set({ "EXECUTION_ERROR", "UNKNOWN_ERROR", "ACCESS_DENIED" })

--- The content of an error: issues as a list, so that the model can correct its call.
---@param err operations.Error
---@param options operations.ToolContentOptions
---@return operations.ToolContent
function content.of_error(err, options)
  local self, text = new(options), err.code .. ": " .. err.message
  self.failed = true
  local lines = err.code == "VALIDATION_ERROR" and issue_lines(err.details) or {}
  local details
  if lines[1] then
    text = err.code .. ": the arguments do not fit; correct them and call again:\n" .. table.concat(lines, "\n")
  elseif err.details ~= nil and not inner[err.code] then
    local encoded = json.encode(err.details, { sort_keys = true })
    if encoded and #encoded <= MAX_DETAILS then
      text, details = text .. "\n" .. encoded, err.details
    end
  end
  local message = lines[1] and text:sub(#err.code + 3) or err.message
  return finished(self, text, { code = err.code, message = message, details = details }, options)
end

return content
