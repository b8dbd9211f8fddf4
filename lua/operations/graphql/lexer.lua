--- Tokens of GraphQL texts (September 2025, section 2.1): documents, selections and SDL. No I/O, no schema.
local utf8 = require("operations.base.utf8")

local lexer = {}

local byte, find, match, sub = string.byte, string.find, string.match, string.sub

--- A place in a text, on one token. `kind` is the punctuator itself ("{", "..."), or "name", "int", "float", "string",
--- "end".
---@class operations.graphql.Lexer
---@field text string
---@field kind string
---@field value string?  of names and strings what they mean, of numbers their text
---@field at integer  the token's first byte
---@field stop integer  the byte after the token
---@field depth integer  of nested selections, values and types
local Lexer = {}
Lexer.__index = Lexer

--- What is wrong in a text, and where.
---@class operations.graphql.Problem
---@field message string
---@field at integer?  byte in the text, from 1

--- Raises a problem; `parser.lua` and its users catch it.
---@param message string
---@param at? integer
function lexer.fail(message, at)
  error({ message = message, at = at }, 0)
end
local fail = lexer.fail

--- "line 3, column 7" of a byte in a text.
---@param text string
---@param at integer
---@return string
function lexer.place(text, at)
  local line, start = 1, 1
  for stop in text:sub(1, at - 1):gmatch("\n()") do
    line, start = line + 1, stop
  end
  return ("line %d, column %d"):format(line, at - start + 1)
end

local escapes = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

-- The character of an escape whose letter is at `at`, and the byte after the escape.
local function unescape(text, at)
  local letter = sub(text, at, at)
  if escapes[letter] then
    return escapes[letter], at + 1
  end
  local digits, stop = match(text, "^u{(%x+)}()", at)
  if not digits then
    digits, stop = match(text, "^u(%x%x%x%x)()", at)
  end
  local code = digits and #digits <= 8 and tonumber(digits, 16)
  if code and code >= 0xD800 and code < 0xDC00 then
    local low, after = match(text, "^\\u([dD][c-fC-F]%x%x)()", stop)
    if low then
      code, stop = 0x10000 + (code - 0xD800) * 1024 + tonumber(low, 16) - 0xDC00, after
    end
  end
  if not code or code > 0x10FFFF or code >= 0xD800 and code < 0xE000 then
    fail("invalid escape in a string", at - 1)
  end
  return utf8.char(code), stop
end

local function read_string(self, at)
  local text, parts, from = self.text, {}, at + 1
  while true do
    local stop = find(text, '["\\\r\n]', from)
    local char = stop and sub(text, stop, stop)
    if char ~= '"' and char ~= "\\" then
      fail("a string lacks its closing quotation mark", at)
    end
    parts[#parts + 1] = sub(text, from, stop - 1)
    if char == '"' then
      self.kind, self.value, self.stop = "string", table.concat(parts), stop + 1
      return
    end
    parts[#parts + 1], from = unescape(text, stop + 1)
  end
end

-- Removes the indentation that all lines but the first share, and blank lines at both ends.
local function block_value(raw)
  local lines, indent = {}, nil
  for line in (raw:gsub("\r\n?", "\n") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line
    local blank = match(line, "^[ \t]*()")
    if #lines > 1 and blank <= #line then
      indent = math.min(indent or blank, blank)
    end
  end
  local first, last = nil, nil
  for i, line in ipairs(lines) do
    if i > 1 and indent then
      lines[i] = sub(line, indent)
    end
    if find(line, "[^ \t]") then
      first, last = first or i, i
    end
  end
  return first and table.concat(lines, "\n", first, last) or ""
end

-- The byte after a block string that begins at `at`.
local function block_end(text, at)
  local from = at + 3
  while true do
    local stop = find(text, '"""', from, true)
    if not stop then
      fail('a block string lacks its closing """', at)
    elseif byte(text, stop - 1) ~= 92 or stop == at + 3 then
      return stop + 3
    end
    from = stop + 3
  end
end

local function read_block(self, at)
  local stop = block_end(self.text, at)
  local raw = sub(self.text, at + 3, stop - 4):gsub('\\"""', '"""')
  self.kind, self.value, self.stop = "string", block_value(raw), stop
end

local function read_number(self, at)
  local text = self.text
  local whole, stop = match(text, "^(%-?%d+)()", at)
  if not whole or find(whole, "^%-?0%d") then
    fail("invalid number", at)
  end
  local after = match(text, "^%.%d+()", stop) or stop
  after = match(text, "^[eE][+-]?%d+()", after) or after
  if find(text, "^[%w_.]", after) then
    fail("invalid number", at)
  end
  self.kind, self.value, self.stop = after == stop and "int" or "float", sub(text, at, after - 1), after
end

-- The first byte from `at` on that is not ignored: blanks, commas, comments, a byte order mark.
local function significant(text, at)
  while true do
    at = match(text, "^[ \t\r\n,]*()", at)
    local char = byte(text, at)
    if char == 35 then
      at = find(text, "[\r\n]", at) or #text + 1
    elseif char == 0xEF and sub(text, at, at + 2) == "\239\187\191" then
      at = at + 3
    else
      return at, char
    end
  end
end

local punctuators = {}
for char in ("!$&():=@[]{|}"):gmatch(".") do
  punctuators[byte(char)] = char
end

--- Moves to the next token.
function Lexer:advance()
  local text = self.text
  local at, char = significant(text, self.stop)
  self.at = at
  if not char then
    self.kind, self.value, self.stop = "end", nil, at
  elseif punctuators[char] then
    self.kind, self.value, self.stop = punctuators[char], nil, at + 1
  elseif find(text, "^[A-Za-z_]", at) then
    self.value, self.stop = match(text, "^([A-Za-z0-9_]+)()", at)
    self.kind = "name"
  elseif char == 34 and sub(text, at, at + 2) == '"""' then
    read_block(self, at)
  elseif char == 34 then
    read_string(self, at)
  elseif char == 45 or char >= 48 and char <= 57 then
    read_number(self, at)
  elseif sub(text, at, at + 2) == "..." then
    self.kind, self.value, self.stop = "...", nil, at + 3
  else
    fail("unexpected character", at)
  end
end

--- Moves behind the bracket that closes the one on which it stands, without reading the tokens between them.
function Lexer:skip()
  local text, open = self.text, self.kind
  local close, depth, at = open == "{" and "}" or ")", 1, self.stop
  local pattern = open == "{" and '["#{}]' or '["#()]'
  while depth > 0 do
    at = find(text, pattern, at) or fail(("a %s lacks its %s"):format(open, close), self.at)
    local char = sub(text, at, at)
    if char == '"' and sub(text, at, at + 2) == '"""' then
      at = block_end(text, at)
    elseif char == '"' then
      local from = self.at
      read_string(self, at)
      self.at, at = from, self.stop
    elseif char == "#" then
      at = find(text, "[\r\n]", at) or #text + 1
    else
      depth, at = depth + (char == open and 1 or -1), at + 1
    end
  end
  self.stop = at
  self:advance()
end

--- The token in words, for messages.
---@return string
function Lexer:shown()
  if self.kind == "end" then
    return "the end"
  elseif self.kind == "string" then
    return "a string"
  end
  return ("%q"):format(self.value or self.kind)
end

--- Raises: something else was expected here.
---@param expected string
function Lexer:wrong(expected)
  fail(("expected %s, found %s"):format(expected, self:shown()), self.at)
end

--- Takes a token if it is there.
---@param kind string
---@return boolean
function Lexer:take(kind)
  if self.kind == kind then
    self:advance()
    return true
  end
  return false
end

--- Takes a token that must be there.
---@param kind string
function Lexer:expect(kind)
  if not self:take(kind) then
    self:wrong(("%q"):format(kind))
  end
end

--- Takes a name.
---@param what? string  what it names, for the message
---@return string
function Lexer:name(what)
  local value = self.value
  if self.kind ~= "name" then
    self:wrong(what or "a name")
  end
  self:advance()
  return value
end

--- Takes a word if it is there.
---@param word string
---@return boolean
function Lexer:keyword(word)
  if self.kind == "name" and self.value == word then
    self:advance()
    return true
  end
  return false
end

--- Stands on the first token of a text, or on the one at a byte.
---@param text string
---@param at? integer
---@return operations.graphql.Lexer
function lexer.new(text, at)
  local self = setmetatable({ text = text, stop = at or 1, depth = 0 }, Lexer)
  self:advance()
  return self
end

return lexer
