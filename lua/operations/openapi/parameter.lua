--- The wire form of one parameter: OpenAPI's `style` x `explode` x location (3.0.4, 3.1.1, 3.2.0: "Style Values").
--- Pure: a value in, text out.
local core = require("operations.core")
local form = require("operations.openapi.form")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local media_types = require("operations.openapi.media")
local style = require("operations.openapi.style")

local parameter = {}

local ordered = { keep_order = true }

---@class operations.openapi.Parameter
---@field name string      as on the wire
---@field key string       as in the input
---@field location "path"|"query"|"querystring"|"header"|"cookie"
---@field style string
---@field explode boolean
---@field required boolean
---@field reserved boolean  `allowReserved`
---@field media? string     essence of the `content` type, instead of a style
---@field arrays? "brackets"|"indices"|"repeat"  how `deepObject` writes arrays
---@field collection? (string|false)[]  separators of items (Swagger 2.0)
---@field empty? boolean    `allowEmptyValue`: an empty value is sent as "name="
---@field expression table   of its style
---@field encode fun(text: string): string
---@field wire_name string   encoded
---@field prefix? string  before the text of a string, number or boolean, where nothing else is to be done

local styles = {
  path = { simple = true, label = true, matrix = true },
  query = { form = true, spaceDelimited = true, pipeDelimited = true, deepObject = true },
  querystring = {},
  header = { simple = true },
  cookie = { form = true, cookie = true },
}

-- 3.2: `in: querystring` has a media type and no style; "form" stands in for it.
local default_styles = { path = "simple", query = "form", querystring = "form", header = "simple", cookie = "form" }

--- The default style of a location.
---@param location string
---@return string? style  nil for an unknown location
function parameter.default_style(location)
  return default_styles[location]
end

---@param location string
---@param name string
---@return boolean
function parameter.has_style(location, name)
  return styles[location][name] == true
end

local is_scalar = { string = true, number = true, integer = true, boolean = true }

--- Checks and trims a header field's value.
---@param value string
---@return string? value
---@return string? message
function parameter.header_value(value)
  if value:find(header_field.control) then
    return nil, "must not contain control characters (CR, LF, NUL)"
  end
  return header_field.trim(value)
end

local finish = {}

finish.header = parameter.header_value

--- Style `cookie` (3.2) encodes nothing, so characters that would end the value are refused.
function finish.cookie(text, param)
  if param.style == "cookie" and text:find("[%z\1-\31\127]") then
    return nil, "must not contain control characters (CR, LF, NUL)"
  end
  return text
end

local reserved_encoders = {}
for location in pairs(styles) do
  reserved_encoders[location] = style.reserved_encoder(location)
end

local function encoding(param)
  if param.location == "header" or param.style == "cookie" then
    return style.plain
  elseif param.reserved then
    return reserved_encoders[param.location]
  end
  return style.encode
end

-- The text of a value by its media type: compact JSON, a form with its names, other types as the given string.
local function media_text(media, value)
  if media == "application/x-www-form-urlencoded" then
    return form.text(nil, value)
  elseif media_types.is_json(media) then
    local text, err = json.encode(value, ordered)
    return text, err and err.message
  end
  return style.value_text(value)
end

--- A `content` parameter. A form as the whole query string is used unchanged.
local function content_text(param, value, encode)
  local text, message, path = media_text(param.media, value)
  if not text then
    return nil, message, path
  elseif param.location == "querystring" then
    return param.media == "application/x-www-form-urlencoded" and text or encode(text)
  end
  local is_named = param.location == "query" or param.location == "cookie"
  return (is_named and param.wire_name .. "=" or "") .. encode(text)
end

local function forbidden_in_cookie(value)
  local kind = core.kind(value)
  if kind == "string" then
    return value:find(";", 1, true) ~= nil
  elseif kind == "array" or kind == "object" then
    for key, item in pairs(value) do
      if type(key) == "string" and key:find("[;=]") or forbidden_in_cookie(item) then
        return true
      end
    end
  end
  return false
end

local function joined(list)
  local texts = {}
  for i, pair in ipairs(list) do
    texts[i] = pair[1] .. "=" .. pair[2]
  end
  return #texts > 0 and table.concat(texts, "&") or nil
end

local function serialize(param, value)
  local encode = param.encode
  if param.media then
    return content_text(param, value, encode)
  elseif param.style == "deepObject" and not is_scalar[core.kind(value)] then
    local list, message, path = style.deep_pairs(param.name, value, encode, param.arrays)
    return list and joined(list), message, path
  end
  return style.expand(param.expression, param.wire_name, value, param.explode, encode)
end

--- Completes a parameter with the parts that are the same for all values.
---@param param operations.openapi.Parameter
---@return operations.openapi.Parameter
function parameter.complete(param)
  local wanted = param.location == "cookie" and "cookie" or param.style
  param.expression = style.expressions[wanted] or style.expressions.form
  param.encode, param.wire_name = encoding(param), style.encode(param.name)
  if not param.media and not finish[param.location] then
    param.prefix = param.expression.first .. (param.expression.named and param.wire_name .. "=" or "")
  end
  return param
end

--- The text of a parameter: a part of the path, `name=value` pairs of the query or cookie, or a header's value.
---@param param operations.openapi.Parameter
---@param value any
---@return string? text  nil without a message if the parameter is omitted: null, an empty array or object
---@return string? message  why the value cannot be sent
---@return string? path  JSON Pointer into the value
function parameter.text(param, value)
  local prefix, kind = param.prefix, type(value)
  if prefix and kind == "string" and value ~= "" then
    return prefix .. param.encode(value)
  elseif prefix and kind == "boolean" then
    return prefix .. tostring(value)
  elseif prefix and kind == "number" and value % 1 == 0 and value > -1e15 and value < 1e15 then
    return ("%s%d"):format(prefix, value)
  elseif value == nil or value == core.null and not param.media then
    return nil
  elseif param.style == "cookie" and forbidden_in_cookie(value) then
    return nil, "must not contain ';'"
  end
  local text, message, path
  if param.collection then
    value, message, path = style.collected(value, param.collection)
  end
  if not message then
    text, message, path = serialize(param, value)
  end
  if text and finish[param.location] then
    return finish[param.location](text, param)
  elseif not text and not message and param.empty then
    return param.wire_name .. "="
  end
  return text, message, path
end

return parameter
