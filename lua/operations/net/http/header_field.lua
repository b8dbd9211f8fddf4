--- What header fields are made of (RFC 9110, 5.5 and 5.6): patterns of their parts, and those that no pattern can read.
local header_field = {}

-- The characters of a token: what names of fields, methods and parameters are made of.
local TOKEN = "[%w!#$%%&'*+.^_`|~-]+"

header_field.token = TOKEN

local WHOLE = "^" .. TOKEN .. "$"

--- A control character that no value may hold: any but tab.
header_field.control = "[^%C\t]"

--- Is it a token?
---@param value any
---@return boolean
function header_field.is_token(value)
  return type(value) == "string" and value:find(WHOLE) ~= nil
end

--- The text without the blanks around it.
---@param text string
---@return string
function header_field.trim(text)
  return (text:match("^[ \t]*(.-)[ \t]*$"))
end

--- Reads a quoted string.
---@param text string
---@param from integer  of its opening quote
---@return string? value  nil when it does not end
---@return integer? after  where the text goes on
function header_field.quoted(text, from)
  local position, pieces = from + 1, {}
  while true do
    local chunk, mark, after = text:match('^([^"\\]*)(["\\])()', position)
    if not chunk then
      return nil
    end
    pieces[#pieces + 1] = chunk
    if mark == '"' then
      return table.concat(pieces), after
    end
    pieces[#pieces + 1] = text:sub(after, after)
    position = after + 1
  end
end

return header_field
