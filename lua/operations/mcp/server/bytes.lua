--- Bytes as content of MCP: which values are bytes, and their blocks. JSON holds only UTF-8, so bytes are base64.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local json = require("operations.base.json")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")

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

-- Encodings of strings that hold bytes (JSON Schema 2020-12, `contentEncoding`), by their names in lower case.
local decoders = { base64 = base64.decode, base64url = base64.decode_url }
local identities = { binary = true, ["8bit"] = true, ["7bit"] = true }

-- The media type of a schema whose strings are bytes, and how they are decoded; nil: they are bytes as they are.
local function claim_of(schema)
  local encoding = type(schema.contentEncoding) == "string" and schema.contentEncoding:lower() or nil
  local media = essence(schema.contentMediaType) or encoding == nil and schema.format == "binary" and UNKNOWN or nil
  if not media or bytes.is_text(media, "") or encoding and not decoders[encoding] and not identities[encoding] then
    return nil
  end
  return { media = media, decode = decoders[encoding] }
end

--- Says a schema that its strings are bytes? These are blocks, no structured content.
---@param schema any
---@return boolean
function bytes.says(schema)
  return marks.first(schema, schema, claim_of) ~= nil
end

--- Says a schema, or a part of it, that strings are bytes?
---@param schema any
---@return boolean
function bytes.concerns(schema)
  if type(schema) ~= "table" then
    return false
  elseif claim_of(schema) then
    return true
  end
  for _, part in next, schema do
    if bytes.concerns(part) then
      return true
    end
  end
  return false
end

-- The bytes that a string holds by its schema, and their media type; nil: it is a text. What was read from JSON is not
-- bytes as they are.
local function claimed(value, schema, root, was_json)
  local claim = value ~= "" and marks.first(schema, root, claim_of)
  local decoded = claim and claim.decode and claim.decode(value)
  if decoded then
    return decoded, claim.media
  elseif claim and not claim.decode and not was_json then
    return value, claim.media
  elseif not bytes.is_text(nil, value) then
    return value, claim and claim.media or UNKNOWN
  end
end

--- The bytes that an envelope's data is, and their media type; nil: it is a text, or no string.
---@param envelope operations.Envelope
---@param schema any  the operation's outputSchema
---@return string? data
---@return string? media
function bytes.of(envelope, schema)
  local data, meta = envelope.data, envelope.meta
  if type(data) ~= "string" then
    return nil
  end
  local headers = type(meta.headers) == "table" and meta.headers or {}
  local media = meta.source == "http" and (essence(meta.contentType) or essence(headers["content-type"])) or nil
  if media and not bytes.is_text(media, data) then
    return data, media
  end
  return claimed(data, schema, schema, media ~= nil)
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

local copy_of

local function copy_of_members(value, schema, walk)
  local copy = property_order.carry({}, value)
  walk.seen[value] = copy
  local names = core.kind(value) == "array" and value or property_order.names(value)
  for i, name in ipairs(names) do -- in order: it is that of the blocks
    local key = names == value and i or name
    copy[key] = copy_of(value[key], marks.part(schema, walk.root, key), walk)
  end
  for key, item in next, value do
    if copy[key] == nil then
      copy[key] = item -- cannot be written as JSON
    end
  end
  return copy
end

function copy_of(value, schema, walk)
  if type(value) == "string" then
    local found, media = claimed(value, schema, walk.root, walk.was_json)
    return found and walk.replace(found, media, value) or value
  elseif type(value) ~= "table" or walk.seen[value] then
    return walk.seen[value] or value
  end
  return copy_of_members(value, schema, walk)
end

--- A copy of an envelope's data in which the bytes are replaced.
---@param envelope operations.Envelope  its data is a table
---@param schema any  the operation's outputSchema
---@param replace fun(value: string, media: string, text: string): string  gets the bytes, and what holds them
---@return table
function bytes.replaced(envelope, schema, replace)
  return copy_of(envelope.data, schema, { root = schema, replace = replace, seen = {},
    was_json = envelope.meta.source == "http" })
end

--- The string of bytes for JSON: base64, where it is not yet encoded.
---@param value string
---@param _ string  the media type
---@param text string  that holds them
---@return string
function bytes.encoded(value, _, text)
  return text ~= value and text or base64.encode(value)
end

--- A copy of a schema of results which says that their bytes are base64.
---@param schema any
---@return any
function bytes.told(schema)
  if type(schema) ~= "table" then
    return schema
  end
  local copy = property_order.carry(members.copy(schema), schema)
  local claim = claim_of(schema)
  if claim and not claim.decode then
    copy.contentMediaType, copy.contentEncoding, copy.format = claim.media, "base64", nil
  end
  for key, part in next, schema do
    if type(part) == "table" then
      copy[key] = bytes.told(part)
    end
  end
  return copy
end

return bytes
