--- Texts for the patterns of schemas: the first that the part of ECMA-262's syntax allows which documents use.
local pattern_text = {}

-- Characters tried, in this order, for a class.
local alphabet = "a1A_-. /:@#+,bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ023456789!$%&'()*;<=>?[]^`{|}~"

local classes = { d = "%d", w = "[%w_]", s = "%s", D = "%D", W = "[^%w_]", S = "%S" }

-- A reader of the part of ECMA-262's patterns that documents use: `self.text`, `self.at`.
local Pattern = {}
Pattern.__index = Pattern

function Pattern:take(literal)
  if self.text:sub(self.at, self.at + #literal - 1) == literal then
    self.at = self.at + #literal
    return true
  end
end

function Pattern:char()
  local char = self.text:sub(self.at, self.at)
  self.at = self.at + 1
  return char
end

local controls = { n = "\n", r = "\r", t = "\t", f = "\f", v = "\v", ["0"] = "\0" }

-- An escape: a class of Lua's, or one character.
function Pattern:escape()
  local char = self:char()
  local digits = char == "x" and self.text:match("^%x%x", self.at)
    or char == "u" and self.text:match("^%x%x%x%x", self.at)
  if digits then
    self.at = self.at + #digits
    return nil, string.char(tonumber(digits, 16) % 128)
  elseif (char == "p" or char == "P") and self.text:find("^{[%w=_]+}", self.at) then
    self.at = self.text:find("}", self.at, true) + 1
    return char == "p" and "%a" or "[%d_]"
  end
  return classes[char], controls[char] or char
end

-- A class in brackets as a test of one character, and the characters that it names.
function Pattern:class()
  local negated = self:take("^")
  local tests, named = {}, {}
  while not self:take("]") and self.at <= #self.text do
    local char = self:char()
    local class
    if char == "\\" then
      class, char = self:escape()
    end
    local last = not class and self.text:match("^%-([^%]\\])", self.at)
    if class then
      tests[#tests + 1] = function(c) return c:find("^" .. class .. "$") ~= nil end
    elseif last then
      self.at = self.at + 2
      tests[#tests + 1] = function(c) return c >= char and c <= last end
    else
      tests[#tests + 1] = function(c) return c == char end
    end
    named[#named + 1] = not class and char or nil
  end
  return function(c)
    for _, test in ipairs(tests) do
      if test(c) then
        return not negated
      end
    end
    return negated or false
  end, table.concat(named)
end

local function first_of(test, named)
  for char in (alphabet .. (named or "")):gmatch(".") do
    if test(char) then
      return char
    end
  end
  return ""
end

local function matches(class)
  return function(c) return c:find("^" .. class .. "$") ~= nil end
end

-- One atom as the text that it stands for.
function Pattern:atom()
  if self:take("(?=") or self:take("(?!") or self:take("(?<=") or self:take("(?<!") then
    self:alternatives() -- the caller checks
    return ""
  elseif self:take("(?:") or self:take("(") then
    self.at = self.text:match("^%?<%w+>()", self.at) or self.at
    return self:alternatives()
  elseif self:take("[") then
    return first_of(self:class())
  elseif self:take("\\") then
    if self:take("b") or self:take("B") then
      return ""
    end
    local class, char = self:escape()
    return class and first_of(matches(class)) or char
  elseif self:take("^") or self:take("$") then
    return ""
  elseif self:take(".") then
    return "a"
  end
  return self:char()
end

-- How often an atom stands there at least, and whether it may stand there more often.
function Pattern:times()
  local least, comma, most, after = self.text:match("^{(%d+)(,?)(%d*)}()", self.at)
  if least then
    self.at = after
    least, most = tonumber(least), comma == "" and tonumber(least) or tonumber(most) or math.huge
  elseif self:take("*") then
    least, most = 0, math.huge
  elseif self:take("+") then
    least, most = 1, math.huge
  elseif self:take("?") then
    least, most = 0, 1
  else
    return 1, 1
  end
  self:take("?")
  return least, most
end

-- A sequence up to `|`, `)` or the end. The first atom that may, is repeated to reach `self.length`.
function Pattern:sequence()
  local texts = {}
  while self.at <= #self.text and not self.text:find("^[|)]", self.at) do
    local text = self:atom()
    local least, most = self:times()
    local wanted = least
    if text ~= "" and most > least and self.length > 0 then
      wanted = math.max(least, math.min(most, math.ceil(self.length / #text)))
    end
    self.length = self.length - #text * wanted
    texts[#texts + 1] = text:rep(wanted)
  end
  return table.concat(texts)
end

-- The first alternative; the others are read and dropped.
function Pattern:alternatives()
  local text = self:sequence()
  while self:take("|") do
    self:sequence()
  end
  self:take(")")
  return text
end

--- A text that a pattern probably accepts; the caller checks it.
---@param pattern string  of ECMA-262
---@param length integer  the least length wanted
---@return string
function pattern_text.of(pattern, length)
  return setmetatable({ text = pattern, at = 1, length = length }, Pattern):alternatives()
end

return pattern_text
