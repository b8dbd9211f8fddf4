--- Reads SDL, the language of definitions of types (September 2025, section 3). The first pass finds where definitions
--- are; a definition is read when its type is first used.
local lexer = require("operations.graphql.lexer")
local parser = require("operations.graphql.parser")

local sdl = {}

local kinds = {
  scalar = "SCALAR", type = "OBJECT", interface = "INTERFACE", union = "UNION", enum = "ENUM", input = "INPUT_OBJECT",
}

local function description(self)
  local text = self.kind == "string" and self.value or nil
  if text then
    self:advance()
  end
  return text
end

local function argument_of(directives, name, wanted)
  for _, directive in ipairs(directives or {}) do
    for _, argument in ipairs(directive.name == name and directive.arguments or {}) do
      if argument.name == wanted and argument.value.kind == "string" then
        return argument.value.value
      end
    end
  end
end

local function has(directives, name)
  for _, directive in ipairs(directives or {}) do
    if directive.name == name then
      return true
    end
  end
  return false
end

local function deprecation(directives)
  return has(directives, "deprecated") and (argument_of(directives, "deprecated", "reason") or "No longer supported")
    or nil
end

-- Names with a separator between them: "& A & B", "| A | B".
local function separated(self, separator)
  local names = {}
  self:take(separator)
  repeat
    names[#names + 1] = self:name("a type")
  until not self:take(separator)
  return names
end

local function read_input(self)
  local text, name = description(self), self:name("an argument")
  self:expect(":")
  local input = { name = name, description = text, type = parser.read_type(self) }
  input.default = self:take("=") and parser.read_value(self) or nil
  input.deprecated = deprecation(parser.read_directives(self))
  return input
end

local function read_field(self)
  local text, name = description(self), self:name("a field")
  local arguments = self.kind == "(" and parser.items(self, "(", ")", read_input) or {}
  self:expect(":")
  local ref = parser.read_type(self)
  return {
    name = name, description = text, arguments = arguments, type = ref,
    deprecated = deprecation(parser.read_directives(self)),
  }
end

local function read_enum_value(self)
  local text, name = description(self), self:name("a value of the enum")
  return { name = name, description = text, deprecated = deprecation(parser.read_directives(self)) }
end

local function implemented(self)
  return self:keyword("implements") and separated(self, "&") or {}
end

local bodies = {
  OBJECT = { "fields", read_field }, INTERFACE = { "fields", read_field }, INPUT_OBJECT = { "inputs", read_input },
  ENUM = { "values", read_enum_value },
}

-- Adds a definition, or an extension, that begins at a byte to a type.
local function add_definition(into, text, at)
  local self = lexer.new(text, at)
  into.description = description(self) or into.description
  self:keyword("extend")
  self:advance() -- the keyword
  self:advance() -- the name
  implemented(self)
  local directives, body = parser.read_directives(self), bodies[into.kind]
  into.one_of = into.one_of or has(directives, "oneOf") or nil
  into.specified_by = into.specified_by or argument_of(directives, "specifiedBy", "url")
  local list = body and into[body[1]]
  for _, item in ipairs(body and self.kind == "{" and parser.items(self, "{", "}", body[2], true) or {}) do
    if not list[item.name] then -- GitHub has two of one name; the first one counts
      list[item.name], list[#list + 1] = true, item
    end
  end
end

local function read_type(text, entry)
  local made = { kind = entry.kind, name = entry.name }
  local body = bodies[entry.kind]
  if body then
    made[body[1]] = {}
  end
  for _, at in ipairs(entry.places) do
    add_definition(made, text, at)
  end
  return made
end

local function skip_directives(self)
  while self:take("@") do
    self:name("the name of a directive")
    if self.kind == "(" then
      self:skip()
    end
  end
end

local function skip_directive_definition(self)
  self:expect("@")
  self:name("the name of a directive")
  if self.kind == "(" then
    self:skip()
  end
  self:keyword("repeatable")
  if not self:keyword("on") then
    self:wrong('"on"')
  end
  separated(self, "|")
end

local function read_roots(self, roots)
  skip_directives(self)
  if self.kind ~= "{" then
    return
  end
  for _, root in ipairs(parser.items(self, "{", "}", function()
    local name = self:name("query, mutation or subscription")
    self:expect(":")
    return { name, self:name("a type") }
  end)) do
    roots[root[1]] = root[2]
  end
end

local function outline_type(self, outline, place, is_extension)
  local kind, at = kinds[self.value], self.at
  if self.kind ~= "name" or not kind then
    self:wrong("a definition of a type")
  end
  self:advance()
  local name = self:name("a name")
  local entry = outline.types[name]
  if entry and (entry.kind ~= kind or not is_extension and entry.is_defined) then
    lexer.fail(("the type %q is defined twice"):format(name), at)
  elseif not entry then
    entry = { kind = kind, name = name, places = {}, members = {} }
    outline.types[name], outline.names[#outline.names + 1] = entry, name
  end
  entry.is_defined = entry.is_defined or not is_extension
  table.insert(entry.places, place)
  for _, interface in ipairs(implemented(self)) do
    outline.implementing[interface] = outline.implementing[interface] or {}
    table.insert(outline.implementing[interface], name)
  end
  skip_directives(self)
  if kind == "UNION" and self:take("=") then
    for _, member in ipairs(separated(self, "|")) do
      table.insert(entry.members, member)
    end
  elseif self.kind == "{" then
    self:skip()
  end
end

local function read_outline(text)
  local self = lexer.new(text)
  local outline = { types = {}, names = {}, implementing = {}, given = {} }
  while self.kind ~= "end" do
    local place = self.at
    description(self)
    local is_extension = self:keyword("extend")
    if self:keyword("schema") then
      read_roots(self, outline.given)
    elseif self:keyword("directive") then
      skip_directive_definition(self)
    else
      outline_type(self, outline, place, is_extension)
    end
  end
  return outline
end

local defaults = { query = "Query", mutation = "Mutation", subscription = "Subscription" }

-- Without a `schema` definition the roots are the types of the default names.
local function roots_of(outline)
  if next(outline.given) then
    return outline.given
  end
  local roots = {}
  for kind, name in pairs(defaults) do
    roots[kind] = outline.types[name] and name or nil
  end
  return roots
end

--- The reader of a text of SDL. What it raises later names the place in the text.
---@param text string
---@return operations.graphql.Reader?
---@return operations.graphql.Problem?
function sdl.reader(text)
  local outline, problem = parser.try(read_outline, text)
  if not outline then
    return nil, problem
  end
  return {
    roots = roots_of(outline),
    read = function(name)
      local entry = outline.types[name]
      if not entry then
        return nil
      end
      local made, wrong = parser.try(read_type, text, entry)
      return made or lexer.fail(("the type %s, %s: %s"):format(name, lexer.place(text, wrong.at or 1), wrong.message))
    end,
    possible = function(name)
      local entry = outline.types[name]
      return entry and entry.kind == "UNION" and entry.members or outline.implementing[name]
    end,
    names = function()
      return outline.names
    end,
  }
end

return sdl
