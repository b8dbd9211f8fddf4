--- Fields of a form: the properties of a body by their Encoding Objects (OpenAPI 3.2.0, 4.15), and the text of
--- application/x-www-form-urlencoded. Pure: a value in, text out.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local media = require("operations.openapi.media")
local property_order = require("operations.base.property_order")
local style = require("operations.openapi.style")

local form = {}

local ordered = { keep_order = true }

---@class operations.openapi.Field
---@field style? string         only if the document sets style, explode or allowReserved, which then apply
---@field explode? boolean
---@field reserved? boolean     `allowReserved`
---@field content_type? string  from the document; applies without a style
---@field collection? (string|false)[]  separators of items (Swagger 2.0)
---@field arrays? "brackets"|"indices"|"repeat"  how `deepObject` writes arrays

local plain_field = {}

local is_compound = { array = true, object = true }

-- By style: as a query parameter.
local function style_pairs(field, name, value, encode)
  if field.style == "deepObject" and is_compound[core.kind(value)] then
    return style.deep_pairs(name, value, encode, field.arrays)
  end
  local expression = style.expressions[field.style] or style.expressions.form
  return style.pairs(expression, style.name_encoder(encode)(name), value, field.explode, encode)
end

--- The text of a value by its media type: objects and arrays as JSON, others unchanged.
---@param field operations.openapi.Field
---@param value any
---@return string? text
---@return string? message
function form.value_text(field, value)
  if media.is_json(media.essence(field.content_type)) then
    local text, err = json.encode(value, ordered)
    return text, err and err.message
  end
  return style.value_text(value)
end

-- By media type: every item of an array becomes a field; null is omitted.
local function media_pairs(field, name, value, encode)
  local list, is_list = {}, core.kind(value) == "array"
  name = style.name_encoder(encode)(name)
  for i, item in ipairs(is_list and value or { value }) do
    if item ~= core.null then
      local text, message = form.value_text(field, item)
      if not text then
        return nil, message, is_list and "/" .. i - 1 or ""
      end
      list[#list + 1] = { name, encode(text) }
    end
  end
  return list
end

--- The pairs { name, text } of one property.
---@param field operations.openapi.Field
---@param name string
---@param value any
---@param encode fun(text: string): string
---@return string[][]? list  empty if there is nothing to send
---@return string? message
---@return string? path  JSON Pointer into the value
function form.pairs(field, name, value, encode)
  if value == core.null then
    return {}
  elseif field.collection then
    local message, path
    value, message, path = style.collected(value, field.collection)
    if message then
      return nil, message, path
    end
  end
  return (field.style and style_pairs or media_pairs)(field, name, value, encode)
end

-- A plus sign would be decoded as a blank.
local function encode_reserved(text)
  return (style.encode_reserved(text):gsub("%+", "%%2B"))
end

--- Writes an object as application/x-www-form-urlencoded.
---@param fields? table<string, operations.openapi.Field>  by property
---@param value any
---@param rest? operations.openapi.Field  of other properties
---@return string? text
---@return string? message
---@return string? path  JSON Pointer into the value
function form.text(fields, value, rest)
  if core.kind(value) ~= "object" then
    return nil, "expected an object, which is sent as a form", ""
  end
  local texts = {}
  for _, name in ipairs(property_order.names(value)) do
    local field = fields and fields[name] or rest or plain_field
    local list, message, path = form.pairs(field, name, value[name], field.reserved and encode_reserved or style.encode)
    if not list then
      return nil, message, "/" .. json_pointer.escape(name) .. (path or "")
    end
    for _, pair in ipairs(list) do
      texts[#texts + 1] = pair[1] .. "=" .. pair[2]
    end
  end
  return (table.concat(texts, "&"):gsub("%%20", "+"))
end

return form
