--- Multipart bodies: the parts of a value (OpenAPI 3.2.0, "Encoding multipart Media Types"; RFC 7578), and their bytes
--- (RFC 2046, 5.1; names escaped as in the HTML standard, 4.10.21.8): one string, or a source that is read while it is
--- sent.
local core = require("operations.core")
local encoding = require("operations.openapi.encoding")
local file = require("operations.openapi.file")
local form = require("operations.openapi.form")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local style = require("operations.openapi.style")

local multipart = {}

---@class operations.openapi.Part
---@field name? string  of form-data
---@field content operations.openapi.Content
---@field content_type? string
---@field headers? table<string, string>
---@field is_file? boolean

local function text_part(name, text, field)
  return {
    name = name, content = { text = text, size = #text }, headers = field.headers,
    content_type = field.content_type or field.default_type,
  }
end

-- The headers of a file's part: the document's defaults, and the caller's; none that say what the part is, unless the
-- document declares them. The names are compared without case.
local function headers_of(field, content)
  local headers, spelled, given = members.merged(field.headers), {}, content.headers or {}
  for name in pairs(headers) do
    spelled[name:lower()] = name
  end
  for _, name in ipairs(members.names(given)) do
    local lower = name:lower()
    if given[name] == nil or not header_field.is_token(name) then
      return nil, ("%q is not a header name"):format(name)
    elseif lower == "content-type" and not content.content_type and file.is_media_type(given[name]) then
      content.content_type = given[name]
    elseif lower:find("^content%-") and not (field.declared and field.declared[lower]) then
      return nil, ("the header %s of a part cannot be given"):format(name)
    elseif spelled[lower] and given[spelled[lower]] ~= nil and spelled[lower] ~= name then
      return nil, ("the header %s is given twice"):format(name)
    else
      headers[spelled[lower] or name] = nil
      headers[name], spelled[lower] = given[name], name
    end
  end
  return headers
end

local function file_part(name, value, field, options)
  local content, message, path = file.content(value, options.files)
  local headers
  if content then
    headers, message = headers_of(field, content)
  end
  if not headers then
    if content and content.close then
      content.close()
    end
    return nil, message, path
  end
  return {
    name = name, content = content, is_file = not field.untyped or type(value) ~= "string", headers = headers,
    content_type = content.content_type or field.content_type or field.default_type or "application/octet-stream",
  }
end

local no_field = {}

-- The part of a property that is sent by its media type.
local function media_part(name, value, field, options)
  if encoding.may_be_file(field) or field == no_field and file.is_file(value) then
    return file_part(name, value, field, options)
  end
  local text, message = form.value_text(field, value)
  if not text then
    return nil, message, ""
  end
  local made = text_part(name, text, field)
  if field == no_field and type(value) == "table" then
    made.content_type = "application/json"
  end
  return made
end

local function style_parts(parts, name, value, field)
  local list, message, path = form.pairs(field, name, value, style.plain)
  if not list then
    return message, path
  end
  for _, pair in ipairs(list) do
    parts[#parts + 1] = text_part(pair[1], pair[2], { headers = field.headers })
  end
end

-- An array becomes one part per item (RFC 7578, 4.3); null is omitted.
local function add_property(parts, name, value, field, options)
  if field.style and value ~= core.null then
    return style_parts(parts, name, value, field)
  end
  local is_list = core.kind(value) == "array"
  for i, item in ipairs(is_list and value or { value }) do
    if item ~= core.null then
      local made, message, path = media_part(name, item, field, options)
      if not made then
        return message, (is_list and "/" .. i - 1 or "") .. (path or "")
      end
      parts[#parts + 1] = made
    end
  end
end

local function check_text(text, what)
  if text:find("%z") then
    return what .. " must not contain NUL"
  elseif not json.encode(text) then
    return what .. " must be UTF-8"
  end
end

local function check_headers(made, required)
  local present = {}
  for name in pairs(made.headers or {}) do
    present[name:lower()] = true
  end
  for _, name in ipairs(required or {}) do
    if not present[name:lower()] then
      return ("the part needs the header %s; give it with the file's headers"):format(name)
    end
  end
  for name, value in pairs(made.headers or {}) do
    if type(value) ~= "string" or value:find(header_field.control) then
      return ("the header %s must be a string without control characters"):format(name)
    end
  end
end

local function check_part(made, field)
  local filename = made.content.filename
  return check_text(made.name or "", "the name") or filename and check_text(filename, "the file name")
    or check_headers(made, field and field.required_headers)
end

-- Closes the files of parts that are not sent.
local function close(parts)
  for _, made in ipairs(parts) do
    if made.content.close then
      made.content.close()
    end
  end
end

local function failed(parts, message, path)
  close(parts)
  return nil, message, path
end

-- Parts without names, for multipart types other than form-data.
local function unnamed_parts(value, positions, options)
  local parts = {}
  for i, item in ipairs(value) do
    local field = positions.prefix[i] or positions.items
    local made, message, path = media_part(nil, item, next(field) and field or no_field, options)
    if made then
      parts[i] = made
      message, path = check_part(made, field), ""
    end
    if message then
      return failed(parts, message, "/" .. i - 1 .. (path or ""))
    end
  end
  return parts
end

--- The parts of a value.
---@param fields table<string, operations.openapi.PartField>
---@param value any
---@param options { files: boolean, rest: operations.openapi.PartField?, positions: table? }  `rest`: of properties that
---  are not in `fields`; `positions`: of parts without names, where there may be such
---@return operations.openapi.Part[]? parts
---@return string? message
---@return string? path  JSON Pointer into the value
function multipart.parts(fields, value, options)
  local kind = core.kind(value)
  if kind == "array" and options.positions then
    return unnamed_parts(value, options.positions, options)
  elseif kind ~= "object" then
    return nil, "expected an object, each of its properties being a part", ""
  end
  local parts = {}
  for _, name in ipairs(property_order.names(value)) do
    local first, field = #parts + 1, fields[name] or options.rest or no_field
    local message, path = add_property(parts, name, value[name], field, options)
    for i = first, message and 0 or #parts do
      message, path = check_part(parts[i], field), ""
      if message then
        break
      end
    end
    if message then
      return failed(parts, message, "/" .. json_pointer.escape(name) .. (path or ""))
    end
  end
  return parts
end

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

-- Random, and contained in none of the texts.
local function new_boundary(parts)
  local boundary = "operations-" .. core.random_id()
  for _, one in ipairs(parts) do
    if one.content.text and one.content.text:find(boundary, 1, true) then
      return new_boundary(parts)
    end
  end
  return boundary
end

-- Texts and sources in the order of sending; adjacent texts are joined.
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

-- A reader over segments for the HTTP client.
local function reader_of(segments, parts)
  local position, reader = 1, { again = true, segments = segments }
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
    close(parts)
  end
  return reader
end

--- The bytes of parts.
---@param parts operations.openapi.Part[]
---@return string|{ read: function, close: function, again: boolean, segments: table } body  `again`: it can be made
---  again; `segments`: its texts, and contents of files
---@return integer? size  nil if unknown
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
