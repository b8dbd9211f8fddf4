--- Makes an operation's input of command line arguments.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")

local input = {}

input.help = [[
Input (any mix; later arguments win):
  key=value   a string, or what the input schema wants there if nothing is lost
              by it ("12" for an integer becomes 12); a key that is repeated or
              wants a list makes one
  key:=json   JSON: count:=3, tags:='["a","b"]'; key:=@file reads it from a file
  @file       JSON from a file
  -           JSON from standard input
  '{...}'     a JSON object
]]

local function read(path)
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
  return text, message and ("%s: %s"):format(path == "-" and "standard input" or path, message)
end

local function decode(text, origin)
  local value, err = json.decode(text)
  if value == nil then
    return nil, ("%s: %s"):format(origin, err.message)
  end
  return value
end

local function decode_file(path)
  if path == "" then
    return nil, "expected a file behind @"
  end
  local text, message = read(path)
  if not text then
    return nil, message
  end
  return decode(text, path == "-" and "standard input" or path)
end

--- Reads an argument that is the whole input; nil when it is about one key.
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

--- key, value, is_text of "key=value" or "key:=json"; or nil, message.
local function pair(argument)
  local key, text = argument:match("^([^=]+)=(.*)$")
  if not key then
    return nil, ("%q is no input: expected key=value, key:=json, @file, - or a JSON object"):format(argument)
  elseif not json.encode(argument) then
    return nil, ("%q: expected UTF-8"):format(argument)
  elseif key:sub(-1) ~= ":" then
    return key, text, true
  elseif key == ":" then
    return nil, ("%q: expected a key before :="):format(argument)
  end
  local value, message = json_value(key:sub(1, -2), text)
  if value == nil then
    return nil, message
  end
  return key:sub(1, -2), value, false
end

--- Sets a key; a text for a key that has texts already makes a list of them.
local function put(state, key, value, is_text)
  local before = state.texts[key]
  if not is_text then
    state.value[key], state.texts[key] = value, nil
  elseif before == nil then
    state.value[key], state.texts[key] = value, { value }
  else
    before[#before + 1] = value
    state.value[key] = marked.array(before)
  end
end

local function take_whole(state, value)
  if core.kind(value) ~= "object" or core.kind(state.value) ~= "object" then
    state.value = value
    return true
  end
  for key, item in pairs(value) do
    put(state, key, item, false)
  end
  return true
end

local function take(state, argument)
  local reader, text = whole_reader(argument)
  if reader then
    local value, message = reader(text, "input")
    if value == nil then
      return nil, message
    end
    return take_whole(state, value)
  end
  local key, item, is_text = pair(argument)
  if not key then
    return nil, item
  elseif core.kind(state.value) ~= "object" then
    return nil, ("%s: the input is no object already"):format(argument)
  end
  put(state, key, item, is_text)
  return true
end

--- Reads arguments into an input.
---@param arguments string[]
---@return any value                   nil when something is wrong
---@return table<string, boolean>|string texts  the keys that came as plain text; or the message
function input.parse(arguments)
  local state = { value = marked.object(), texts = {} }
  for _, argument in ipairs(arguments) do
    local ok, message = take(state, argument)
    if not ok then
      return nil, message
    end
  end
  return state.value, state.texts
end

--- Does a change at JSON Pointer `path` lie at or below one of the keys?
local function concerns(path, texts)
  local token = path:match("^/([^/]*)")
  local key = token and json_pointer.unescape(token)
  return key and texts[key] and key
end

local function has_type_issue(schema, value, key)
  local path = "/" .. json_pointer.escape(key)
  local _, issues = schema:check(value)
  for _, issue in ipairs(issues or {}) do
    if issue.path == path and issue.keyword == "type" then
      return true
    end
  end
  return false
end

local function is_mistyped(value, key, schema)
  return type(value[key]) == "string" and has_type_issue(schema, value, key)
end

-- Sets a key to another value where that has the right type.
local function try(value, key, schema, other)
  local before = value[key]
  value[key] = other
  if has_type_issue(schema, value, key) then
    value[key] = before
  end
end

--- Casting leaves the text of a value that has the right type and is wrong otherwise (9 where 5 is the maximum). People
--- should read what is wrong with the value, not that it is a text.
local function retype(value, key, schema)
  local scalar = nil
  if is_mistyped(value, key, schema) then
    scalar = json.decode(value[key])
  end
  local kind = core.kind(scalar)
  if kind == "integer" or kind == "number" or kind == "boolean" or kind == "null" then
    try(value, key, schema, scalar)
  end
end

--- One text where a list is wanted is a list of one.
local function enlist(value, key, schema)
  if is_mistyped(value, key, schema) then
    try(value, key, schema, marked.array({ value[key] }))
  end
end

--- Converts what came as plain text the way the schema wants it, where casting loses nothing. Everything else stays
--- for validation to judge.
---@param value any
---@param texts table<string, any>  keys that came as plain text
---@param schema { cast: function, check: function }  compiled
---@return any
function input.convert(value, texts, schema)
  if next(texts) == nil then
    return value
  end
  for key in pairs(texts) do
    enlist(value, key, schema)
  end
  local cast, changes = schema:cast(value)
  for _, change in ipairs(changes) do
    local key = change.kind == "converted" and concerns(change.path, texts)
    if key then
      value[key] = cast[key]
    end
  end
  for key in pairs(texts) do
    retype(value, key, schema)
  end
  return value
end

return input
