--- Resolves selections against the types of a service: every field, argument and fragment must exist and fit, so that
--- what is printed of them is valid there and stays within the field that was called.
local lexer = require("operations.graphql.lexer")
local limits = require("operations.base.limits")
local literals = require("operations.graphql.literals")
local printer = require("operations.graphql.printer")
local schemas = require("operations.graphql.schema")
local suggestion = require("operations.base.suggestion")

local selection = {}

local fail = lexer.fail

--- One resolution.
---@class operations.graphql.Resolution
---@field schema operations.graphql.Schema
---@field variable fun(literal: operations.graphql.Value, ref: operations.graphql.TypeRef?, has_default: boolean?)
---@field complete? fun(of: operations.graphql.Type): operations.graphql.Selection[]  selects fields of a type where the
---  text names none; nil: that is an error
---@field fragments? table<string, table>  by name, of a document; directives may then be those of the service
---@field open? table<table, boolean>  the fragments that are being resolved (true), and those that are (false)
---@field level integer  of fragments in fragments
---@field inside? table  the fragment that is being resolved
---@field steps integer  of checks, at most `limits.graphql_steps`

local function step(build, at)
  build.steps = build.steps + 1
  if build.steps > limits.graphql_steps then
    fail("the selection is too large", at)
  end
end

-- Where among the types of an interface or a union a field is.
local function elsewhere(build, parent, name)
  if parent.kind ~= "OBJECT" then
    for _, possible in ipairs(build.schema:possible(parent)) do
      if schemas.field(build.schema:type(possible), name) then
        return (" (did you mean ... on %s { %s }?)"):format(possible, name)
      end
    end
  end
  return suggestion.behind(name, parent.fields or {}, "name")
end

local function check_arguments(build, item, owner)
  local given = {}
  local known = {}
  for _, argument in ipairs(owner.arguments) do
    known[argument.name] = argument
  end
  for _, argument in ipairs(item.arguments or {}) do
    local expected = known[argument.name]
    if not expected then
      fail(("%s has no argument %q%s"):format(item.name, argument.name,
        suggestion.behind(argument.name, owner.arguments, "name")), argument.at)
    elseif given[argument.name] then
      fail(("the argument %q is given twice"):format(argument.name), argument.at)
    end
    given[argument.name] = true
    literals.check(build.schema, expected.type, argument.value, function(literal, ref)
      build.variable(literal, ref, literal == argument.value and expected.default ~= nil)
    end)
  end
  for _, argument in ipairs(owner.arguments) do
    if argument.type.required and not argument.default and not given[argument.name] then
      fail(("%s lacks its argument %q (%s)"):format(item.name, argument.name, printer.type(argument.type)), item.at)
    end
  end
end

local condition = { arguments = { { name = "if", type = { name = "Boolean", required = true } } } }

local function check_directives(build, item)
  local seen = {}
  for _, directive in ipairs(item.directives or {}) do
    local is_own = directive.name ~= "skip" and directive.name ~= "include"
    if is_own and not build.fragments then
      fail(("the directive @%s is not allowed here; expected @skip or @include"):format(directive.name), directive.at)
    elseif seen[directive.name] then
      fail(("the directive @%s is given twice"):format(directive.name), directive.at)
    end
    seen[directive.name] = not is_own
    if is_own then
      for _, argument in ipairs(directive.arguments or {}) do
        literals.each_variable(argument.value, build.variable)
      end
    else
      check_arguments(build, directive, condition)
    end
  end
end
selection.resolve_directives = check_directives

local resolve

local function resolve_field(build, parent, item)
  local field = schemas.field(parent, item.name)
  if not field then
    fail(("%s has no field %q%s"):format(parent.name, item.name, elsewhere(build, parent, item.name)), item.at)
  end
  local of = build.schema:named(field.type)
  item.field, item.parent, item.of, item.key = field, parent, of, item.alias or item.name
  check_arguments(build, item, field)
  if not schemas.has_fields(of) then
    if item.selections then
      fail(("%s is of the type %s, which has no fields"):format(item.name, of.name), item.at)
    end
    return
  end
  item.selections = item.selections or build.complete and build.complete(of)
    or fail(("fields of %s must be selected"):format(item.name), item.at)
  resolve(build, of, item.selections)
end

local function check_condition(build, parent, name, at)
  local of = build.schema:type(name, at)
  if not schemas.has_fields(of) then
    fail(("%s has no fields"):format(name), at)
  elseif of ~= parent and not build.schema:overlap(parent, of) then
    fail(("a value of %s is never a %s"):format(parent.name, name), at)
  end
  return of
end

local function resolve_spread(build, parent, item)
  local fragment = build.fragments and build.fragments[item.spread]
  if not fragment then
    fail(build.fragments and ("there is no fragment %q"):format(item.spread)
      or ("the fragment %q is not defined here; write ... on TYPE { ... }"):format(item.spread), item.at)
  end
  local of = check_condition(build, parent, fragment.on, item.at)
  item.fragment, item.of = fragment, of
  if build.open[fragment] then
    fail(("the fragment %q contains itself"):format(item.spread), item.at)
  elseif build.open[fragment] == nil then
    local outer = build.inside
    build.open[fragment], build.level, build.inside = true, build.level + 1, fragment
    if build.level > limits.graphql_depth then
      fail(("fragments are nested more than %d levels deep"):format(limits.graphql_depth), item.at)
    end
    check_directives(build, fragment)
    resolve(build, of, fragment.selections)
    build.open[fragment], build.level, build.inside = false, build.level - 1, outer
  end
end

function resolve(build, parent, selections)
  for _, item in ipairs(selections) do
    step(build, item.at)
    check_directives(build, item)
    if item.spread then
      resolve_spread(build, parent, item)
    elseif item.inline then
      item.of = item.on and check_condition(build, parent, item.on, item.at) or parent
      resolve(build, item.of, item.selections)
    else
      resolve_field(build, parent, item)
    end
  end
end

-- The fields of selections by the key that they have in the answer, those of fragments among them.
local function collect(build, selections, groups, seen)
  for _, item in ipairs(selections) do
    step(build, item.at)
    local inner = item.inline and item.selections
    if item.spread and not seen[item.spread] then
      seen[item.spread], inner = true, item.fragment.selections
    end
    if inner then
      collect(build, inner, groups, seen)
    elseif item.key then
      local group = groups[item.key]
      if not group then
        group = {}
        groups[item.key], groups[#groups + 1] = group, group
      end
      group[#group + 1] = item
    end
  end
end

local function groups_of(build, fields)
  local groups, seen = {}, {}
  for _, item in ipairs(fields) do
    if item.selections then
      collect(build, item.selections, groups, seen)
    end
  end
  return groups
end

-- The place is told where it can only be in one text.
local function conflict(build, other, how)
  fail(("%q is selected twice, %s; an alias tells them apart"):format(other.key, how),
    not build.fragments and other.at or nil)
end

local function same_shape(schema, a, b)
  if (a.required or false) ~= (b.required or false) or (a.list ~= nil) ~= (b.list ~= nil) then
    return false
  elseif a.list then
    return same_shape(schema, a.list, b.list)
  end
  return a.name == b.name or schemas.has_fields(schema:type(a.name)) and schemas.has_fields(schema:type(b.name))
end

-- Fields of one key have one shape, whatever the type of the value.
local function check_shapes(build, groups)
  for _, group in ipairs(groups) do
    for i = 2, #group do
      if not same_shape(build.schema, group[1].field.type, group[i].field.type) then
        conflict(build, group[i], "with different types")
      end
    end
    check_shapes(build, groups_of(build, group))
  end
end

local function sorted_arguments(item)
  local list = {}
  for i, argument in ipairs(item.arguments or {}) do
    list[i] = argument
  end
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  return printer.arguments(list)
end

-- The fields of a group that one value may have: those of one object type and those of interfaces.
local function partitions(group)
  local abstract, by_type, list = {}, {}, {}
  for _, item in ipairs(group) do
    if item.parent.kind ~= "OBJECT" then
      abstract[#abstract + 1] = item
    else
      local part = by_type[item.parent.name]
      if not part then
        part = {}
        by_type[item.parent.name], list[#list + 1] = part, part
      end
      part[#part + 1] = item
    end
  end
  for _, part in ipairs(list) do
    for _, item in ipairs(abstract) do
      part[#part + 1] = item
    end
  end
  return list[1] and list or { abstract }
end

-- Fields of one key that one value may have are the same field with the same arguments.
local function check_sameness(build, groups)
  for _, group in ipairs(groups) do
    for _, part in ipairs(partitions(group)) do
      local first, arguments = part[1], part[2] and sorted_arguments(part[1])
      for i = 2, #part do
        step(build, part[i].at)
        if part[i].name ~= first.name then
          conflict(build, part[i], "as different fields")
        elseif sorted_arguments(part[i]) ~= arguments then
          conflict(build, part[i], "with different arguments")
        end
      end
      check_sameness(build, groups_of(build, part))
    end
  end
end

--- Resolves selections of a type, and checks that their answers can be merged into one. The tables get what was found:
--- `field`, `parent`, `of` and `key` of fields; `of` and `fragment` of fragments. Raises what is wrong.
---@param build operations.graphql.Resolution
---@param of operations.graphql.Type
---@param selections operations.graphql.Selection[]
function selection.resolve(build, of, selections)
  build.steps, build.open, build.level = 0, {}, 0
  resolve(build, of, selections)
  local groups = groups_of(build, { { selections = selections } })
  check_sameness(build, groups)
  check_shapes(build, groups)
end

return selection
