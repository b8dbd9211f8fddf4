--- A JSON document as text, with the positions of its parts: path items and components. A call needs few parts of a
--- large document: they are cut out into a document of their own, in which every reference can be resolved.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local property_order = require("operations.base.property_order")
local url = require("operations.base.url")

local document_parts = {}

-- The position after the value at `at`, in a text that is known to be JSON.
local function skip(text, at)
  local depth = 0
  repeat
    local found = text:match("^[%s,:]*()", at)
    local first = text:sub(found, found)
    if first == '"' then
      at = found + 1
      repeat
        at = text:find('["\\]', at)
        local is_escape = text:byte(at) == 92
        at = at + (is_escape and 2 or 1)
      until not is_escape
    elseif first == "{" or first == "[" then
      depth, at = depth + 1, found + 1
    elseif first == "}" or first == "]" then
      depth, at = depth - 1, found + 1
    else
      at = text:match("^[^%s,:%]}]+()", found)
    end
  until depth == 0
  return at
end

-- Calls `fn` for each member of the object at `at`: its key, the start of the member, its value, the end.
local function each_member(text, at, fn)
  at = text:match("^%s*{%s*()", at)
  while at and text:sub(at, at) == '"' do
    local behind_key = skip(text, at)
    local value = text:match("^%s*:%s*()", behind_key)
    local stop = skip(text, value)
    fn(json.decode(text:sub(at, behind_key - 1)), at, value, stop - 1)
    at = text:match("^%s*,%s*()", stop)
  end
end

-- Objects whose members are parts. Security schemes are not: no reference names those that a call needs.
local sections = { paths = true, definitions = true, parameters = true, responses = true }

-- Are there no references or names that point outside the parts of this document?
local function is_closed(text)
  for _, keyword in ipairs({ "$id", "$anchor", "$dynamicRef", "$recursiveRef", "$self", "x-operation" }) do
    if text:find('"' .. keyword .. '"', 1, true) then
      return false
    end
  end
  for reference in text:gmatch('"[$o][rp]e[fr]a?t?i?o?n?R?e?f?"%s*:%s*"([^"]*)"') do
    if reference:sub(1, 2) ~= "#/" then
      return false
    end
  end
  return true
end

---@class operations.sources.DocumentParts
---@field rest { [1]: integer, [2]: integer }[]  first and last bytes of the root's other members
---@field parts table<string, { [1]: integer, [2]: integer }>  of members, by pointer

--- Finds the parts of a document.
---@param text string  JSON
---@return operations.sources.DocumentParts?  nil: it must be read completely
function document_parts.find(text)
  if not is_closed(text) then
    return nil
  end
  local rest, parts = json.decode("[]"), json.decode("{}")
  local function take(prefix, at)
    each_member(text, at, function(key, first, _, last)
      parts[prefix .. json_pointer.escape(key)] = { first, last }
    end)
  end
  each_member(text, 1, function(name, first, value, last)
    if sections[name] and text:sub(value, value) == "{" then
      take("#/" .. name .. "/", value)
    elseif name == "components" and text:sub(value, value) == "{" then
      each_member(text, value, function(kind, from, inner, to)
        if kind == "securitySchemes" or text:sub(inner, inner) ~= "{" then
          parts["#/components " .. kind] = { from, to }
        else
          take("#/components/" .. json_pointer.escape(kind) .. "/", inner)
        end
      end)
    else
      rest[#rest + 1] = { first, last }
    end
  end)
  return { rest = rest, parts = parts }
end

-- The pointer of the part that a reference points into.
local function part_of(parts, reference)
  local decoded = url.decode(reference) or reference
  for _, pattern in ipairs({ "^#/components/[^/]+/[^/]+", "^#/[^/]+/[^/]+" }) do
    local pointer = decoded:match(pattern)
    if pointer and parts[pointer] then
      return pointer
    end
  end
end

local MAPPING = '"mapping"%s*:%s*(%b{})'

-- Calls `fn` with each part that a text refers to: by reference, or by the name of a schema (`discriminator`).
local function each_reference(parts, text, fn)
  for reference in text:gmatch('"(#/[^"]+)"') do
    local pointer = part_of(parts, (reference:gsub("\\/", "/")))
    if pointer then
      fn(pointer)
    end
  end
  for mapping in text:gmatch(MAPPING) do
    for name in mapping:gmatch(':%s*"([^"#/]+)"') do
      local pointer = "#/components/schemas/" .. json_pointer.escape(name)
      if parts[pointer] then
        fn(pointer)
      end
    end
  end
end

local function object(members)
  return "{" .. table.concat(members, ",") .. "}"
end

-- The text of a document with the rest and these parts.
local function compose(read, found, texts)
  local members, groups, kinds = {}, {}, {}
  for i, place in ipairs(found.rest) do
    members[i] = read(place[1], place[2])
  end
  for pointer, text in pairs(texts) do
    local kind, name = pointer:match("^#/components/([^/]+)/"), pointer:match("^#/([^/]+)/")
    local list = kind and kinds or groups
    local key = kind or name
    list[key] = list[key] or {}
    table.insert(list[key], text)
  end
  local components = {}
  for pointer, place in pairs(found.parts) do
    if pointer:find("^#/components ") then
      components[#components + 1] = read(place[1], place[2])
    end
  end
  for kind, list in pairs(kinds) do
    components[#components + 1] = json.encode(json_pointer.unescape(kind)) .. ":" .. object(list)
  end
  groups.components = components[1] and components
  for name, list in pairs(groups) do
    members[#members + 1] = json.encode(name) .. ":" .. object(list)
  end
  return object(members)
end

--- The text of a document with one path item and everything it refers to.
---@param read fun(from: integer, to: integer): string?  bytes of the document
---@param found operations.sources.DocumentParts
---@param path string  key of the path item
---@return string? text  nil: the document has no such path, or cannot be read
function document_parts.cut(read, found, path)
  local first = "#/paths/" .. json_pointer.escape(path)
  local texts, wanted = {}, { first }
  while #wanted > 0 do
    local pointer = table.remove(wanted)
    local place = found.parts[pointer]
    local text = place and read(place[1], place[2])
    if not text then
      return nil
    end
    texts[pointer] = text
    each_reference(found.parts, text, function(other)
      if not texts[other] then
        texts[other] = ""
        wanted[#wanted + 1] = other
      end
    end)
  end
  return compose(read, found, texts)
end

--- Encodes a value as JSON, keeping the order of `properties`.
---@param value any
---@return string
function document_parts.encode(value)
  if type(value) ~= "table" then
    return (assert(json.encode(value)))
  elseif core.kind(value) == "array" then
    local items = {}
    for i, item in ipairs(value) do
      items[i] = document_parts.encode(item)
    end
    return "[" .. table.concat(items, ",") .. "]"
  end
  local members = {}
  for i, name in ipairs(property_order.names(value)) do
    members[i] = json.encode(name) .. ":" .. document_parts.encode(value[name])
  end
  return object(members)
end

return document_parts
