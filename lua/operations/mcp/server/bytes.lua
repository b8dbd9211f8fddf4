--- Bytes as content of MCP: which values are bytes, and their blocks. JSON holds only UTF-8, so bytes are base64.
local base64 = require("operations.base.base64")
local json = require("operations.base.json")

local bytes = {}

local UNKNOWN = "application/octet-stream"

--- Is it a text, by its media type and by its bytes?
---@param media? string
---@param value string
---@return boolean
function bytes.is_text(media, value)
  if media and not (media:find("^text/") or media:find("json") or media:find("xml") or media:find("yaml")
    or media:find("javascript")) then
    return false
  end
  return json.encode(value) ~= nil -- valid UTF-8
end

local function essence(media)
  return type(media) == "string" and media:lower():match("^%s*([^;%s]+/[^;%s]+)") or nil
end

--- The media type of a schema whose values are bytes as they are; nil for other schemas.
---@param schema any
---@return string?
function bytes.media(schema)
  local media = type(schema) == "table" and schema.contentEncoding == nil and essence(schema.contentMediaType)
  return media and not bytes.is_text(media, "") and media or nil
end

--- The media type of an envelope's data, if that is bytes; nil: it is text, or no string.
---@param envelope operations.Envelope
---@param schema any  the operation's outputSchema
---@return string?
function bytes.of(envelope, schema)
  local data, meta = envelope.data, envelope.meta
  if type(data) ~= "string" then
    return nil
  end
  local headers = type(meta.headers) == "table" and meta.headers or {}
  local media = meta.source == "http" and (essence(meta.contentType) or essence(headers["content-type"]))
    or bytes.media(schema)
  return not bytes.is_text(media, data) and (media or UNKNOWN) or nil
end

-- Types of content blocks with bytes in them, by the first part of the media type.
local kinds = { image = "image", audio = "audio" }

--- The content block of bytes.
---@param value string
---@param media string
---@param uri string  of what they are, for a block that must have one
---@param version? string  the client's revision: the first one had no audio
---@return table
function bytes.block(value, media, uri, version)
  local kind, data = kinds[media:match("^[^/]*")], base64.encode(value)
  if kind == "image" or kind == "audio" and version ~= "2024-11-05" then
    return { type = kind, mimeType = media, data = data }
  end
  return { type = "resource", resource = { uri = uri, mimeType = media, blob = data } }
end

--- The content block of a text; of one that is not UTF-8, as bytes.
---@param text string
---@param uri string
---@return table
function bytes.text_block(text, uri)
  if bytes.is_text(nil, text) then
    return { type = "text", text = text }
  end
  return bytes.block(text, UNKNOWN, uri)
end

-- The schema of a member, where it is known.
local function part_of(schema, key)
  if type(schema) ~= "table" then
    return nil
  elseif type(key) == "number" then
    return schema.items
  end
  return type(schema.properties) == "table" and schema.properties[key] or nil
end

local function copy_of(value, schema, replace, seen)
  if type(value) == "string" then
    return bytes.is_text(nil, value) and value or replace(value, bytes.media(schema) or UNKNOWN)
  elseif type(value) ~= "table" or seen[value] then
    return seen[value] or value
  end
  local copy = setmetatable({}, getmetatable(value))
  seen[value] = copy
  for key, item in next, value do
    copy[key] = copy_of(item, part_of(schema, key), replace, seen)
  end
  return copy
end

--- A copy of data in which texts that are not UTF-8 are replaced.
---@param data table
---@param schema any  the operation's outputSchema
---@param replace fun(value: string, media: string): string
---@return table
function bytes.replaced(data, schema, replace)
  return copy_of(data, schema, replace, {})
end

return bytes
