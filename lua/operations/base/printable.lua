--- Foreign text for a terminal, a log line or a window of an editor. What steers these, or shows a text in another
--- order than the one it is read in, never reaches them as it is: control characters (C0, DEL, C1), marks and overrides
--- of the writing direction, separators of lines, byte order marks, tags, and bytes that are not UTF-8.
local printable = {}

-- Code points beyond ASCII, first and last.
local ranges = {
  { 0x80, 0x9F }, { 0x61C, 0x61C }, { 0x200E, 0x200F }, { 0x2028, 0x202E }, { 0x2066, 0x206F }, { 0xFEFF, 0xFEFF },
  { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F },
}

local CONTROL = "[%z\1-\8\11-\31\127]"
local DOUBTFUL = "[%z\1-\8\11-\31\127-\255]" -- what may have to be replaced

local function is_unsafe(code)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then
      return true
    end
  end
  return false
end

-- The least code point of each length: shorter ones are overlong, which is not UTF-8 (RFC 3629, 3).
local least = { [2] = 0x80, [3] = 0x800, [4] = 0x10000 }

-- The length and code point of the character at the beginning of bytes; nil: they are not UTF-8.
local function decode(bytes)
  local first = bytes:byte()
  local length = first >= 0xF0 and 4 or first >= 0xE0 and 3 or 2
  if first < 0xC2 or first > 0xF4 or #bytes < length then
    return nil
  end
  local code = first % 2 ^ (7 - length)
  for i = 2, length do
    code = code * 64 + bytes:byte(i) % 64
  end
  local is_valid = code >= least[length] and code <= 0x10FFFF and (code < 0xD800 or code > 0xDFFF)
  return is_valid and length or nil, code
end

--- Replaces everything that is not shown as it is; newlines and tabs stay.
---@param text string
---@param write fun(bytes: string, code: integer?): string  `code` is nil for a byte that is not UTF-8
---@return string
function printable.replace(text, write)
  if not text:find(DOUBTFUL) then
    return text
  end
  text = text:gsub(CONTROL, function(byte)
    return write(byte, byte:byte())
  end)
  return (text:gsub("[\128-\255][\128-\191]*", function(bytes)
    local parts = {}
    while bytes ~= "" do
      local length, code = decode(bytes)
      local char = bytes:sub(1, length or 1)
      parts[#parts + 1] = (not length or is_unsafe(code)) and write(char, length and code) or char
      bytes = bytes:sub(#char + 1)
    end
    return table.concat(parts)
  end))
end

local function question_mark()
  return "?"
end

--- A text to read: sequences that steer a terminal are removed, other unprintable characters become "?".
---@param text string
---@return string
function printable.text(text)
  if not text:find(DOUBTFUL) then
    return text
  end
  return printable.replace(text:gsub("\27%[[0-9:;<=>?]*[ -/]*[@-~]", ""), question_mark)
end

local function escape(bytes, code)
  return code and ("\\u{%x}"):format(code) or ("\\x%02x"):format(bytes:byte())
end

--- A text to judge: nothing is lost, unprintable characters become `\u{202e}`, other bytes `\xff`.
---@param text string
---@return string
function printable.escaped(text)
  return printable.replace(text, escape)
end

--- A text to read among other messages: no line after its first looks like a message of its own, which JSON in a line
--- may be too. The lines of a traceback stay as they are.
---@param text string
---@return string
function printable.message(text)
  return (printable.text(text):gsub("\n+$", ""):gsub("\n([^\n]*)", function(line)
    return line ~= "stack traceback:" and not line:find("^\t[^%s{]") and "\n  | " .. line or nil
  end))
end

--- A text to judge in one line.
---@param text string
---@return string
function printable.line(text)
  return (printable.escaped(text):gsub("[\n\t]", { ["\n"] = "\\n", ["\t"] = " " }))
end

local function blank()
  return " "
end

-- Blanks beyond ASCII, as in the \s of ECMA-262, for names that are checked by it; U+FEFF and separators are unsafe.
local blanks = { "\194\160", "\225\154\128", "\226\128[\128-\138\175]", "\226\129\159", "\227\128\128" }

--- A text as the name of an operation or namespace: blanks and what is unprintable become "_".
---@param text string
---@return string
function printable.name(text)
  if not text:find("[^!-~]") then
    return text
  end
  text = printable.replace(text, blank)
  for _, pattern in ipairs(blanks) do
    text = text:gsub(pattern, " ")
  end
  return (text:gsub("%s+", "_"))
end

local function json_escape(_, code)
  if code and code > 0xFFFF then
    return ("\\u%04x\\u%04x"):format(0xD800 + math.floor((code - 0x10000) / 1024), 0xDC00 + code % 1024)
  end
  return code and ("\\u%04x"):format(code) or "?"
end

--- JSON text with the same meaning: these characters are only in strings, where they can be escaped.
---@param text string  as json.encode writes it
---@return string
function printable.json(text)
  return printable.replace(text, json_escape)
end

return printable
