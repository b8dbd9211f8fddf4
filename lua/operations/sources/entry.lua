--- An operation as the command line lists it, without schemas: enough to show it, to find it by what users type, and to
--- complete its keys.
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")
local schema = require("operations.schema")
local suggestion = require("operations.base.suggestion")
local url = require("operations.base.url")

local entry = {}

---@class operations.sources.Entry
---@field id string
---@field source? string  name of the remembered source
---@field type string
---@field title? string
---@field summary? string  the first paragraph of the description
---@field tags? string[]
---@field method? string
---@field path? string
---@field operationId? string
---@field deprecated? boolean
---@field signature string  "owner repo body{title}"
---@field keys? { name: string, required: boolean?, values: any[]? }[]

--- A schema, or the target of its local reference.
---@param root any  JSON Schema
---@param node any  in it
---@return table
function entry.target(root, node)
  for _ = 1, 16 do
    local reference = type(node) == "table" and node["$ref"]
    if type(reference) ~= "string" or reference:sub(1, 1) ~= "#" then
      break
    end
    node = json_pointer.get(root, reference)
  end
  return type(node) == "table" and node or {}
end

local function values_of(root, node)
  local target = entry.target(root, node)
  if target.type == "array" or target.items then
    target = entry.target(root, target.items)
  end
  return target.enum or target.type == "boolean" and { true, false } or nil
end

local function keys_of(root, node)
  local target = entry.target(root, node)
  local required, keys = members.set(target.required or {}), {}
  for i, name in ipairs(schema.properties(target)) do
    local values = values_of(root, target.properties[name])
    keys[i] = { name = name, required = required[name], values = values }
  end
  return keys, target
end

local DEEPEST, MOST = 3, 200 -- of the keys of members: names in a key, keys of an operation

-- Adds the keys of members of objects, "owner.name", behind those of the objects.
local function with_members(root, node, keys, prefix, depth)
  local target = entry.target(root, node)
  for _, key in ipairs(depth < DEEPEST and (keys_of(root, node)) or {}) do
    local place = prefix .. key.name:gsub("[.%[%]\\]", "\\%0")
    if depth > 0 and #keys < MOST then
      keys[#keys + 1] = { name = place, values = key.values }
    end
    if depth > 0 or key.name ~= "body" then
      with_members(root, target.properties[key.name], keys, place .. ".", depth + 1)
    end
  end
  return keys
end

local function signature_of(keys, fields)
  local words = {}
  for _, key in ipairs(keys) do
    local inner = {}
    for _, field in ipairs(key.name == "body" and fields or {}) do
      inner[#inner + 1] = field.required and field.name or nil
    end
    if #inner > 0 then
      words[#words + 1] = ("body{%s}"):format(table.concat(inner, " "))
    elseif key.required then
      words[#words + 1] = key.name
    end
  end
  return table.concat(words, " ")
end

-- The first paragraph, on one line.
local function summary_of(text)
  text = type(text) == "string" and text:match("^%s*(.-)%s*\n%s*\n") or text
  return type(text) == "string" and text:gsub("%s+", " ") or nil
end

--- The entry of a spec.
---@param spec operations.Spec
---@param source? string
---@return operations.sources.Entry
function entry.of(spec, source)
  local meta = type(spec._meta) == "table" and spec._meta or {}
  local input = type(spec.inputSchema) == "table" and spec.inputSchema or {}
  local keys, target = keys_of(input, input)
  local body = target.properties and target.properties.body
  local fields = body and keys_of(input, body) or {}
  local all = with_members(input, input, members.joined(keys, fields), "", 0)
  if body then
    all = with_members(input, body, all, "", 0)
  end
  return {
    id = spec.namespace .. "." .. spec.name, source = source, type = spec.type, title = spec.title,
    summary = summary_of(spec.description), tags = spec.tags, method = meta.method, path = meta.path,
    operationId = meta.operationId or meta.tool, deprecated = meta.deprecated == true or nil,
    signature = signature_of(keys, fields), keys = all,
  }
end

--- The entries of specs, in their order.
---@param specs operations.Spec[]
---@param source? string
---@return operations.sources.Entry[]
function entry.list(specs, source)
  local list = {}
  for i, spec in ipairs(specs) do
    list[i] = entry.of(spec, source)
  end
  return list
end

-- Treats dots, slashes, dashes and underscores as equal.
local function plain(text)
  return (text:lower():gsub("[^%w]+", "_"))
end

-- An endpoint like "POST /repos/{owner}/{repo}/issues", without parameter names.
local function endpoint_of(text)
  local method, path = text:match("^(%a+)%s+(/%S*)$")
  return method and method:upper() .. " " .. path:gsub("{[^}]*}", "{}")
end

local function is_named(item, wanted)
  local namespace, name = item.id:match("^([^.]*)%.(.*)$")
  local own = item.operationId and plain(item.operationId)
  local prefix = plain(namespace) .. "_"
  return plain(item.id) == wanted or plain(name) == wanted or own ~= nil and (own == wanted or prefix .. own == wanted)
end

-- A template like "/repos/{owner}" as a pattern with a capture for each parameter, and their names.
local function pattern_of(template)
  local names, pattern = {}, ""
  for before, name in (template .. "{}"):gmatch("([^{]*){([^}]*)}") do
    pattern = pattern .. before:gsub("%p", "%%%0") .. (name ~= "" and "([^/?]+)" or "")
    names[#names + 1] = name ~= "" and name or nil
  end
  return "^" .. pattern .. "$", names
end

--- The parameters that a request like "GET /repos/octo/hello?page=2" gives to an operation with this template.
---@param word string
---@param method string
---@param template string
---@return operations.people.InputItem[]? items  nil: it is no request of the operation
function entry.filled(word, method, template)
  local verb, path, query = word:match("^(%a+)%s+(/[^%s?#]*)%??([^%s#]*)$")
  if not verb or verb:upper() ~= method or path:find("[{}]") then
    return nil
  end
  local pattern, names = pattern_of(template)
  local values = { path:match(pattern) }
  if not values[1] then
    return nil
  end
  local items = {}
  for i, name in ipairs(names) do
    items[i] = { key = name, text = url.decode(values[i]) or values[i], is_parameter = true }
  end
  for key, text in query:gmatch("([^&=]+)=?([^&]*)") do
    text = text:gsub("%+", " ")
    items[#items + 1] = { key = url.decode(key) or key, text = url.decode(text) or text, is_parameter = true }
  end
  return items
end

-- The operations whose templates a request fits, those with the fewest parameters in their path.
local function requested(word, list)
  local found, least = {}, math.huge
  for _, item in ipairs(list) do
    if item.method and entry.filled(word, item.method, tostring(item.path)) then
      local _, count = item.path:gsub("{", "{")
      found, least = count < least and {} or found, math.min(count, least)
      found[#found + 1] = count == least and item or nil
    end
  end
  return found
end

--- The operations that a word may mean: the one with that id, else all with that name, operationId or endpoint, else
--- the most literal ones of which it is a request.
---@param word string
---@param list operations.sources.Entry[]
---@return operations.sources.Entry[]
function entry.find(word, list)
  for _, item in ipairs(list) do
    if item.id == word then
      return { item }
    end
  end
  local found, wanted, endpoint = {}, plain(word), endpoint_of(word)
  for _, item in ipairs(list) do
    if endpoint and item.method and endpoint_of(item.method .. " " .. tostring(item.path)) == endpoint
      or not endpoint and is_named(item, wanted) then
      found[#found + 1] = item
    end
  end
  return (found[1] or not word:find("^%a+%s+/")) and found or requested(word, list)
end

local SHOWN = 5

--- The reason why a word means no operation, or several.
---@param word string
---@param found operations.sources.Entry[]
---@param list operations.sources.Entry[]
---@return string
function entry.problem(word, found, list)
  local ids = {}
  for i = 1, math.min(SHOWN, #found) do
    ids[i] = found[i].id
  end
  if #found > 1 then
    local more = #found > SHOWN and (" or one of %d more"):format(#found - SHOWN) or ""
    return ("'%s' may be %s%s: give the whole id"):format(word, table.concat(ids, ", "), more)
  end
  local specs = {}
  for i, item in ipairs(list) do
    if item.source == word then
      return ("'%s' is a source: operations list %s shows its operations"):format(word, word)
    end
    local namespace, name = item.id:match("^([^.]*)%.(.*)$")
    specs[i] = { namespace = namespace, name = name }
  end
  if word:find("^%a+%s+/") then
    return ("no operation '%s'; operations request SOURCE %s sends it anyway"):format(word, word)
  end
  local near = suggestion.of(word, specs)
  return ("no operation '%s'%s"):format(word,
    #near > 0 and "; did you mean " .. table.concat(near, " or ") .. "?" or "")
end

return entry
