--- Decodes texts of a charset to UTF-8. Pure.
local utf8 = require("operations.base.utf8")

local charset = {}

-- Charsets of single bytes: the code points that differ from the bytes.
local latin_1 = {}
local latin_9 = { [0xA4] = 0x20AC, [0xA6] = 0x160, [0xA8] = 0x161, [0xB4] = 0x17D, [0xB8] = 0x17E, [0xBC] = 0x152,
  [0xBD] = 0x153, [0xBE] = 0x178 }
local windows = { [0x80] = 0x20AC, [0x82] = 0x201A, [0x83] = 0x192, [0x84] = 0x201E, [0x85] = 0x2026, [0x86] = 0x2020,
  [0x87] = 0x2021, [0x88] = 0x2C6, [0x89] = 0x2030, [0x8A] = 0x160, [0x8B] = 0x2039, [0x8C] = 0x152, [0x8E] = 0x17D,
  [0x91] = 0x2018, [0x92] = 0x2019, [0x93] = 0x201C, [0x94] = 0x201D, [0x95] = 0x2022, [0x96] = 0x2013,
  [0x97] = 0x2014, [0x98] = 0x2DC, [0x99] = 0x2122, [0x9A] = 0x161, [0x9B] = 0x203A, [0x9C] = 0x153, [0x9E] = 0x17E,
  [0x9F] = 0x178 }
local tables = {
  ["iso-8859-1"] = latin_1, ["iso8859-1"] = latin_1, ["iso_8859-1"] = latin_1, latin1 = latin_1, ["latin-1"] = latin_1,
  l1 = latin_1, ["us-ascii"] = latin_1, ascii = latin_1,
  ["iso-8859-15"] = latin_9, ["iso8859-15"] = latin_9, ["latin-9"] = latin_9, latin9 = latin_9,
  ["windows-1252"] = windows, cp1252 = windows, ["x-cp1252"] = windows,
}

local function single_bytes(differing)
  local texts = {}
  for byte = 128, 255 do
    texts[string.char(byte)] = utf8.char(differing[byte] or byte)
  end
  return function()
    return function(text)
      return (text:gsub("[\128-\255]", texts))
    end
  end
end

local REPLACEMENT = "\239\191\189"

-- Is the first unit's high byte the first? By the byte order mark, else by the zeros of a text that begins with ASCII.
local function is_big_endian(first, second)
  return not (first == 0xFF and second == 0xFE) and (first == 0xFE and second == 0xFF or first == 0 or second ~= 0)
end

-- The code points of UTF-16 units, of which `high` is the half that came before.
local function append(pieces, unit, high)
  local is_low = unit >= 0xDC00 and unit < 0xE000
  if high and is_low then
    pieces[#pieces + 1] = utf8.char(0x10000 + (high - 0xD800) * 0x400 + unit - 0xDC00)
    return nil
  elseif high or is_low then
    pieces[#pieces + 1] = REPLACEMENT
  end
  if unit >= 0xD800 and unit < 0xDC00 then
    return unit
  elseif not is_low then
    pieces[#pieces + 1] = utf8.char(unit)
  end
end

local function utf16(big)
  return function()
    local rest, high, begun, is_big = "", nil, false, big
    return function(text, is_last)
      text = rest .. text
      local pieces, whole = {}, #text - #text % 2
      rest = text:sub(whole + 1)
      for at = 1, whole, 2 do
        local first, second = text:byte(at, at + 1)
        if not begun and is_big == nil then
          is_big = is_big_endian(first, second)
        end
        local unit = is_big and first * 256 + second or second * 256 + first
        if begun or unit ~= 0xFEFF then
          high = append(pieces, unit, high)
        end
        begun = true
      end
      if is_last and (high or rest ~= "") then
        pieces[#pieces + 1] = REPLACEMENT
      end
      return table.concat(pieces)
    end
  end
end

local makers = { ["utf-16"] = utf16(nil), utf16 = utf16(nil), ["utf-16le"] = utf16(false), ["utf-16be"] = utf16(true),
  ["ucs-2"] = utf16(nil) }

--- A decoder of texts that come in pieces; what it cannot decode becomes U+FFFD.
---@param name string?  in lower case: a name of Latin-1, Latin-9, Windows-1252, or UTF-16
---@return (fun(text: string, is_last: boolean?): string)?  nil: UTF-8, or a charset that is not known
function charset.decoder(name)
  if name and tables[name] and not makers[name] then
    makers[name] = single_bytes(tables[name])
  end
  local make = makers[name or ""]
  return make and make() or nil
end

return charset
