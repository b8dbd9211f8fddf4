--- Files in request bodies: the values by which callers give them (text, or where to read it), and the JSON Schema of a
--- body whose properties may be files.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local encoding = require("operations.openapi.encoding")
local http_stream = require("operations.net.http.stream")
local json_pointer = require("operations.base.json_pointer")
local keyword = require("operations.openapi.keyword")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local system = require("operations.system")

local file = {}

---@class operations.openapi.FileValue  one of path, data, base64, reader
---@field path? string      of a file
---@field data? string      its bytes
---@field base64? string    its bytes (RFC 4648), from callers that speak JSON; `name` and `type` may be beside it
---@field name? string      beside `base64`: as `filename`
---@field type? string      beside `base64`: as `contentType`
---@field reader? fun(): string?|{ read: function }  called for the next piece until nil; usable for one request
---@field size? integer     bytes that the reader gives; without it the body is sent in chunks
---@field filename? string  default: the last part of a path, else "blob", as in browsers
---@field contentType? string
---@field headers? table<string, string>  of the part

---@class operations.openapi.Content  the content to send
---@field text? string      the bytes, or
---@field read? fun(): string?, string?  the next piece; nil at the end, or nil and the error
---@field close? fun()      present with `read`
---@field path? string      where `read` reads, if that is a file
---@field once? boolean     it can be read only once
---@field size? integer     nil if unknown
---@field filename? string
---@field content_type? string
---@field headers? table<string, string>

local PIECE = 65536

local fields = {
  path = "string", data = "string", base64 = "string", name = "string", type = "string", size = "number",
  filename = "string", contentType = "string", headers = "table",
}

-- Without `reader`, as JSON has no functions.
local known_properties = {
  path = { type = "string", description = "The file to send." },
  data = { type = "string", description = "The text or bytes to send." },
  base64 = { type = "string", contentEncoding = "base64", description = "The bytes to send, in base64." },
  name = { type = "string", description = "The file's name, beside base64." },
  type = { type = "string", description = "Its media type, beside base64." },
  size = { type = "integer", minimum = 0 },
  filename = { type = "string" },
  contentType = { type = "string" },
  headers = { type = "object", additionalProperties = { type = "string" } },
}

property_order.set(known_properties,
  { "path", "base64", "name", "type", "data", "size", "filename", "contentType", "headers" })

local properties_without_path = property_order.carry(members.copy(known_properties), known_properties)
properties_without_path.path = nil

local function schema_of(known)
  return {
    description = "A file: its bytes, or where they are.",
    anyOf = { { type = "string" }, { type = "object", properties = known } },
  }
end

local with_path, pathless = schema_of(known_properties), schema_of(properties_without_path)

--- The JSON Schema of a file: without `path` for operations that others may call.
---@param build table
---@return table
function file.schema(build)
  return build.files_allowed and with_path or pathless
end

local beside_base64 = { name = "filename", type = "contentType" }

--- Does a value look like a file? Used where the document does not say.
---@param value any
---@return boolean
function file.is_file(value)
  if core.kind(value) ~= "object"
    or value.path == nil and value.data == nil and value.reader == nil and value.base64 == nil then
    return false
  end
  for name in pairs(value) do
    if not fields[name] and name ~= "reader" or beside_base64[name] and value.base64 == nil then
      return false
    end
  end
  return true
end

--- Is it a media type, with or without parameters?
---@param value any
---@return boolean
function file.is_media_type(value)
  return type(value) == "string" and value:find("^[%w!#$&^_.+-]+/[%w!#$&^_.+-]+[\32-\126]*$") ~= nil
end

local is_source = { path = true, data = true, base64 = true, reader = true }

local function problem_of(value, allow_path)
  local sources = 0
  for name, item in pairs(value) do
    local expected = fields[name]
    if name == "reader" and not http_stream.is_source(item) then
      return "expected a function or an object with a method read", "/reader"
    elseif name ~= "reader" and type(item) ~= expected then
      local message = expected and "expected a " .. expected or "a file has no such member"
      return message, "/" .. json_pointer.escape(tostring(name))
    elseif beside_base64[name] and (value.base64 == nil or value[beside_base64[name]] ~= nil) then
      return value.base64 and ("given beside " .. beside_base64[name]) or "is for base64 only", "/" .. name
    end
    sources = sources + (is_source[name] and 1 or 0)
  end
  if sources ~= 1 then
    return "expected one of path, data, base64 and reader", ""
  elseif value.size and (value.size < 0 or value.size % 1 ~= 0) then
    return "expected a number of bytes", "/size"
  elseif value.path and not allow_path then
    return "files of this machine are not sent on behalf of others; config.files allows it", "/path"
  end
  for _, name in ipairs({ "contentType", "type" }) do
    if value[name] and not file.is_media_type(value[name]) then
      return "is not a media type", "/" .. name
    end
  end
end

local function read_path(content, path)
  local kind = system.kind(path)
  if kind and kind ~= "file" then -- opening a FIFO would wait
    return "cannot be read: it is not a regular file"
  end
  local handle, message = io.open(path, "rb")
  if not handle then
    return "cannot be read: " .. message
  end
  local size = handle:seek("end")
  -- Files that report a size of 0 but have content (/proc, devices) are refused.
  if not size or size < 0 or size >= 2 ^ 53 or not handle:seek("set") or size == 0 and handle:read(1) then
    handle:close()
    return "cannot be read: it is not a regular file"
  end
  local left = size
  content.size, content.close = size, function()
    if io.type(handle) == "file" then
      handle:close()
    end
  end
  function content.read()
    local piece = left > 0 and handle:read(math.min(PIECE, left)) or nil
    left = left - (piece and #piece or 0)
    if not piece then
      content.close()
      return nil, left > 0 and path .. " became shorter while it was sent" or nil
    end
    return piece
  end
end

local function read_source(content, reader)
  local left = content.size
  content.once = true
  function content.close() end
  function content.read()
    local piece, err = http_stream.next_piece(reader)
    left = left and left - (type(piece) == "string" and #piece or 0)
    if left and (left < 0 or left > 0 and piece == nil and err == nil) then
      return nil, "the reader did not give as many bytes as its size says"
    end
    return piece, err
  end
end

--- Makes the content of a file.
---@param value string|operations.openapi.FileValue
---@param allow_path boolean
---@return operations.openapi.Content?
---@return string? message
---@return string? path  JSON Pointer into the value
function file.content(value, allow_path)
  if type(value) == "string" then
    return { text = value, size = #value }
  elseif core.kind(value) ~= "object" then
    return nil, "expected a string, or a file: one of path, data, base64 and reader", ""
  end
  local message, path = problem_of(value, allow_path)
  if message then
    return nil, message, path
  end
  local text = value.data
  if value.base64 then
    text = base64.decode(value.base64)
    if not text then
      return nil, "is not base64", "/base64"
    end
  end
  local content = {
    text = text, size = text and #text or value.size, filename = value.filename or value.name,
    content_type = value.contentType or value.type, headers = value.headers,
  }
  if value.path then
    content.path, content.filename = value.path, value.filename or value.path:match("[^/]*$")
    message = read_path(content, value.path)
  elseif value.reader then
    read_source(content, value.reader)
  end
  if message then
    return nil, message, "/path"
  end
  return content
end

-- The most combined schemas of a body in which files are added; the rest is converted as usual.
local MAX_INLINED = 64

local combinators = { "allOf", "anyOf", "oneOf" }

local function copy_limits(node, copy)
  for _, key in ipairs({ "minItems", "maxItems" }) do
    copy[key] = not keyword.expected(key, node[key]) and node[key] or nil
  end
  copy.description = type(node.description) == "string" and node.description or nil
end

-- The schema of a property that may be a file.
local function property_schema(build, place, field, way, used)
  local schema = build.converter:convert(place, way, used)
  if not encoding.may_be_file(field) then
    return schema
  end
  local made, is_nullable = file.schema(build), encoding.is_nullable(build, place)
  if field.is_array then
    local target = build.source:follow(place)
    made = { type = "array", items = made }
    copy_limits(target and target.node or {}, made)
  end
  return is_nullable and { anyOf = { made, { type = "null" } } } or made
end

local object_schema

-- `work` is shared by `object_schema` and its branches: the direction, and the number of branches.
local function branches_of(work, target, key)
  local list = {}
  local source = work.build.source
  for i in ipairs(target.node[key]) do
    list[i] = object_schema(work, source:member(source:member(target, key), i))
  end
  return list
end

-- A schema without its properties, which are converted separately.
local function converted(work, target)
  local rest, branches = members.copy(target.node), {}
  if core.kind(rest.properties) == "object" then
    rest.properties = nil -- the converter reports invalid ones
  end
  for _, key in ipairs(combinators) do
    if type(rest[key]) == "table" then
      branches[key], rest[key] = branches_of(work, target, key), nil
    end
  end
  local schema = members.copy(work.build.converter:convert(
    { node = rest, file = target.file, pointer = target.pointer }, work.way, work.used))
  for key, list in pairs(branches) do
    schema[key] = list
  end
  return schema
end

local function add_properties(work, target, schema)
  local properties = target.node.properties
  schema.properties = property_order.carry({}, properties)
  for name in pairs(properties) do
    local property = work.build.source:member(work.build.source:member(target, "properties"), name)
    schema.properties[name] = property_schema(work.build, property, work.fields[name], work.way, work.used)
  end
  local gone = keyword.hidden(work.build.source, target.node, target.file, work.way)
  if gone then
    keyword.remove(schema, gone)
  end
end

-- Properties without names that may be files.
local function add_rest(work, target, schema)
  local source = work.build.source
  local rest = type(target.node.additionalProperties) == "table" and source:member(target, "additionalProperties")
  if rest and work.rest and encoding.may_be_file(work.rest) then
    schema.additionalProperties = property_schema(work.build, rest, work.rest, work.way, work.used)
  end
  local patterns = type(target.node.patternProperties) == "table" and source:member(target, "patternProperties")
  for pattern in pairs(patterns and patterns.node or {}) do
    local field = work.patterns[pattern]
    if field and encoding.may_be_file(field) then
      schema.patternProperties = members.merged(schema.patternProperties or {}, {
        [pattern] = property_schema(work.build, source:member(patterns, pattern), field, work.way, work.used) })
    end
  end
end

function object_schema(work, place)
  local target = work.build.source:follow(place)
  work.count = work.count + 1
  if not target or core.kind(target.node) ~= "object" or work.count > MAX_INLINED then
    return work.build.converter:convert(place, work.way, work.used)
  end
  local schema = converted(work, target)
  if core.kind(target.node.properties) == "object" then
    add_properties(work, target, schema)
  end
  add_rest(work, target, schema)
  return schema
end

-- An array whose items are parts: each may be a file.
local function array_schema(build, target, positions, way, used)
  local source, schema = build.source, { type = "array" }
  local items, prefix = source:member(target, "items"), source:member(target, "prefixItems")
  copy_limits(target.node, schema)
  schema.items = items and property_schema(build, items, positions.items, way, used)
  for i in ipairs(prefix and type(prefix.node) == "table" and prefix.node or {}) do
    schema.prefixItems = schema.prefixItems or {}
    schema.prefixItems[i] = property_schema(build, source:member(prefix, i), positions.prefix[i], way, used)
  end
  return schema
end

--- The JSON Schema of a multipart body whose parts may be files.
---@param build table
---@param place operations.openapi.Place  of the body's schema
---@param made operations.openapi.BodyType
---@param way operations.openapi.Direction
---@param used table<string, operations.openapi.Place>
---@return table|boolean
function file.body_schema(build, place, made, way, used)
  local target = build.source:follow(place)
  if made.positions and target and target.node.type == "array" then
    return array_schema(build, target, made.positions, way, used)
  end
  local work = { build = build, fields = made.fields, rest = made.rest, patterns = made.patterns or {},
    way = way, used = used, count = 0 }
  return object_schema(work, place)
end

return file
