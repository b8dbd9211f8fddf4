--- The content of an MCP tool's answer for people: text, and images and other files with name and size.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local output = require("operations.cli.output")

local blocks = {}

---@class operations.cli.BlockFile
---@field bytes string
---@field media_type string
---@field kind string  "image", "audio" or "file"
---@field name? string  the end of the URI of a resource

local function file_of(block)
  local kind, data, media_type, uri = block.type, block.data, block.mimeType, nil
  if kind == "resource" and type(block.resource) == "table" then
    data, media_type, uri = block.resource.blob, block.resource.mimeType, block.resource.uri
  elseif kind ~= "image" and kind ~= "audio" then
    return nil
  end
  local bytes = type(data) == "string" and base64.decode(data)
  return bytes and {
    bytes = bytes, media_type = type(media_type) == "string" and media_type or "application/octet-stream",
    kind = kind == "resource" and "file" or kind, name = type(uri) == "string" and uri:match("([^/]+)$") or nil,
  } or nil
end

--- Is the value a list of content blocks, or one block?
---@param value any
---@return table[]?  the blocks
function blocks.of(value)
  local list = core.kind(value) == "object" and { value } or value
  if type(list) ~= "table" or list[1] == nil then
    return nil
  end
  for _, block in ipairs(list) do
    if core.kind(block) ~= "object" or type(block.type) ~= "string" then
      return nil
    end
  end
  return list
end

--- The files among blocks.
---@param list table[]
---@return operations.cli.BlockFile[]
function blocks.files(list)
  local files = {}
  for _, block in ipairs(list) do
    files[#files + 1] = file_of(block)
  end
  return files
end

local function text_of(block)
  if block.type == "text" and type(block.text) == "string" then
    return block.text
  elseif block.type == "resource" and type(block.resource) == "table" and type(block.resource.text) == "string" then
    return block.resource.text
  elseif block.type == "resource_link" and type(block.uri) == "string" then
    return ("[link %s]"):format(block.uri)
  end
end

--- The text for people.
---@param list table[]
---@return string? text  nil: a block can only be shown as JSON
function blocks.text(list)
  local parts = {}
  for i, block in ipairs(list) do
    local file = file_of(block)
    local text = file and ("[%s %s, %s: -o FILE saves it]"):format(file.kind, file.media_type, output.size(#file.bytes))
      or text_of(block)
    if not text then
      return nil
    end
    parts[i] = text:gsub("\n$", "") .. "\n"
  end
  return table.concat(parts)
end

return blocks
