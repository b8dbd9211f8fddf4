--- `key=@file`: the value for an operation from a file. For bytes it is the file itself, read while it is sent;
--- otherwise its content.
local base64 = require("operations.base.base64")
local json = require("operations.base.json")
local schema_place = require("operations.people.schema_place")

local file_input = {}

local PIECE = 65536

-- Media types by file name extension.
local types = {
  bin = "application/octet-stream", css = "text/css", csv = "text/csv", gif = "image/gif", gz = "application/gzip",
  html = "text/html", jpeg = "image/jpeg", jpg = "image/jpeg", js = "text/javascript", json = "application/json",
  md = "text/markdown", mp3 = "audio/mpeg", mp4 = "video/mp4", pdf = "application/pdf", png = "image/png",
  svg = "image/svg+xml", tar = "application/x-tar", txt = "text/plain", wav = "audio/wav", webm = "video/webm",
  webp = "image/webp", xml = "application/xml", yaml = "application/yaml", yml = "application/yaml",
  zip = "application/zip",
}

-- Does the schema take a file as the OpenAPI adapter does: bytes, or `{ path = }` and the like?
local function takes_file(schemas)
  for _, schema in ipairs(schemas) do
    local properties = schema.properties
    if type(properties) == "table" and properties.path and properties.data and properties.contentType then
      return true
    end
  end
  return false
end

local function takes_base64(schemas)
  for _, schema in ipairs(schemas) do
    if schema.contentEncoding == "base64" or schema.format == "byte" then
      return true
    end
  end
  return false
end

--- Standard input as a body that is sent while it is read; nil when it is empty.
---@return operations.openapi.FileValue?
function file_input.stdin()
  local first = io.stdin:read(PIECE)
  if not first then
    return nil
  end
  local here = io.stdin:seek()
  local size = here and io.stdin:seek("end")
  if size then
    io.stdin:seek("set", here)
    size = size - here + #first
  end
  local value = { size = size }
  function value.reader()
    local piece = first or io.stdin:read(PIECE)
    first = nil
    return piece
  end
  return value
end

--- A file's name for messages.
---@param path string  "-" is standard input
---@return string
function file_input.shown(path)
  return path == "-" and "standard input" or path
end

--- The bytes of a file.
---@param path string  "-" is standard input
---@return string? bytes
---@return string? message
function file_input.read(path)
  local file, message = io.stdin, nil
  if path ~= "-" then
    file, message = io.open(path, "rb")
  end
  if not file then
    return nil, message
  end
  local text
  text, message = file:read("*a")
  if path ~= "-" then
    file:close()
  end
  return text, message and ("%s: %s"):format(file_input.shown(path), message)
end

local function as_file(path)
  if path == "-" then
    return file_input.stdin() or ""
  end
  local ending = (path:match("%.(%w+)$") or ""):lower()
  return { path = path, filename = path:match("[^/]*$"), contentType = types[ending] }
end

-- The content of a file for a text or JSON. Invalid JSON may be one text of a list.
local function content(path, schemas, items)
  local text, message = file_input.read(path)
  if not text then
    return nil, message
  elseif takes_base64(schemas) then
    return base64.encode(text)
  elseif not schema_place.allows(schemas, "string") then
    local value, err = json.decode(text)
    if value == nil and items[1] and schema_place.allows(items, "string") and json.encode(text) then
      return text
    elseif value == nil then
      return nil, ("%s: %s"):format(file_input.shown(path), err.message)
    end
    return value
  elseif not json.encode(text) then
    return nil, ("%s is not UTF-8, and a text is wanted here"):format(file_input.shown(path))
  end
  return text
end

--- The value for an operation from a file.
---@param path string  "-" is standard input
---@param schemas table[]  that may apply at its place
---@param items? table[]   that may apply to the items of a list there
---@return any value
---@return string? message
function file_input.value(path, schemas, items)
  items = items or {}
  if takes_file(schemas) or takes_file(items) then
    return as_file(path)
  end
  return content(path, schemas, items)
end

--- The body of a request from standard input; nil when it is empty.
---@param schemas table[]
---@return any value
---@return string? message
function file_input.body(schemas)
  if takes_file(schemas) then
    return file_input.stdin()
  end
  local text = io.stdin:read("*a")
  if not text or text == "" then
    return nil
  elseif schema_place.allows(schemas, "string") and not schema_place.allows(schemas, "object") then
    return text
  end
  local value, err = json.decode(text)
  if value == nil then
    return nil, "standard input, taken for the body: " .. err.message
  end
  return value
end

return file_input
