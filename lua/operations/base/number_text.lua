--- Writes numbers as text: the same text whatever the locale of the process is. Lua 5.4 writes the decimal point of the
--- locale in `tostring`, `..` and `string.format`.
local core = require("operations.core")
local json = require("operations.base.json")

local number_text = {}

local function pointed(text)
  return (text:gsub("[^%w+-]+", "."))
end

--- The text of a number: digits alone for a whole one below 10^18, else the shortest of 15 to 17 digits that reads back
--- the same. Other values: `tostring`.
---@param value any
---@return string
function number_text.of(value)
  if type(value) ~= "number" then -- a wide integer
    return core.kind(value) == "integer" and json.encode(value) or tostring(value)
  end
  local text = tostring(value)
  if text:find("^-?%d+$") then
    return text
  elseif value % 1 == 0 and value > -1e18 and value < 1e18 then
    return ("%.0f"):format(value)
  end
  for digits = 15, 17 do
    text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then
      break
    end
  end
  return pointed(text)
end

--- The text of a number, with so many digits after the decimal point.
---@param value number
---@param digits integer
---@return string
function number_text.fixed(value, digits)
  return pointed(("%." .. digits .. "f"):format(value))
end

return number_text
