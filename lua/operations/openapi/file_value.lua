--- A file as a caller gives it for a binary property or body: text itself, or where it is to be read from.
local core = require("operations.core")

local file_value = {}

---@class operations.openapi.FileValue  one of path, data, reader
---@field path? string      of a file
---@field data? string      its bytes
---@field reader? fun(): string?|{ read: function }  called for the next piece until nil; gone after one request
---@field size? integer     bytes that the reader will give; without it the body goes in chunks
---@field filename? string  default: of a path its last part, else "blob", as browsers say
---@field contentType? string
---@field headers? table<string, string>  of the part

---@class operations.openapi.Content  what is sent
---@field text? string      the bytes, or
---@field read? fun(): string?, string?  the next piece; nil at the end, or nil and what went wrong
---@field close? fun()      where there is `read`
---@field once? boolean     it can be read but once
---@field size? integer     nil when nobody knows
---@field filename? string
---@field content_type? string
---@field headers? table<string, string>

local PIECE = 65536

local members = {
  path = "string", data = "string", size = "number", filename = "string", contentType = "string", headers = "table",
}

local readers = { ["function"] = true, table = true, userdata = true }

-- What says it all: `reader` is missing because no schema knows functions.
local properties = {
  path = { type = "string", description = "The file to send." },
  data = { type = "string", description = "The bytes to send." },
  size = { type = "integer", minimum = 0 },
  filename = { type = "string" },
  contentType = { type = "string" },
  headers = { type = "object", additionalProperties = { type = "string" } },
}

local function without_path()
  local copy = {}
  for name, schema in pairs(properties) do
    copy[name] = name ~= "path" and schema or nil
  end
  return copy
end

local function schema_of(known)
  return {
    description = "A file: its bytes, or where they are.",
    anyOf = { { type = "string" }, { type = "object", properties = known } },
  }
end

--- The schemas of a file: with `path`, and for operations that strangers may call without it.
file_value.schema = schema_of(properties)
file_value.schema_without_path = schema_of(without_path())

--- Does a value look like a file? Asked where the document says nothing about it.
---@param value any
---@return boolean
function file_value.is_file(value)
  if core.kind(value) ~= "object" or value.path == nil and value.data == nil and value.reader == nil then
    return false
  end
  for name in pairs(value) do
    if not members[name] and name ~= "reader" then
      return false
    end
  end
  return true
end

local function problem_of(value, allow_path)
  local sources = 0
  for name, item in pairs(value) do
    local expected = members[name]
    if name == "reader" and not readers[type(item)] then
      return "expected a function or an object with a method read", "/reader"
    elseif name ~= "reader" and type(item) ~= expected then
      return expected and "expected a " .. expected or "a file has no such member", "/" .. tostring(name)
    end
    sources = sources + ((name == "path" or name == "data" or name == "reader") and 1 or 0)
  end
  if sources ~= 1 then
    return "expected one of path, data and reader", ""
  elseif value.path and not allow_path then
    return "files of this machine are not sent on behalf of others; config.files allows it", "/path"
  elseif value.contentType and not value.contentType:find("^[%w!#$&^_.+-]+/[%w!#$&^_.+-]+[\32-\126]*$") then
    return "is no media type", "/contentType"
  end
end

local function read_path(content, path)
  local file, message = io.open(path, "rb")
  if not file then
    return "cannot be read: " .. message
  end
  local size = file:seek("end")
  -- what says that it is empty, and is not, is made up as it is read: /proc, devices
  if not size or size < 0 or size >= 2 ^ 53 or not file:seek("set") or size == 0 and file:read(1) then
    file:close()
    return "cannot be read: it is no regular file"
  end
  local left = size
  content.size, content.close = size, function()
    if io.type(file) == "file" then
      file:close()
    end
  end
  function content.read()
    local piece = left > 0 and file:read(math.min(PIECE, left)) or nil
    left = left - (piece and #piece or 0)
    if not piece then
      content.close()
      return nil, left > 0 and path .. " became shorter while it was sent" or nil
    end
    return piece
  end
end

local function read_source(content, reader)
  local is_object = type(reader) ~= "function"
  local left = content.size
  content.once = true
  function content.close() end
  function content.read()
    local piece, err
    if is_object then
      piece, err = reader:read(PIECE)
    else
      piece, err = reader()
    end
    left = left and left - (type(piece) == "string" and #piece or 0)
    if left and (left < 0 or left > 0 and piece == nil and err == nil) then
      return nil, "the reader did not give as many bytes as its size says"
    end
    return piece, err
  end
end

--- Makes what is sent of a file.
---@param value string|operations.openapi.FileValue
---@param allow_path boolean
---@return operations.openapi.Content?
---@return string? message
---@return string? path  JSON Pointer into the value
function file_value.content(value, allow_path)
  if type(value) == "string" then
    return { text = value, size = #value }
  elseif core.kind(value) ~= "object" then
    return nil, "expected a string, or a file: one of path, data and reader", ""
  end
  local message, path = problem_of(value, allow_path)
  if message then
    return nil, message, path
  end
  local content = {
    text = value.data, size = value.data and #value.data or value.size, filename = value.filename,
    content_type = value.contentType, headers = value.headers,
  }
  if value.path then
    content.filename = value.filename or value.path:match("[^/]*$")
    message = read_path(content, value.path)
  elseif value.reader then
    read_source(content, value.reader)
  end
  if message then
    return nil, message, "/path"
  end
  return content
end

return file_value
