--- OpenAPI's parameter styles as expressions of RFC 6570: a value in, text out.
local core = require("operations.core")
local json = require("operations.json")

local style = {}

-- RFC 6570, appendix A. `join` stands between the items of a value that is not exploded.
style.expressions = {
  simple = { first = "", separator = ",", join = "," },
  label = { first = ".", separator = ".", join = "," },
  matrix = { first = ";", separator = ";", join = ",", named = true, empty = "" },
  form = { first = "", separator = "&", join = ",", named = true, empty = "=" },
  spaceDelimited = { first = "", separator = "&", join = "%20", named = true, empty = "=" },
  pipeDelimited = { first = "", separator = "&", join = "%7C", named = true, empty = "=" },
  cookie = { first = "", separator = "; ", join = ",", named = true, empty = "=" },
}

local function escape(byte)
  return ("%%%02X"):format(byte:byte())
end

--- Percent-encodes everything but unreserved characters (RFC 3986, 2.3).
---@param text string
---@return string
function style.encode(text)
  return (text:gsub("[^A-Za-z0-9%-._~]", escape))
end

--- As `encode`, but leaves reserved characters and existing triplets; `&`, `#` and a bare `%` would end the value.
function style.encode_reserved(text)
  local encoded = text:gsub("[^A-Za-z0-9%-._~:/?%[%]@!$'()*+,;=%%]", escape)
  return (encoded:gsub("%%(%x?%x?)", function(digits)
    return (#digits == 2 and "%" or "%25") .. digits
  end))
end

local function number_text(value)
  if value ~= value or value == math.huge or value == -math.huge then
    return nil, "expected a finite number"
  elseif core.kind(value) == "integer" and tostring(value):find("^-?%d+$") then
    return tostring(value)
  elseif value % 1 == 0 and value > -1e18 and value < 1e18 then
    return ("%.0f"):format(value)
  end
  for digits = 15, 17 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then
      return text
    end
  end
end

--- The text of one value; what the styles say nothing about (an array in an array) is sent as its JSON.
function style.value_text(value)
  local kind = core.kind(value)
  if kind == "string" then
    return value
  elseif kind == "integer" or kind == "number" then
    return number_text(value)
  elseif kind == "boolean" then
    return tostring(value)
  elseif kind == "array" or kind == "object" then
    local text, err = json.encode(value, { sort_keys = true })
    return text, err and err.message
  end
  return nil, "a " .. kind .. " cannot be sent"
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = tostring(key)
  end
  table.sort(keys)
  return keys
end

--- The items of an array, encoded; null ones are undefined in RFC 6570's sense and left out.
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

--- The members of an object as { key, text, key, text, ... }, encoded, in the order of their keys.
local function map_texts(map, encode)
  local texts = {}
  for _, key in ipairs(sorted_keys(map)) do
    if map[key] ~= core.null then
      local text, message = style.value_text(map[key])
      if not text then
        return nil, message, "/" .. key
      end
      texts[#texts + 1] = encode(key)
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

local function expand_list(expression, name, texts, explode)
  if not explode then
    return expression.first .. named(expression, name, table.concat(texts, expression.join))
  end
  for i, text in ipairs(texts) do
    texts[i] = named(expression, name, text)
  end
  return expression.first .. table.concat(texts, expression.separator)
end

local function expand_map(expression, name, texts, explode)
  if not explode then
    return expand_list(expression, name, texts, false)
  end
  local pairs_ = {}
  for i = 1, #texts, 2 do
    pairs_[#pairs_ + 1] = texts[i] .. "=" .. texts[i + 1]
  end
  return expression.first .. table.concat(pairs_, expression.separator)
end

--- Writes a value by the expression of a style.
---@param expression table  one of `style.expressions`
---@param name string   encoded
---@param value any
---@param explode boolean
---@param encode fun(text: string): string
---@return string? text  nil without a message when there is nothing to write
---@return string? message
---@return string? path  JSON Pointer into the value
function style.expand(expression, name, value, explode, encode)
  local kind = core.kind(value)
  if kind == "array" or kind == "object" then
    local texts, message, path = (kind == "array" and list_texts or map_texts)(value, encode)
    if not texts then
      return nil, message, path
    elseif #texts == 0 then
      return nil
    end
    return (kind == "array" and expand_list or expand_map)(expression, name, texts, explode)
  end
  local text, message = style.value_text(value)
  if not text then
    return nil, message
  end
  return expression.first .. named(expression, name, encode(text))
end

--- `deepObject`: name[key]=value. OpenAPI says nothing of what lies deeper; servers expect name[key][key] and
--- name[key][].
local function deep(name, value, encode, pairs_)
  local kind = core.kind(value)
  if kind == "object" then
    for _, key in ipairs(sorted_keys(value)) do
      local _, message = deep(name .. "[" .. key .. "]", value[key], encode, pairs_)
      if message then
        return nil, message
      end
    end
  elseif kind == "array" then
    for i = 1, #value do
      local _, message = deep(name .. "[]", value[i], encode, pairs_)
      if message then
        return nil, message
      end
    end
  elseif kind ~= "null" then
    local text, message = style.value_text(value)
    if not text then
      return nil, message
    end
    pairs_[#pairs_ + 1] = style.encode(name) .. "=" .. encode(text)
  end
  return pairs_
end

---@param name string
---@param value table
---@param encode fun(text: string): string
---@return string? text
---@return string? message
function style.deep_object(name, value, encode)
  local pairs_, message = deep(name, value, encode, {})
  if not pairs_ then
    return nil, message
  end
  return #pairs_ > 0 and table.concat(pairs_, "&") or nil
end

return style
