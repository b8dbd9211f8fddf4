--- How one parameter goes on the wire: OpenAPI's `style` x `explode` x location (3.0.4, 3.1.1, 3.2.0: "Style
--- Values"). Pure: a value in, text out.
local core = require("operations.core")
local json = require("operations.json")
local style = require("operations.from_openapi.style")

local parameter = {}

---@class operations.openapi.Parameter
---@field name string      as on the wire
---@field key string       as in the input
---@field location "path"|"query"|"header"|"cookie"
---@field style string
---@field explode boolean
---@field required boolean
---@field reserved boolean  `allowReserved`
---@field media? string     essence of the `content` type, instead of a style

local styles = {
  path = { simple = true, label = true, matrix = true },
  query = { form = true, spaceDelimited = true, pipeDelimited = true, deepObject = true },
  header = { simple = true },
  cookie = { form = true, cookie = true },
}

local default_styles = { path = "simple", query = "form", header = "simple", cookie = "form" }

--- The style of a location that the document names none for.
---@param location string
---@return string? style  nil when there is no such location
function parameter.default_style(location)
  return default_styles[location]
end

---@param location string
---@param name string
---@return boolean
function parameter.has_style(location, name)
  return styles[location][name] == true
end

local function as_is(text)
  return text
end

local is_scalar = { string = true, number = true, integer = true, boolean = true }

-- Tabs may stand inside a field value (RFC 9110, 5.5), other control characters may not.
local CONTROL = "[%z\1-\8\10-\31\127]"

--- Checks a header field's value and takes the blanks around it away.
---@param value string
---@return string? value
---@return string? message
function parameter.header_value(value)
  if value:find(CONTROL) then
    return nil, "must not hold control characters (CR, LF, NUL)"
  end
  return (value:match("^[ \t]*(.-)[ \t]*$"))
end

local finish = {}

finish.header = parameter.header_value

--- Style `cookie` (3.2) encodes nothing, so what would end the value is refused.
function finish.cookie(text, param)
  if param.style == "cookie" and text:find("[%z\1-\31\127]") then
    return nil, "must not hold control characters (CR, LF, NUL)"
  end
  return text
end

local function encoding(param)
  if param.location == "header" or param.style == "cookie" then
    return as_is
  elseif param.location == "query" and param.reserved then
    return style.encode_reserved
  end
  return style.encode
end

--- A `content` parameter: JSON as compact text, other types as the string they were given as.
local function content_text(param, value, encode)
  local text, message
  if param.media:find("json", 1, true) then
    text, message = json.encode(value, { sort_keys = true })
    message = message and message.message
  else
    text, message = style.value_text(value)
  end
  if not text then
    return nil, message
  end
  local is_named = param.location == "query" or param.location == "cookie"
  return (is_named and style.encode(param.name) .. "=" or "") .. encode(text)
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

local function serialize(param, value, encode)
  if param.media then
    return content_text(param, value, encode)
  elseif param.style == "deepObject" and not is_scalar[core.kind(value)] then
    return style.deep_object(param.name, value, encode)
  end
  local wanted = param.location == "cookie" and "cookie" or param.style
  local expression = style.expressions[wanted] or style.expressions.form
  return style.expand(expression, style.encode(param.name), value, param.explode, encode)
end

--- The text of a parameter: a part of the path, `name=value` pairs of the query or the cookie, or a header's value.
---@param param operations.openapi.Parameter
---@param value any
---@return string? text  nil without a message when the parameter is left out: null, an empty array or object
---@return string? message  why the value cannot be sent
---@return string? path  JSON Pointer into the value
function parameter.text(param, value)
  if value == nil or value == core.null then
    return nil
  elseif param.style == "cookie" and forbidden_in_cookie(value) then
    return nil, "must not hold ';'"
  end
  local encode = encoding(param)
  local text, message, path = serialize(param, value, encode)
  if text and finish[param.location] then
    return finish[param.location](text, param)
  end
  return text, message, path
end

return parameter
