--- Reads the parameters of a request of HTTP as the document of an operation says: texts in their places in, the input
--- out. The opposite of `parameter.lua`. What it reads is for checks, policies and middleware: an unchanged value is
--- sent on as the text that came.
local core = require("operations.core")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local media_types = require("operations.openapi.media")
local members = require("operations.base.members")
local schemas = require("operations.schema")
local url = require("operations.base.url")

local wire = {}

-- The longest chain of references and combinators that is followed.
local DEPTH = 16

---@class operations.openapi.Wire  what the schema of a parameter takes
---@field array? boolean
---@field object? boolean
---@field scalar? boolean
---@field names table<string, true>  of its members
---@field check? operations.Schema  converts texts

local combinators = { "allOf", "anyOf", "oneOf" }

local function types_of(schema)
  local list = schema.type
  if type(list) == "string" then
    return { list }
  elseif type(list) == "table" then
    return list
  end
  return { schema.properties and "object" or schema.items and "array" or nil }
end

-- Collects what a schema takes.
local function survey(schema, root, found, depth)
  if type(schema) ~= "table" or depth > DEPTH then
    return
  end
  local name = type(schema["$ref"]) == "string" and schema["$ref"]:match("^#/%$defs/(.+)$")
  if name and type(root["$defs"]) == "table" then
    survey(root["$defs"][json_pointer.unescape(url.decode(name) or name)], root, found, depth + 1)
  end
  for _, kind in ipairs(types_of(schema)) do
    found[(kind == "array" or kind == "object") and kind or "scalar"] = true
  end
  for member in pairs(type(schema.properties) == "table" and schema.properties or {}) do
    found.names[member] = true
  end
  for _, keyword in ipairs(combinators) do
    for _, branch in ipairs(type(schema[keyword]) == "table" and schema[keyword] or {}) do
      survey(branch, root, found, depth + 1)
    end
  end
end

-- What a parameter of a plan takes; read once.
local function taken_by(plan, param)
  if not param.wire then
    local root, found = plan.input_schema, { names = {} }
    local schema = root.properties and root.properties[param.key]
    survey(schema, root, found, 0)
    if type(schema) == "table" then
      found.check = schemas.compile(members.merged(schema, { ["$defs"] = root["$defs"],
        ["$schema"] = root["$schema"] }))
    end
    found.scalar = found.scalar or not (found.array or found.object)
    param.wire = found
  end
  return param.wire
end

local function decoded(text)
  return url.decode(text) or text
end

local function decoded_form(text)
  return decoded((text:gsub("%+", " ")))
end

local function same(text)
  return text
end

local function split(text, separator)
  local list, from = {}, 1
  while true do
    local at, last = text:find(separator, from, true)
    list[#list + 1] = text:sub(from, (at or 0) - 1)
    if not at then
      return list
    end
    from = last + 1
  end
end

local function each(list, decode)
  local texts = setmetatable({}, core.array_mt)
  for i, text in ipairs(list) do
    texts[i] = decode(text)
  end
  return texts
end

-- An object of `name=value` items, or of names and values in turns.
local function object_of(list, exploded, decode)
  local object = setmetatable({}, core.object_mt)
  if exploded then
    for _, item in ipairs(list) do
      local name, value = item:match("^([^=]*)=?(.*)$")
      object[decode(name)] = decode(value)
    end
    return object
  end
  for i = 1, #list, 2 do
    object[decode(list[i])] = decode(list[i + 1] or "")
  end
  return object
end

-- The value of a parameter from its items, of which there is one where its schema takes no list.
local function value_of(takes, list, exploded, decode, whole)
  if takes.array and not (takes.scalar and #list == 1) then
    return each(list, decode)
  elseif takes.object and not takes.scalar then
    return object_of(list, exploded, decode)
  end
  return decode(whole)
end

local readers = {}

function readers.simple(param, takes, text)
  local decode = param.location == "header" and header_field.trim or decoded
  return value_of(takes, split(text, param.collection and param.collection[1] or ","), param.explode, decode, text)
end

function readers.label(param, takes, text)
  text = text:gsub("^%.", "")
  return value_of(takes, split(text, param.explode and "." or ","), param.explode, decoded, text)
end

function readers.matrix(param, takes, text)
  local items = split((text:gsub("^;", "")), ";")
  local named = param.wire_name .. "="
  if takes.object and not takes.scalar and param.explode then
    return object_of(items, true, decoded)
  end
  local values = {}
  for i, item in ipairs(items) do
    values[i] = item:sub(1, #named) == named and item:sub(#named + 1) or ""
  end
  if not param.explode and values[1] then
    values = split(values[1], ",")
  end
  return value_of(takes, values, false, decoded, table.concat(values, ","))
end

-- The separators of items in one pair, after their decoding for the last two.
local separators = { form = ",", spaceDelimited = " ", pipeDelimited = "|" }

-- The value of the pairs of a query, or of one cookie, that have the parameter's name.
local function of_pairs(param, takes, found)
  local is_cookie = param.location == "cookie"
  local decode = is_cookie and (param.style == "cookie" and same or decoded) or decoded_form
  local text = found[1].text
  if param.media then
    local whole = decode(text)
    if not media_types.is_json(param.media) then
      return whole
    end
    local value, err = json.decode(whole)
    return value, err and "is not JSON"
  elseif takes.array and (found[2] or param.explode) and not (takes.scalar and not found[2]) then
    local list = {}
    for i, pair in ipairs(found) do
      list[i] = pair.text
    end
    return each(list, decode)
  elseif found[2] then
    return nil, "is given more than once"
  elseif not takes.array and not takes.object then
    return decode(text)
  end
  local separator = param.collection and param.collection[1] or separators[param.style] or ","
  if separator == "," then
    return value_of(takes, split(text, ","), false, decode, text)
  end
  return value_of(takes, split(decode(text), separator), false, same, decode(text))
end

-- Puts a value into an object by the names in brackets: name[a][b]; [] appends.
local function put_deep(root, path, value)
  local node = root
  for i, name in ipairs(path) do
    name = name == "" and #node + 1 or tonumber(name) and tonumber(name) + 1 or name
    if i == #path then
      node[name] = value
    else
      node[name] = type(node[name]) == "table" and node[name] or {}
      node = node[name]
    end
  end
end

-- Marks the tables of a deepObject: names that are numbers are those of a list.
local function marked(node)
  for _, value in pairs(node) do
    if type(value) == "table" then
      marked(value)
    end
  end
  return setmetatable(node, node[1] ~= nil and core.array_mt or core.object_mt)
end

local function of_deep(param, pairs_of_query, used)
  local root, raw = {}, {}
  for _, pair in ipairs(pairs_of_query) do
    local name, rest = pair.name:match("^([^%[]*)(%[.*%])$")
    if name == param.name then
      local path = {}
      for key in rest:gmatch("%[([^%]]*)%]") do
        path[#path + 1] = key
      end
      put_deep(root, path, decoded_form(pair.text))
      raw[#raw + 1], used[pair] = pair.raw, true
    end
  end
  return raw[1] and marked(root), raw
end

-- The members of an exploded object are pairs of their own.
local function of_members(takes, pairs_of_query, taken, used)
  local object, raw = setmetatable({}, core.object_mt), {}
  for _, pair in ipairs(pairs_of_query) do
    if takes.names[pair.name] and not taken[pair.name] then
      object[pair.name] = decoded_form(pair.text)
      raw[#raw + 1], used[pair] = pair.raw, true
    end
  end
  return raw[1] and object, raw
end

local function read_pairs(text, separator)
  local list = {}
  for part in (text or ""):gmatch("[^" .. separator .. "]+") do
    local raw = header_field.trim(part)
    local name, value = raw:match("^([^=]*)=?(.*)$")
    list[#list + 1] = { raw = raw, name = separator == ";" and name or decoded_form(name), text = value }
  end
  return list
end

local function named(list, name, used)
  local found, raw = {}, {}
  for _, pair in ipairs(list) do
    if pair.name == name then
      found[#found + 1], raw[#raw + 1], used[pair] = pair, pair.raw, true
    end
  end
  return found, raw
end

-- Texts of the path's parameters by name: the template's segments against those of the request.
local function read_path(plan, path)
  local texts, at = {}, 0
  for segment in (path:gsub("^/", "") .. "/"):gmatch("([^/]*)/") do
    at = at + 1
    local pattern, names = {}, {}
    for i, part in ipairs(plan.segments[at] or {}) do
      if type(part) == "table" then
        names[#names + 1], pattern[i] = part.name, "(.-)"
      else
        pattern[i] = part:gsub("%W", "%%%0")
      end
    end
    local found = names[1] and { segment:match("^" .. table.concat(pattern) .. "$") } or {}
    for i, name in ipairs(names) do
      texts[name] = found[i]
    end
  end
  return texts
end

local function add_issue(state, key, message, keyword)
  local list = state.issues
  list[#list + 1] = { path = "/" .. json_pointer.escape(key), keyword = keyword or "type", message = message }
end

-- Sets a value of the input, converted as its schema says, and the text that it came as.
local function set(state, param, takes, value, raw)
  if takes.check and value ~= nil then
    value = takes.check:cast(value)
  end
  state.input[param.key], state.raw[param.key] = value, raw
end

local anything = { names = setmetatable({}, { __index = function()
  return true
end }) }

-- `in: querystring` is the whole query.
local function take_query_string(state, _, param, takes)
  local form = of_members(anything, state.pairs, {}, state.used)
  if state.query == "" then
    return nil
  elseif param.media == "application/x-www-form-urlencoded" then
    return set(state, param, takes, form, state.query)
  end
  local text = decoded(state.query)
  for _, pair in ipairs(state.pairs) do
    state.used[pair] = true
  end
  set(state, param, takes, media_types.is_json(param.media) and json.decode(text) or text, state.query)
end

local function take_query(state, _, param, takes)
  local list, used = state.pairs, state.used
  local value, raw, message
  if param.style == "deepObject" and not param.media then
    value, raw = of_deep(param, list, used)
  elseif takes.object and param.explode and not takes.scalar and not param.media then
    value, raw = of_members(takes, list, state.taken, used)
  else
    local found
    found, raw = named(list, param.name, used)
    if found[1] then
      value, message = of_pairs(param, takes, found)
    end
  end
  if message then
    add_issue(state, param.key, message)
  elseif value then
    set(state, param, takes, value, table.concat(raw, "&"))
  end
end

local takers = { query = take_query, querystring = take_query_string }

function takers.path(state, _, param, takes)
  local text = state.path[param.name]
  if text then
    set(state, param, takes, (readers[param.style] or readers.simple)(param, takes, text), text)
  end
end

function takers.header(state, _, param, takes)
  local text = state.headers[param.name:lower()]
  if text and param.media then
    local value = media_types.is_json(param.media) and json.decode(text) or text
    set(state, param, takes, value, text)
  elseif text then
    set(state, param, takes, readers.simple(param, takes, text), text)
  end
end

function takers.cookie(state, _, param, takes)
  local found, raw = named(state.cookies, param.name, {})
  if found[1] then
    local value, message = of_pairs(param, takes, found)
    if message then
      return add_issue(state, param.key, message)
    end
    set(state, param, takes, value, table.concat(raw, "; "))
  end
end

-- Pairs that no parameter has: those of the credentials, which are this program's own, are dropped.
local function check_rest(state, plan)
  local known = members.set(plan.bound_query or {})
  for _, pair in ipairs(plan.query or {}) do
    known[pair.name] = true
  end
  for _, pair in ipairs(state.pairs) do
    if not state.used[pair] and not known[pair.name] then
      add_issue(state, pair.name, "unknown parameter", "additionalProperties")
    end
  end
end

--- Reads the parameters of a request.
---@param plan operations.openapi.Plan
---@param path string  raw, as in the document's paths
---@param query? string  raw
---@param headers table<string, string>  by lower-case name
---@return table? input  nil with issues
---@return table<string, string>|operations.Issue[] raw  the text of each parameter, as received
function wire.read(plan, path, query, headers)
  local state = { input = setmetatable({}, core.object_mt), raw = {}, issues = {}, used = {}, taken = {},
    path = read_path(plan, path), query = query or "", pairs = read_pairs(query, "&"), headers = headers,
    cookies = read_pairs(headers.cookie, ";") }
  for _, param in ipairs(plan.parameters) do
    state.taken[param.name] = param.location == "query" or nil
  end
  for _, param in ipairs(plan.parameters) do
    local take = takers[param.location]
    if take then
      take(state, plan, param, taken_by(plan, param))
    end
  end
  check_rest(state, plan)
  if state.issues[1] then
    return nil, state.issues
  end
  return state.input, state.raw
end

return wire
