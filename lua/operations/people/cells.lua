--- The columns of texts on a terminal, and shortening texts to a width.
local cells = {}

-- East Asian wide and fullwidth characters, and emoji (Unicode 15, EastAsianWidth: W and F), in blocks.
local wide = {
  { 0x1100, 0x115F }, { 0x2E80, 0x303E }, { 0x3041, 0xA4CF }, { 0xA960, 0xA97F }, { 0xAC00, 0xD7A3 },
  { 0xF900, 0xFAFF }, { 0xFE30, 0xFE6F }, { 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 }, { 0x1F300, 0x1F64F },
  { 0x1F680, 0x1F6FF }, { 0x1F900, 0x1F9FF }, { 0x20000, 0x3FFFD },
}
-- Combining marks, joiners and variation selectors.
local nothing = {
  { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x064B, 0x065F }, { 0x1AB0, 0x1AFF },
  { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F }, { 0xFE20, 0xFE2F },
}

local function is_in(code, ranges)
  for _, range in ipairs(ranges) do
    if code < range[1] then
      return false
    elseif code <= range[2] then
      return true
    end
  end
  return false
end

local function code_of(char)
  local first = char:byte()
  local code = first < 0x80 and first or first < 0xE0 and first - 0xC0 or first < 0xF0 and first - 0xE0 or first - 0xF0
  for i = 2, #char do
    code = code * 64 + char:byte(i) - 128
  end
  return code
end

local function columns(char)
  local code = code_of(char)
  return is_in(code, nothing) and 0 or is_in(code, wide) and 2 or 1
end

--- The number of columns of a line.
---@param text string  UTF-8
---@return integer
function cells.width(text)
  if not text:find("[\128-\255]") then
    return #text
  end
  local width = 0
  for char in text:gmatch("[%z\1-\127\192-\255][\128-\191]*") do
    width = width + columns(char)
  end
  return width
end

--- Shortens a text that is too wide; its last column is then "…".
---@param text string
---@param most integer  columns, at least 1
---@return string
function cells.cut(text, most)
  if cells.width(text) <= most then
    return text
  end
  local width, parts = 0, {}
  for char in text:gmatch("[%z\1-\127\192-\255][\128-\191]*") do
    width = width + columns(char)
    if width > most - 1 then
      break
    end
    parts[#parts + 1] = char
  end
  return table.concat(parts):gsub("%s+$", "") .. "…"
end

--- Pads a text with blanks to a number of columns.
---@param text string
---@param width integer
---@return string
function cells.pad(text, width)
  return text .. (" "):rep(width - cells.width(text))
end

return cells
