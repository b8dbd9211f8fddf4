--- Selects the media type of a body, and encodes the value.
local core = require("operations.core")
local encoding = require("operations.openapi.encoding")
local file = require("operations.openapi.file")
local form = require("operations.openapi.form")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local multipart = require("operations.openapi.multipart")
local schemas = require("operations.schema")

local encoder = {}

local ordered = { keep_order = true }

---@class operations.openapi.Payload
---@field data string|{ read: function, close: function, again: boolean }
---@field size? integer  of the bytes to read; nil if unknown
---@field content_type string

local kinds = {}

-- The JSON text; or nil, the error and its path.
local function json_text(value)
  local text, err = json.encode(value, ordered)
  if text then
    return text
  end
  local path = err.details.path
  return nil, path == "" and err.message or err.message:sub(#path + #": " + 1), path
end

function kinds.json(value, plan)
  local text, message, path = json_text(value)
  return text and { data = text, content_type = plan.content_type }, message, path
end

function kinds.form(value, plan)
  local text, message, path = form.text(plan.fields, value, plan.rest)
  return text and { data = text, content_type = plan.content_type }, message, path
end

function kinds.multipart(value, plan)
  local parts, message, path = multipart.parts(plan.fields, value, plan)
  if not parts then
    return nil, message, path
  end
  local data, size, boundary = multipart.body(parts)
  return { data = data, size = size, content_type = ("%s; boundary=%s"):format(plan.content_type, boundary) }
end

-- The prefix of each JSON text: none in NDJSON, a mark in a sequence (RFC 7464).
local marks = { lines = "", sequence = "\30" }

-- JSON texts, each followed by a line end.
function kinds.lines(value, plan)
  if type(value) == "string" then
    return { data = value, content_type = plan.content_type }
  elseif core.kind(value) ~= "array" then
    return nil, "expected an array, each item being one JSON text, or the whole as a string", ""
  end
  local texts = {}
  for i = 1, #value do
    local text, message, path = json_text(value[i])
    if not text then
      return nil, message, "/" .. i - 1 .. path
    end
    texts[i] = marks[plan.kind] .. text .. "\n"
  end
  return { data = table.concat(texts), content_type = plan.content_type }
end

kinds.sequence = kinds.lines

--- Text, bytes, XML: sent unchanged.
function kinds.bytes(value, plan)
  local content, message, path = file.content(value, plan.files)
  if not content then
    return nil, message, path
  end
  local data = content.text
  if not data then
    data = { read = content.read, close = content.close, again = not content.once, segments = { content } }
  end
  return { data = data, size = content.size, content_type = content.content_type or plan.content_type }
end

--- The kind of a media type; nil if it cannot be encoded here.
---@param essence string
---@return "json"|"form"|"multipart"|"lines"|"sequence"|"bytes"|nil
function encoder.kind(essence)
  local stream = media.stream_kind(essence)
  if media.is_json(essence) or essence == "*/*" or essence == "application/*" or essence == "application/*+json" then
    return "json"
  elseif essence == "application/x-www-form-urlencoded" then
    return "form"
  elseif essence:find("^multipart/") then
    return "multipart"
  end
  return not stream and "bytes" or stream ~= "events" and stream or nil
end

--- Makes the bytes of a body.
---@param plan operations.openapi.BodyType
---@param value any
---@param input_schema table  of the operation
---@return operations.openapi.Payload?
---@return string? message
---@return string? path  JSON Pointer into the value
function encoder.encode(plan, value, input_schema)
  -- An empty table is an array if the schema says so, else an object.
  return kinds[plan.kind](marked.value(value, input_schema.properties.body, input_schema), plan)
end

local function is_in_range(essence, range)
  local prefix = range:match("^(.*)%*$")
  return prefix == "*/" or prefix ~= nil and essence:sub(1, #prefix) == prefix
end

local function holds_file(made, value)
  for name, item in pairs(made.kind == "multipart" and value or {}) do
    item = encoding.may_be_file(made.fields[name] or made.rest) and item or nil
    if file.is_file(item) or core.kind(item) == "array" and file.is_file(item[1]) then
      return true
    end
  end
  return false
end

local closed = { unevaluatedProperties = false }

-- The compiled schema of a type; nil when all values fit.
local function compiled(made, input_schema, is_closed)
  local key = is_closed and "closed_check" or "check"
  if made[key] == nil then
    local schema = members.merged(type(made.schema) == "table" and made.schema or nil,
      { ["$defs"] = input_schema["$defs"] }, is_closed and closed or nil)
    made[key] = made.schema ~= nil and schemas.compile(schema, { formats = true }) or false
  end
  return made[key] or nil
end

-- Why a value does not fit a type; nil when it fits. `is_closed`: members that its schema does not name do not fit.
local function issues_of(made, value, input_schema, is_closed)
  if made.kind == "bytes" then
    local is_text = media.is_text(made.essence)
    if type(value) == "string" or not is_text and file.is_file(value) then
      return nil
    end
    return { { path = "", keyword = "type",
      message = (is_text and "expected string, got %s" or "expected a string or a file, got %s"):format(
        core.kind(value)) } }
  end
  local check = compiled(made, input_schema, is_closed)
  local ok, issues = true, nil
  if check then
    ok, issues = check:check(value)
  end
  return not ok and issues or nil
end

-- The first type that can carry the files in the value and that it fits; else the first that it fits. An object that
-- looks like a file is bytes unless another type names all its members.
local function fitting(plan, value, input_schema)
  if not plan.types[2] then
    return plan.types[1]
  elseif core.kind(value) == "object" then
    for _, made in ipairs(plan.types) do
      if holds_file(made, value) then
        return made, plan.differs and issues_of(made, value, input_schema) or nil
      end
    end
  end
  for _, is_closed in ipairs(plan.differs and { file.is_file(value), false } or {}) do
    for _, made in ipairs(plan.types) do
      if not issues_of(made, value, input_schema, is_closed) then
        return made
      end
    end
  end
  return plan.types[1], plan.differs and issues_of(plan.types[1], value, input_schema) or nil
end

--- The type selected by the caller, or the one for the value.
---@param plan operations.openapi.Body
---@param value any
---@param wanted any  nil: the value selects it
---@param input_schema table  of the operation
---@return operations.openapi.BodyType?
---@return operations.Issue[]|string|nil  why the value does not fit the type; or why there is no type
function encoder.pick(plan, value, wanted, input_schema)
  if wanted == nil then
    return fitting(plan, value, input_schema)
  elseif type(wanted) ~= "string" or wanted:find("%c") then
    return nil, "expected a media type"
  end
  local essence = media.essence(wanted)
  for _, made in ipairs(plan.types) do
    if made.name == wanted or made.essence == essence then
      return made, plan.differs and issues_of(made, value, input_schema) or nil
    end
  end
  for _, made in ipairs(plan.types) do
    local kind = is_in_range(essence, made.essence) and encoder.kind(essence)
    if kind then
      return { kind = kind, essence = essence, content_type = wanted, fields = made.fields or {}, files = made.files,
        positions = kind == "multipart" and { prefix = {}, items = {} } or nil }
    end
  end
  return nil, ("%s is not among the operation's media types"):format(wanted)
end

return encoder
