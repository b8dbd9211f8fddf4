--- Reads annotations as lua-language-server does (LuaCATS, https://luals.github.io/wiki/annotations/), one line at a
--- time: an annotation that the server would read otherwise than it is meant, or in part, is a problem.
local luacats = {}

---@class spec.luacats.Type
---@field kind "name"|"literal"|"union"|"array"|"generic"|"fun"|"table"
---@field optional? boolean
---@field name? string
---@field value? string  of a literal, as written
---@field list? spec.luacats.Type[]  of a union; the arguments of a generic
---@field item? spec.luacats.Type  of an array
---@field parameters? { name: string, optional: boolean, type: spec.luacats.Type? }[]
---@field returns? spec.luacats.Type[]

-- Tokens.

-- The place behind a string in double quotes.
local function string_end(text, at)
  local stop = at + 1
  while stop <= #text and text:sub(stop, stop) ~= '"' do
    stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
  end
  return stop
end

local patterns = { { "blank", "^%s+" }, { "integer", "^%-?%d+%f[^%d.]" },
  { "name", "^[%w_\128-\255][%w_.*\128-\255-]*" }, { "string", "^'[^'\\]*'" }, { "code", "^`[^`]*`" },
  { "symbol", "^%[%]" }, { "symbol", "^%.%.%." }, { "symbol", "^[%[%]:|,;<>()?+#{}]" }, { "other", "^." } }

local function tokens_of(text)
  local list, at = {}, 1
  while at <= #text do
    local kind, stop = "string", text:sub(at, at) == '"' and string_end(text, at) or nil
    for _, pattern in ipairs(patterns) do
      if not stop then
        kind, stop = pattern[1], select(2, text:find(pattern[2], at))
      end
    end
    list[#list + 1] = { kind = kind, text = text:sub(at, stop), from = at }
    at = stop + 1
  end
  return list
end

-- The parser: `self.at` is the place behind the last token that was read, where blanks may stand.

local Parser = {}
Parser.__index = Parser

local function fail(message, ...)
  error({ message = message:format(...) }, 0)
end

function Parser:peek()
  local at = self.at
  while self.tokens[at] and self.tokens[at].kind == "blank" do
    at = at + 1
  end
  return self.tokens[at], at
end

function Parser:is(kind, text)
  local token = self:peek()
  return token ~= nil and token.kind == kind and token.text == text
end

function Parser:take(kind, text)
  local token, at = self:peek()
  if token and token.kind == kind and (text == nil or token.text == text) then
    self.at = at + 1
    return token.text
  end
end

function Parser:need(kind, text)
  local token = self:peek()
  return self:take(kind, text) or fail("expected %s, got %s", text or kind, token and token.text or "the end")
end

function Parser:name(dots)
  return self:take("name") or dots and self:take("symbol", "...")
end

function Parser:fun()
  local parameters, returns = {}, {}
  self:need("symbol", "(")
  while not self:take("symbol", ")") do
    local parameter = { name = self:name(true) or fail("expected the name of a parameter") }
    parameter.optional = self:take("symbol", "?") ~= nil
    parameter.type = self:take("symbol", ":") and self:type() or nil
    parameters[#parameters + 1] = parameter
    if not self:take("symbol", ",") then
      self:need("symbol", ")")
      break
    end
  end
  if self:take("symbol", ":") then
    local is_closed = self:take("symbol", "(") -- the server reads it as that of all results
    repeat
      local start = self.at
      if not (self:name(true) and self:take("symbol", ":")) then
        self.at = start
      end
      returns[#returns + 1] = self:type()
    until not self:take("symbol", ",")
    local _ = is_closed and self:need("symbol", ")")
  end
  return { kind = "fun", parameters = parameters, returns = returns }
end

function Parser:table()
  local fields = {}
  while not self:take("symbol", "}") do
    local field = { name = self:take("name") }
    if not field.name then
      self:need("symbol", "[")
      field.key = self:type()
      self:need("symbol", "]")
    end
    field.optional = self:take("symbol", "?") ~= nil
    self:need("symbol", ":")
    field.type = self:type()
    fields[#fields + 1] = field
    if not (self:take("symbol", ",") or self:take("symbol", ";")) then
      self:need("symbol", "}")
      break
    end
  end
  return { kind = "table", fields = fields }
end

function Parser:unit()
  local token, at = self:peek()
  if not token then
    fail("expected a type, got the end")
  elseif token.kind == "string" or token.kind == "integer" or token.kind == "code"
    or token.text == "true" or token.text == "false" then
    self.at = at + 1
    return { kind = "literal", value = token.text }
  elseif self:take("symbol", "{") then
    return self:table()
  elseif self:take("symbol", "(") then
    local inner = self:type()
    self:need("symbol", ")")
    return inner
  elseif self:take("name", "fun") then
    return self:fun()
  end
  local name = self:name(true) or fail("expected a type, got %s", token.text)
  self.names[name] = true
  return { kind = "name", name = name }
end

function Parser:type()
  local list = {}
  repeat
    local unit = self:unit()
    if self:take("symbol", "<") then
      local arguments = {}
      repeat
        arguments[#arguments + 1] = self:type()
      until not self:take("symbol", ",")
      self:need("symbol", ">")
      unit = { kind = "generic", name = unit.name, list = arguments }
    end
    while self:take("symbol", "[]") do
      unit = { kind = "array", item = unit }
    end
    list[#list + 1] = unit
  until not self:take("symbol", "|")
  local is_optional = self:take("symbol", "?") ~= nil
  if not list[2] and not is_optional then
    return list[1]
  end
  return { kind = "union", list = list, optional = is_optional }
end

-- What follows an annotation is its description, two blanks or a "#" behind it.
function Parser:finish()
  local token, following = self.tokens[self.at], self:peek()
  local is_apart = token ~= nil and token.kind == "blank" and #token.text > 1
  if following and not is_apart and not self:is("symbol", "#") then
    fail("%s is not read", self.text:sub(following.from))
  end
end

local readers = {}

function readers.class(self, found)
  local class = { name = self:name() or fail("expected the name of a class"), fields = {}, overloads = {},
    parents = {} }
  if self:take("symbol", ":") then
    repeat
      local parent = self:name() or fail("expected the name of a parent")
      self.names[parent] = true
      class.parents[#class.parents + 1] = parent
    until not self:take("symbol", ",")
  end
  found.defined[class.name] = true
  found.classes[class.name] = found.classes[class.name] or class
  found.current = found.classes[class.name]
end

function readers.field(self, found)
  local field = { name = self:take("name") }
  if not field.name then
    self:need("symbol", "[")
    field.key = self:take("string") or self:type()
    self:need("symbol", "]")
  end
  field.optional = self:take("symbol", "?") ~= nil
  field.type = self:type()
  if not found.current then
    fail("a field without a class")
  end
  table.insert(found.current.fields, field)
end

function readers.alias(self, found)
  local name = self:name() or fail("expected the name of an alias")
  found.defined[name] = true
  found.aliases[name] = self:peek() and self:type() or "several lines"
end

function readers.param(self)
  local _ = self:name(true) or fail("expected the name of a parameter")
  self:take("symbol", "?")
  self:type()
end

readers["return"] = function(self)
  repeat
    self:type()
    local before = self.at
    local token = self.tokens[before]
    if token and token.kind == "blank" and #token.text == 1 then -- a name
      local _ = self:name(true) or fail("expected the name of a result")
    end
  until not self:take("symbol", ",")
end

function readers.overload(self, found)
  self:need("name", "fun")
  local overload = self:fun()
  if found.current then
    table.insert(found.current.overloads, overload)
  end
end

function readers.operator(self)
  self:need("name")
  self:need("symbol", ":")
  self:type()
end

function readers.type(self)
  self:type()
end

function readers.generic(self, found)
  repeat
    local name = self:name() or fail("expected the name of a generic")
    found.defined[name] = true
    if self:take("symbol", ":") then
      self:type()
    end
  until not self:take("symbol", ",")
end

local plain = { meta = true, deprecated = true, async = true, nodiscard = true, diagnostic = true, see = true,
  cast = true }

---@class spec.luacats.Read
---@field problems string[]  line: message
---@field names table<string, integer>  types that are named, and the first line that does
---@field defined table<string, boolean>
---@field classes table<string, { name: string, parents: string[], fields: table[], overloads: table[] }>
---@field aliases table<string, any>

--- Reads the annotations of a text.
---@param text string
---@return spec.luacats.Read
function luacats.read(text)
  local found = { problems = {}, names = {}, defined = {}, classes = {}, aliases = {} }
  local number = 0
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    number = number + 1
    local kind, rest = line:match("^%s*%-%-%-@([%a-]+)(.*)$")
    local resumed = line:match("^%-%-%-%s*|(.*)$")
    if resumed then
      kind, rest = "type", resumed
    end
    if kind and not plain[kind] then
      local self = setmetatable({ text = rest, tokens = tokens_of(rest), at = 1, names = {} }, Parser)
      local ok, raised = pcall(function()
        local reader = readers[kind] or fail("no annotation")
        reader(self, found)
        self:finish()
      end)
      for name in pairs(self.names) do
        found.names[name] = found.names[name] or number
      end
      if not ok then
        local message = type(raised) == "table" and raised.message or raised
        table.insert(found.problems, ("%d: %s: %s"):format(number, line, message))
      end
    elseif not line:find("^%s*%-%-") then
      found.current = nil
    end
  end
  return found
end

local builtin = {}
for name in ("nil any boolean string number integer function table thread userdata lightuserdata self unknown file* "
  .. "..."):gmatch("%S+") do
  builtin[name] = true
end

--- The types that texts name and none of them defines.
---@param ... spec.luacats.Read
---@return string[]  name and line
function luacats.undefined(...)
  local defined, missing = {}, {}
  for _, found in ipairs({ ... }) do
    for name in pairs(found.defined) do
      defined[name] = true
    end
  end
  for _, found in ipairs({ ... }) do
    for name, line in pairs(found.names) do
      if not defined[name] and not builtin[name] then
        missing[#missing + 1] = ("%s in line %d"):format(name, line)
      end
    end
  end
  table.sort(missing)
  return missing
end

return luacats
