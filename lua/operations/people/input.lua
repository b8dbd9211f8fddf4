--- Reads an operation's input from command line arguments, and converts plain texts. fields.lua puts the parts in
--- place.
local core = require("operations.core")
local file_input = require("operations.people.file_input")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")
local system = require("operations.system")

local input = {}

input.help = [[
Input (any mix; later arguments win):
  key=value   a string, or a value of the schema's type if the conversion loses
              nothing ("12" becomes 12); repeated keys make a list; a.b=x and
              a[0]=x set members of objects and items of lists; a key that is
              not a parameter belongs to the request's body
  key=@file   the content of a file, sent unchanged if the schema takes bytes;
              key=@- is standard input; key=@@x is the text @x
  key:=json   JSON: count:=3, tags:='["a","b"]'; key:=@file reads it from a file
  @file       JSON from a file
  -           JSON from standard input
  '{...}'     a JSON object
A missing body is read from standard input, if that is redirected.
]]

local function decode(text, origin)
  local value, err = json.decode(text)
  if value == nil then
    return nil, ("%s: %s"):format(origin, err.message)
  end
  return value
end

local function decode_file(path)
  if path == "" then
    return nil, "expected a file after @"
  end
  local text, message = file_input.read(path)
  if not text then
    return nil, message
  end
  return decode(text, file_input.shown(path))
end

--- Reads an argument that is a whole input; nil when it is for one key.
local function whole_reader(argument)
  if argument == "-" then
    return decode_file, "-"
  elseif argument:sub(1, 1) == "@" then
    return decode_file, argument:sub(2)
  elseif argument:find("^%s*[{%[]") then
    return decode, argument
  end
end

local function json_value(key, text)
  if text:sub(1, 1) == "@" then
    return decode_file(text:sub(2))
  end
  return decode(text, key)
end

-- The item for "key=text": a text, or the named file. Checks that the file exists before anything is loaded or sent.
local function text_item(key, text)
  if text:sub(1, 2) == "@@" then
    return { key = key, text = text:sub(2) }
  elseif text:sub(1, 1) ~= "@" then
    return { key = key, text = text }
  elseif text == "@" then
    return nil, ("%s: expected a file after @; for a text that begins with @ write %s=@@..."):format(key, key)
  end
  local path = text:sub(2)
  local kind, message = "other", nil
  if path ~= "-" then
    kind, message = system.kind(path)
  end
  if not kind then
    return nil, ("%s: %s"):format(key, message)
  elseif kind == "directory" then
    return nil, ("%s: %s is a directory"):format(key, path)
  end
  return { key = key, path = path }
end

--- The item of "key=value" or "key:=json"; or nil, message.
local function pair(argument)
  local key, text = argument:match("^([^=]+)=(.*)$")
  if not key then
    return nil, ("%q is not an input: expected key=value, key:=json, @file, - or a JSON object"):format(argument)
  elseif not json.encode(argument) then
    return nil, ("%q: expected UTF-8"):format(argument)
  elseif key:sub(-1) ~= ":" then
    return text_item(key, text)
  elseif key == ":" then
    return nil, ("%q: expected a key before :="):format(argument)
  end
  local value, message = json_value(key:sub(1, -2), text)
  if value == nil then
    return nil, message
  end
  return { key = key:sub(1, -2), value = value }
end

local function item_of(argument)
  local reader, text = whole_reader(argument)
  if not reader then
    return pair(argument)
  end
  local value, message = reader(text, "input")
  if value == nil then
    return nil, message
  end
  return { whole = value }
end

---@class operations.people.InputItem  of one argument: a whole input, or `key` and one of the others
---@field whole? any
---@field key? string
---@field text? string
---@field is_parameter? boolean  the key is not one of the body
---@field path? string  of a file to read
---@field value? any

--- Reads arguments.
---@param arguments string[]
---@return operations.people.InputItem[]? items
---@return string? message  error message
function input.read(arguments)
  local items = {}
  for i, argument in ipairs(arguments) do
    local item, message = item_of(argument)
    if not item then
      return nil, message
    end
    items[i] = item
  end
  return items
end

-- Conversion.

-- The key of the text at or above JSON Pointer `path`, where a change was made.
local function concerns(path, texts)
  while path ~= "" do
    if texts[path] then
      return path
    end
    path = path:match("^(.*)/[^/]*$") or ""
  end
end

local function set(value, pointer, item)
  local parent, token = pointer:match("^(.*)/([^/]*)$")
  local node, key = json_pointer.get(value, parent), json_pointer.unescape(token)
  if core.kind(node) == "array" then
    key = tonumber(key) + 1
  end
  node[key] = item
end

local about_type = { type = true, anyOf = true, oneOf = true }

local function has_type_issue(schema, value, pointer)
  local _, issues = schema:check(value)
  for _, issue in ipairs(issues or {}) do
    if issue.path == pointer and about_type[issue.keyword] then
      return true
    end
  end
  return false
end

-- The text at a place, if there is one and another type is required.
local function mistyped(value, pointer, schema)
  local item = has_type_issue(schema, value, pointer) and json_pointer.get(value, pointer)
  return type(item) == "string" and item or nil
end

-- Replaces the value at a place if the new one has the right type.
local function try(value, pointer, schema, other)
  local before = json_pointer.get(value, pointer)
  set(value, pointer, other)
  if has_type_issue(schema, value, pointer) then
    set(value, pointer, before)
  end
end

--- Casting keeps a text that is not what the value would be written as (1.50, 1e2), and null. The text is converted as
--- JSON.
local function retype(value, pointer, schema)
  local text = mistyped(value, pointer, schema)
  local scalar = text and json.decode(text)
  local kind = core.kind(scalar)
  if kind == "integer" or kind == "number" or kind == "boolean" or kind == "null" then
    try(value, pointer, schema, scalar)
  end
end

--- A single text or file becomes a list where a list is required, also one of a union, whose items may need casting.
local function enlist(value, pointer, schema)
  if not (has_type_issue(schema, value, pointer) and has_type_issue(schema, schema:cast(value), pointer)) then
    return
  end
  local item = json_pointer.get(value, pointer)
  if core.kind(item) ~= "array" then
    set(value, pointer, marked.array({ item }))
    if has_type_issue(schema, schema:cast(value), pointer) then
      set(value, pointer, item)
    end
  end
end

--- Converts plain texts as the schema requires, if casting loses nothing. Validation judges the rest.
---@param value any
---@param texts table<string, any>  places (JSON Pointers) that came as plain text
---@param schema { cast: function, check: function }  compiled
---@return any
function input.convert(value, texts, schema)
  if next(texts) == nil then
    return value
  end
  for pointer in pairs(texts) do
    enlist(value, pointer, schema)
  end
  local cast, changes = schema:cast(value)
  for _, change in ipairs(changes) do
    local pointer = change.kind == "converted" and concerns(change.path, texts)
    local converted = pointer and json_pointer.get(cast, pointer)
    if converted ~= nil and pointer then
      set(value, pointer, converted)
    end
  end
  for pointer in pairs(texts) do
    retype(value, pointer, schema)
  end
  return value
end

return input
