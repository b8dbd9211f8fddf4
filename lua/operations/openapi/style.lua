--- OpenAPI's parameter styles: those that are expressions of RFC 6570, and `deepObject`; a value in, text out.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local number_text = require("operations.base.number_text")
local property_order = require("operations.base.property_order")
local url = require("operations.base.url")

local style = {}

local ordered = { keep_order = true }

-- RFC 6570, appendix A. `join` separates the items of a value that is not exploded, `plain` does where nothing is
-- percent-encoded.
style.expressions = {
  simple = { first = "", separator = ",", join = "," },
  label = { first = ".", separator = ".", join = "," },
  matrix = { first = ";", separator = ";", join = ",", named = true, empty = "" },
  form = { first = "", separator = "&", join = ",", named = true, empty = "=" },
  spaceDelimited = { first = "", separator = "&", join = "%20", plain = " ", named = true, empty = "=" },
  pipeDelimited = { first = "", separator = "&", join = "%7C", plain = "|", named = true, empty = "=" },
  cookie = { first = "", separator = "; ", join = ",", named = true, empty = "=" },
}

style.encode = url.encode

--- The encoding that changes nothing.
---@param text string
---@return string
function style.plain(text)
  return text
end

--- As `encode`, but leaves reserved characters and existing triplets; `&`, `#` and a bare `%` would end the value.
---@param text string
---@return string
function style.encode_reserved(text)
  local encoded = text:gsub("[^A-Za-z0-9%-._~:/?%[%]@!$'()*+,;=%%]", url.encode)
  return (encoded:gsub("%%(%x?%x?)", function(digits)
    return (#digits == 2 and "%" or "%25") .. digits
  end))
end

--- The encoding of names: complete, unless the values are not encoded.
---@param encode fun(text: string): string  the values' encoding
---@return fun(text: string): string
function style.name_encoder(encode)
  return encode == style.plain and style.plain or style.encode
end

-- Reserved characters that would end a value outside a query.
local ends = { path = "[/?%[%]]", cookie = ";" }

--- As `encode_reserved`, for a location: in a path `/` and `?` would end the segment, in a cookie `;` the pair.
---@param location string
---@return fun(text: string): string
function style.reserved_encoder(location)
  local ending = ends[location]
  return ending and function(text)
    return (style.encode_reserved(text):gsub(ending, url.encode))
  end or style.encode_reserved
end

local function is_finite(value)
  return type(value) ~= "number" or value == value and value ~= math.huge and value ~= -math.huge
end

--- The text of one value; values without a style (an array in an array) are sent as JSON.
---@param value any
---@return string? text
---@return string? message  why it cannot be sent
function style.value_text(value)
  local kind = core.kind(value)
  if kind == "string" then
    return value
  elseif kind == "integer" or kind == "number" then
    if not is_finite(value) then
      return nil, "expected a finite number"
    end
    return number_text.of(value)
  elseif kind == "boolean" then
    return tostring(value)
  elseif kind == "array" or kind == "object" then
    local text, err = json.encode(value, ordered)
    return text, err and err.message
  end
  return nil, "a " .. kind .. " cannot be sent"
end

--- Joins the items of arrays, as Swagger's `collectionFormat` says; null items are left out.
---@param value any
---@param separators (string|false)[]  of this array, of arrays in it; false: it stays an array
---@param level? integer
---@return any value  nil with a message
---@return string? message
---@return string? path  JSON Pointer into the value
function style.collected(value, separators, level)
  level = level or 1
  if separators[level] == nil or core.kind(value) ~= "array" then
    return value
  end
  local items = {}
  for i = 1, #value do
    if value[i] ~= core.null then
      local item, message, path = style.collected(value[i], separators, level + 1)
      if item ~= nil and separators[level] then
        item, message = style.value_text(item)
      end
      if item == nil then
        return nil, message, "/" .. i - 1 .. (path or "")
      end
      items[#items + 1] = item
    end
  end
  if separators[level] and items[1] then
    return table.concat(items, separators[level])
  end
  return setmetatable(items, core.array_mt)
end

--- The items of an array, encoded; null items are undefined in RFC 6570 and left out.
local function list_texts(list, encode)
  local texts = {}
  for i = 1, #list do
    if list[i] ~= core.null then
      local text, message = style.value_text(list[i])
      if not text then
        return nil, message, "/" .. i - 1
      end
      texts[#texts + 1] = encode(text)
    end
  end
  return texts
end

--- The members of an object as { key, text, key, text, ... }, encoded, in their order.
local function map_texts(map, encode)
  local texts, encode_name = {}, style.name_encoder(encode)
  for _, key in ipairs(property_order.names(map)) do
    if map[key] ~= core.null then
      local text, message = style.value_text(map[key])
      if not text then
        return nil, message, "/" .. json_pointer.escape(key)
      end
      texts[#texts + 1] = encode_name(key)
      texts[#texts + 1] = encode(text)
    end
  end
  return texts
end

local function named(expression, name, text)
  if not expression.named then
    return text
  end
  return name .. (text == "" and expression.empty or "=" .. text)
end

-- The pairs of an array or object: { name, text } each; the names of an exploded object are its keys.
local function pairs_of(name, texts, is_array)
  local list = {}
  for i = 1, #texts, is_array and 1 or 2 do
    list[#list + 1] = is_array and { name, texts[i] } or { texts[i], texts[i + 1] }
  end
  return list
end

--- Expands a value by the expression of a style: pairs { name, text }.
---@param expression table  one of `style.expressions`
---@param name string   encoded
---@param value any
---@param explode boolean
---@param encode fun(text: string): string
---@return string[][]? list  empty if there is nothing to write
---@return string? message
---@return string? path  JSON Pointer into the value
function style.pairs(expression, name, value, explode, encode)
  local kind = core.kind(value)
  if kind ~= "array" and kind ~= "object" then
    local text, message = style.value_text(value)
    return text and { { name, encode(text) } }, message
  end
  local texts, message, path = (kind == "array" and list_texts or map_texts)(value, encode)
  if not texts then
    return nil, message, path
  elseif #texts == 0 then
    return {}
  elseif explode then
    return pairs_of(name, texts, kind == "array")
  end
  local join = encode == style.plain and expression.plain or expression.join
  return { { name, table.concat(texts, join) } }
end

--- Writes a value by the expression of a style; parameters as for `style.pairs`.
---@return string? text  nil without a message if there is nothing to write
---@return string? message
---@return string? path  JSON Pointer into the value
function style.expand(expression, name, value, explode, encode)
  local kind = core.kind(value)
  if kind ~= "array" and kind ~= "object" then
    local text, message = style.value_text(value)
    return text and expression.first .. named(expression, name, encode(text)), message
  end
  local list, message, path = style.pairs(expression, name, value, explode, encode)
  if not list or #list == 0 then
    return nil, message, path
  end
  local is_map = explode and kind == "object"
  for i, pair in ipairs(list) do
    list[i] = is_map and not expression.named and pair[1] .. "=" .. pair[2] or named(expression, pair[1], pair[2])
  end
  return expression.first .. table.concat(list, expression.separator)
end

local function has_compound(list)
  for i = 1, #list do
    local kind = core.kind(list[i])
    if kind == "array" or kind == "object" then
      return true
    end
  end
  return false
end

-- The names of array items: OpenAPI does not define them, and servers differ.
local item_names = {}

--- Objects get an index: with name[] alone, their boundaries would be lost.
function item_names.brackets(name, index, list)
  return name .. (has_compound(list) and "[" .. index - 1 .. "]" or "[]")
end

function item_names.indices(name, index)
  return name .. "[" .. index - 1 .. "]"
end

item_names["repeat"] = function(name)
  return name
end
style.item_names = item_names

-- Each member of an object or array: its name on the wire, its value and its JSON Pointer.
local function deep_members(name, value, kind, arrays)
  local list = {}
  if kind == "array" then
    for i = 1, #value do
      list[i] = { item_names[arrays](name, i, value), value[i], "/" .. i - 1 }
    end
    return list
  end
  for i, key in ipairs(property_order.names(value)) do
    list[i] = { name .. "[" .. key .. "]", value[key], "/" .. json_pointer.escape(key) }
  end
  return list
end

local function deep(name, value, encode, arrays, list)
  local kind = core.kind(value)
  if kind == "object" or kind == "array" then
    for _, member in ipairs(deep_members(name, value, kind, arrays)) do
      local message, path = deep(member[1], member[2], encode, arrays, list)
      if message then
        return message, member[3] .. path
      end
    end
  elseif kind ~= "null" then
    local text, message = style.value_text(value)
    if not text then
      return message, ""
    end
    list[#list + 1] = { style.name_encoder(encode)(name), encode(text) }
  end
end

--- `deepObject`: name[key]. OpenAPI does not define deeper levels; servers expect name[key][key], and arrays by option
--- `arrays`.
---@param name string  not encoded
---@param value table
---@param encode fun(text: string): string
---@param arrays? "brackets"|"indices"|"repeat"  name[] (indices for arrays of objects; the default), name[0], name
---@return string[][]? list  pairs { name, text }
---@return string? message
---@return string? path
function style.deep_pairs(name, value, encode, arrays)
  local list = {}
  local message, path = deep(name, value, encode, arrays or "brackets", list)
  if message then
    return nil, message, path
  end
  return list
end

return style
