--- Reads GraphQL texts into plain tables (September 2025, section 2): selections, values, documents of operations and
--- fragments; `type_system` of definitions of types is in sdl.lua, which uses the same parts.
local lexer = require("operations.graphql.lexer")
local limits = require("operations.base.limits")

local parser = {}

local fail = lexer.fail

---@alias operations.graphql.Value { kind: "int"|"float"|"string"|"boolean"|"null"|"enum"|"list"|"object"|"variable",
---  value: any, at: integer }  of lists a list of values, of objects a list of { name, value, at }

---@class operations.graphql.TypeRef  a type in a signature
---@field name? string  a named type
---@field list? operations.graphql.TypeRef  a list of this type
---@field required? boolean  non-null

---@class operations.graphql.Argument
---@field name string
---@field value operations.graphql.Value
---@field at integer

---@class operations.graphql.Selection  a field, an inline fragment (`on`, `inline`) or a spread
---@field name? string  of the field
---@field alias? string
---@field inline? true
---@field on? string  the inline fragment's type
---@field spread? string  the fragment's name
---@field arguments? operations.graphql.Argument[]
---@field directives? { name: string, arguments: operations.graphql.Argument[]?, at: integer }[]
---@field selections? operations.graphql.Selection[]
---@field at integer

-- Runs a function one level deeper.
local function nested(self, read, ...)
  self.depth = self.depth + 1
  if self.depth > limits.graphql_depth then
    fail(("nested more than %d levels deep"):format(limits.graphql_depth), self.at)
  end
  local result = read(self, ...)
  self.depth = self.depth - 1
  return result
end

local read_value

-- The items between two brackets; at least one, unless `may_be_empty`.
local function items(self, open, close, read, may_be_empty)
  local list = {}
  self:expect(open)
  if not may_be_empty and self.kind == close then
    self:wrong(open == "{" and "a field" or "an item")
  end
  while not self:take(close) do
    list[#list + 1] = read(self)
  end
  return list
end
parser.items = items

local function read_member(self)
  local at, name = self.at, self:name("a field of the input")
  self:expect(":")
  return { name = name, value = read_value(self), at = at }
end

local words = { ["true"] = { "boolean", true }, ["false"] = { "boolean", false }, null = { "null" } }

local function compound(self)
  if self.kind == "[" then
    return { kind = "list", at = self.at, value = items(self, "[", "]", read_value, true) }
  end
  return { kind = "object", at = self.at, value = items(self, "{", "}", read_member, true) }
end

function read_value(self)
  local kind, value, at = self.kind, self.value, self.at
  if kind == "[" or kind == "{" then
    return nested(self, compound)
  elseif self:take("$") then
    return { kind = "variable", value = self:name("the name of a variable"), at = at }
  elseif kind == "name" then
    self:advance()
    local word = words[value]
    return { kind = word and word[1] or "enum", value = not word and value or word and word[2], at = at }
  elseif kind ~= "int" and kind ~= "float" and kind ~= "string" then
    self:wrong("a value")
  end
  self:advance()
  return { kind = kind, value = value, at = at }
end
parser.read_value = read_value

local function read_argument(self)
  local at, name = self.at, self:name("an argument")
  self:expect(":")
  return { name = name, value = read_value(self), at = at }
end

local function read_arguments(self)
  return self.kind == "(" and items(self, "(", ")", read_argument) or nil
end

--- Reads the directives in front of which a lexer stands; nil when there are none.
---@param self operations.graphql.Lexer
function parser.read_directives(self)
  local list
  while self.kind == "@" do
    local at = self.at
    self:advance()
    list = list or {}
    list[#list + 1] = { name = self:name("the name of a directive"), arguments = read_arguments(self), at = at }
  end
  return list
end
local read_directives = parser.read_directives

local function list_type(self)
  self:expect("[")
  local inner = parser.read_type(self)
  self:expect("]")
  return { list = inner }
end

--- Reads a type: `[Name!]!`.
---@param self operations.graphql.Lexer
---@return operations.graphql.TypeRef
function parser.read_type(self)
  local ref = self.kind == "[" and nested(self, list_type) or { name = self:name("a type") }
  if self:take("!") then
    ref.required = true
  end
  return ref
end

local read_selections

local function read_fragment(self, at)
  local on = self:keyword("on")
  if not on and self.kind == "name" then
    return { spread = self:name(), directives = read_directives(self), at = at }
  end
  return {
    inline = true, on = on and self:name("a type") or nil, directives = read_directives(self),
    selections = read_selections(self), at = at,
  }
end

local function read_selection(self)
  local at = self.at
  if self:take("...") then
    return read_fragment(self, at)
  end
  local name, alias = self:name("a field"), nil
  if self:take(":") then
    alias, name = name, self:name("a field")
  end
  return {
    name = name, alias = alias, at = at, arguments = read_arguments(self), directives = read_directives(self),
    selections = self.kind == "{" and read_selections(self) or nil,
  }
end

function read_selections(self)
  return nested(self, items, "{", "}", read_selection)
end

local function read_variable(self)
  local at, description = self.at, self.kind == "string" and self.value or nil -- new in 2025
  if description then
    self:advance()
  end
  self:expect("$")
  local name = self:name("the name of a variable")
  self:expect(":")
  return {
    name = name, description = description, type = parser.read_type(self), at = at,
    default = self:take("=") and read_value(self) or nil, directives = read_directives(self),
  }
end

local kinds = { query = true, mutation = true, subscription = true }

local function read_operation(self, description)
  local at, kind, name, variables, directives = self.at, "query", nil, nil, nil
  if self.kind ~= "{" then
    kind = self:name()
    name = self.kind == "name" and self:name() or nil
    variables = self.kind == "(" and items(self, "(", ")", read_variable) or nil
    directives = read_directives(self)
  end
  return {
    kind = kind, name = name, description = description, variables = variables or {}, directives = directives,
    selections = read_selections(self), at = at,
  }
end

local function read_named_fragment(self)
  local at = self.at
  self:advance()
  if self.kind == "name" and self.value == "on" then
    self:wrong("the name of a fragment")
  end
  local name = self:name("the name of a fragment")
  if not self:keyword("on") then
    self:wrong('"on"')
  end
  return {
    name = name, on = self:name("a type"), directives = read_directives(self), selections = read_selections(self),
    at = at,
  }
end

local function read_document(self)
  local document = { operations = {}, fragments = {} }
  repeat
    local description = self.kind == "string" and self.value or nil
    if description then
      self:advance()
    end
    if self.kind == "name" and self.value == "fragment" then
      table.insert(document.fragments, read_named_fragment(self))
    elseif self.kind == "{" and not description or self.kind == "name" and kinds[self.value] then
      table.insert(document.operations, read_operation(self, description))
    else
      self:wrong("an operation or a fragment")
    end
  until self.kind == "end"
  return document
end

local function whole(self, read)
  local result = read(self)
  if self.kind ~= "end" then
    self:wrong("the end")
  end
  return result
end

-- Selections as a caller writes them, with or without the outer braces.
local function bare_selections(self)
  if self.kind == "{" then
    return read_selections(self)
  end
  local list = {}
  repeat
    list[#list + 1] = read_selection(self)
  until self.kind == "end" or self.kind == "}"
  return list
end

--- Runs a reader or a check; what it raises by `lexer.fail` is the second result.
---@param run function
---@return any
---@return operations.graphql.Problem?
function parser.try(run, ...)
  local ok, result = pcall(run, ...)
  if ok then
    return result
  elseif type(result) ~= "table" or not result.message then
    error(result, 0)
  end
  return nil, result
end

local function all(text, read)
  return whole(lexer.new(text), read)
end

--- Reads selections: "id owner { login }". Nothing may follow them.
---@param text string
---@return operations.graphql.Selection[]?
---@return operations.graphql.Problem?
function parser.selections(text)
  return parser.try(all, text, bare_selections)
end

--- Reads a value: the default of an argument, as introspection gives it.
---@param text string
---@return operations.graphql.Value?
---@return operations.graphql.Problem?
function parser.value(text)
  return parser.try(all, text, read_value)
end

--- Reads operations and fragments.
---@param text string
---@return { operations: table[], fragments: table[] }?
---@return operations.graphql.Problem?
function parser.document(text)
  return parser.try(all, text, read_document)
end

return parser
