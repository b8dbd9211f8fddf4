--- Characters in UTF-8. Lua 5.4 has a module of the name, LuaJIT has not.
local utf8 = {}

local char, floor = string.char, math.floor

--- The bytes of a code point.
---@param code integer  from 0 to 0x10FFFF, no surrogate
---@return string
function utf8.char(code)
  if code < 0x80 then
    return char(code)
  elseif code < 0x800 then
    return char(0xC0 + floor(code / 0x40), 0x80 + code % 0x40)
  end
  local low = char(0x80 + floor(code / 0x40) % 0x40, 0x80 + code % 0x40)
  if code < 0x10000 then
    return char(0xE0 + floor(code / 0x1000)) .. low
  end
  return char(0xF0 + floor(code / 0x40000), 0x80 + floor(code / 0x1000) % 0x40) .. low
end

--- The beginning of a text that is longer than so many bytes, without a part of a character.
---@param text string
---@param most integer
---@return string
function utf8.cut(text, most)
  return #text <= most and text or (text:sub(1, most):gsub("[\192-\255][\128-\191]*$", ""))
end

return utf8
