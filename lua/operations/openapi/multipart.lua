--- The bytes of a multipart body (RFC 2046, 5.1; RFC 7578; names as the HTML standard's 4.10.21.8 escapes them): one
--- string, or a source that is read while it is sent.
local core = require("operations.core")
local members = require("operations.base.members")
local part = require("operations.openapi.part")

local multipart = {}

local escapes = { ['"'] = "%22", ["\r"] = "%0D", ["\n"] = "%0A" }

local function quoted(text)
  return '"' .. text:gsub('["\r\n]', escapes) .. '"'
end

local function head_of(one)
  local lines = {}
  if one.name or one.content.filename then
    local filename = one.content.filename or one.is_file and "blob"
    lines[1] = "Content-Disposition: " .. (one.name and "form-data; name=" .. quoted(one.name) or "attachment")
      .. (filename and "; filename=" .. quoted(filename) or "")
  end
  if one.content_type then
    lines[#lines + 1] = "Content-Type: " .. one.content_type
  end
  local names = members.names(one.headers or {})
  for _, name in ipairs(names) do
    lines[#lines + 1] = name .. ": " .. one.headers[name]
  end
  lines[#lines + 1] = "\r\n"
  return table.concat(lines, "\r\n")
end

-- Nobody can guess it, and no text that we know holds it.
local function new_boundary(parts)
  local boundary = "operations-" .. core.random_id()
  for _, one in ipairs(parts) do
    if one.content.text and one.content.text:find(boundary, 1, true) then
      return new_boundary(parts)
    end
  end
  return boundary
end

-- Texts and sources in the order in which they are sent; texts that follow each other are one.
local function segments_of(parts, boundary)
  local segments, texts = {}, {}
  local function flush()
    segments[#segments + 1] = table.concat(texts)
    texts = {}
  end
  for i, one in ipairs(parts) do
    texts[#texts + 1] = (i > 1 and "\r\n" or "") .. "--" .. boundary .. "\r\n" .. head_of(one)
    if one.content.text then
      texts[#texts + 1] = one.content.text
    else
      flush()
      segments[#segments + 1] = one.content
    end
  end
  texts[#texts + 1] = (#parts > 0 and "\r\n" or "") .. "--" .. boundary .. "--\r\n"
  flush()
  return segments
end

local function size_of(segments)
  local size = 0
  for _, segment in ipairs(segments) do
    local more = type(segment) == "string" and #segment or type(segment) == "table" and segment.size
    if not more then
      return nil
    end
    size = size + more
  end
  return size
end

-- A reader over segments, as the HTTP client takes it.
local function reader_of(segments, parts)
  local position, reader = 1, { again = true }
  for _, one in ipairs(parts) do
    reader.again = reader.again and not one.content.once
  end
  function reader.read()
    while segments[position] do
      local segment = segments[position]
      if type(segment) == "string" then
        position = position + 1
        return segment
      end
      local piece, err = segment.read()
      if piece ~= nil or err ~= nil then
        return piece, err
      end
      position = position + 1
    end
    return nil
  end
  function reader.close()
    part.close(parts)
  end
  return reader
end

--- The bytes of parts.
---@param parts operations.openapi.Part[]
---@return string|{ read: function, close: function, again: boolean } body  `again`: it can be made a second time
---@return integer? size  nil when nobody knows
---@return string boundary
function multipart.body(parts)
  local boundary = new_boundary(parts)
  local segments = segments_of(parts, boundary)
  if #segments == 1 then
    return segments[1], #segments[1], boundary
  end
  return reader_of(segments, parts), size_of(segments), boundary
end

return multipart
