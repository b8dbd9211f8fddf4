--- Values that are written in GraphQL texts, and whether they fit their types.
local core = require("operations.core")
local lexer = require("operations.graphql.lexer")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local printer = require("operations.graphql.printer")
local suggestion = require("operations.base.suggestion")

local literals = {}

local fail = lexer.fail

--- The largest Int, which has 32 bits.
literals.INT = 2147483647

--- The value of a literal as JSON; nil where it has none (a variable).
---@param literal operations.graphql.Value
---@return any
function literals.json(literal)
  local kind, value = literal.kind, literal.value
  if kind == "null" then
    return core.null
  elseif kind == "int" or kind == "float" then
    return tonumber(value)
  elseif kind == "list" then
    local list = marked.array()
    for i, item in ipairs(value) do
      list[i] = literals.json(item)
    end
    return list
  elseif kind == "object" then
    local object = marked.object()
    for _, member in ipairs(value) do
      object[member.name] = literals.json(member.value)
    end
    return object
  end
  if kind ~= "variable" then
    return value
  end
end

-- Kinds of literals that a scalar takes.
local takes = {
  Int = { int = true }, Float = { int = true, float = true }, String = { string = true }, Boolean = { boolean = true },
  ID = { string = true, int = true },
}

local function wrong(literal, expected)
  fail(("expected %s, found %s"):format(expected, printer.value(literal)), literal.at)
end

local check

local function check_object(schema, of, literal, variable)
  local known, given, names = {}, {}, {}
  for i, input in ipairs(of.inputs) do
    known[input.name], names[i] = input, input.name
  end
  for _, member in ipairs(literal.value) do
    local input = known[member.name]
    if not input then
      fail(("the input %s has no field %q%s"):format(of.name, member.name, suggestion.behind(member.name, names)),
        member.at)
    elseif given[member.name] then
      fail(("the field %q is given twice"):format(member.name), member.at)
    end
    given[member.name] = true
    check(schema, of.one_of and members.merged(input.type, { required = true }) or input.type, member.value, variable)
  end
  for _, input in ipairs(of.inputs) do
    if input.type.required and not input.default and not given[input.name] then
      fail(("the input %s lacks the field %q"):format(of.name, input.name), literal.at)
    end
  end
  if of.one_of and #literal.value ~= 1 then
    fail(("the input %s takes exactly one of its fields, got %d"):format(of.name, #literal.value), literal.at)
  end
end

local function check_enum(of, literal)
  local names = {}
  for i, value in ipairs(of.values) do
    names[i] = value.name
  end
  if literal.kind ~= "enum" or not members.contains(names, literal.value) then
    local near = literal.value and suggestion.behind(tostring(literal.value), names) or ""
    wrong(literal, ("a value of the enum %s%s"):format(of.name, near))
  end
end

--- Calls a function for each variable within a literal.
---@param literal operations.graphql.Value
---@param variable fun(literal: operations.graphql.Value)
function literals.each_variable(literal, variable)
  if literal.kind == "variable" then
    variable(literal)
  elseif literal.kind == "list" then
    for _, item in ipairs(literal.value) do
      literals.each_variable(item, variable)
    end
  elseif literal.kind == "object" then
    for _, member in ipairs(literal.value) do
      literals.each_variable(member.value, variable)
    end
  end
end

local function is_int(number)
  return number >= -literals.INT - 1 and number <= literals.INT
end

local function check_named(schema, ref, literal, variable)
  local of = schema:type(ref.name)
  if of.kind == "INPUT_OBJECT" then
    if literal.kind ~= "object" then
      wrong(literal, "fields of the input " .. of.name)
    end
    check_object(schema, of, literal, variable)
  elseif of.kind == "ENUM" then
    check_enum(of, literal)
  elseif not takes[of.name] then
    literals.each_variable(literal, variable)
  elseif not takes[of.name][literal.kind] then
    wrong(literal, of.name)
  elseif of.name == "Int" and not is_int(tonumber(literal.value)) then
    wrong(literal, "an Int of 32 bits")
  elseif of.name == "Float" and math.abs(tonumber(literal.value)) == math.huge then
    wrong(literal, "a finite Float")
  end
end

--- Checks a literal against a type; raises what does not fit.
---@param schema operations.graphql.Schema
---@param ref operations.graphql.TypeRef
---@param literal operations.graphql.Value
---@param variable fun(literal: operations.graphql.Value, ref: operations.graphql.TypeRef?)  called for variables
function literals.check(schema, ref, literal, variable)
  if literal.kind == "variable" then
    variable(literal, ref)
  elseif literal.kind == "null" then
    if ref.required then
      wrong(literal, printer.type(ref))
    end
  elseif not ref.list then
    check_named(schema, ref, literal, variable)
  elseif literal.kind == "list" then
    for _, item in ipairs(literal.value) do
      literals.check(schema, ref.list, item, variable)
    end
  else
    literals.check(schema, ref.list, literal, variable) -- one item stands for a list of it
  end
end
check = literals.check

return literals
