--- The JSON Schema of what a resolved selection gives.
local inputs = require("operations.graphql.inputs")
local lexer = require("operations.graphql.lexer")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local property_order = require("operations.base.property_order")
local schemas = require("operations.graphql.schema")

local outputs = {}

-- Adds the fields that a value of one object type has (of any type where `name` is nil) to `groups`, by key.
local function collect(build, selections, name, groups, is_optional)
  for _, item in ipairs(selections) do
    build.steps = build.steps + 1
    if build.steps > limits.graphql_steps then
      lexer.fail("the selection is too large", item.at)
    end
    local is_fragment = item.inline or item.spread ~= nil
    local optional = is_optional or item.directives ~= nil or is_fragment and not name
    if is_fragment then
      if not name or build.schema:may_be(item.of, name) then
        collect(build, item.selections or item.fragment.selections, name, groups, optional)
      end
    else
      local group = groups[item.key]
      if not group then
        group = { key = item.key, is_optional = true }
        groups[item.key], groups[#groups + 1] = group, group
      end
      group.is_optional = group.is_optional and optional
      group[#group + 1] = item
    end
  end
end

local value_schema

local function object_schema(build, groups, typename)
  local properties, order, required = marked.object(), {}, marked.array()
  for i, group in ipairs(groups) do
    local is_typename = group[1].name == "__typename"
    properties[group.key] = is_typename and typename or value_schema(build, group[1].field.type, group)
    order[i] = group.key
    if build.exact and not group.is_optional then
      required[#required + 1] = group.key
    end
  end
  property_order.set(properties, order)
  return { type = "object", properties = properties, required = required[1] and required or nil }
end

local function groups_of(build, items, name)
  local groups = {}
  for _, item in ipairs(items) do
    collect(build, item.selections, name, groups, false)
  end
  return groups
end

local function signature(groups)
  local parts = {}
  for i, group in ipairs(groups) do
    parts[i] = group.key .. " " .. #group .. " " .. tostring(group.is_optional) .. " " .. group[1].name
      .. " " .. tostring(group[1])
  end
  return table.concat(parts, ",")
end

-- A schema for each set of fields that values of the possible types may have.
local function branches_of(build, of, items)
  local branches, by_signature = {}, {}
  for _, name in ipairs(build.schema:possible(of)) do
    local groups = groups_of(build, items, name)
    local text = signature(groups)
    local branch = by_signature[text]
    if not branch then
      branch = { groups = groups, names = marked.array() }
      by_signature[text], branches[#branches + 1] = branch, branch
    end
    table.insert(branch.names, name)
  end
  return branches
end

local function has_fragments(items)
  for _, item in ipairs(items) do
    for _, inner in ipairs(item.selections) do
      if inner.inline or inner.spread then
        return true
      end
    end
  end
  return false
end

local TYPES = 500 -- of a value, told apart in its schema

local string = { type = "string" }

local function composite_schema(build, of, items)
  if not build.exact or not has_fragments(items) or #build.schema:possible(of) > TYPES then
    return object_schema(build, groups_of(build, items), of.kind == "OBJECT" and { const = of.name } or string)
  end
  local list = marked.array()
  for i, branch in ipairs(branches_of(build, of, items)) do
    local names = branch.names
    list[i] = object_schema(build, branch.groups, names[2] and { enum = names } or { const = names[1] })
  end
  return list[2] and { anyOf = list } or list[1] or { type = "object" }
end

-- The schema of a field's value; `items` are the selections of the field.
function value_schema(build, ref, items)
  local made
  if ref.list then
    made = { type = "array", items = value_schema(build, ref.list, items) }
  else
    local of = build.schema:type(ref.name)
    made = schemas.has_fields(of) and composite_schema(build, of, items)
      or inputs.leaf(build.schema, of, build.options)
  end
  return ref.required and made or inputs.nullable(made)
end

--- The schema of a field's value.
---@param schema operations.graphql.Schema
---@param ref operations.graphql.TypeRef  of the field
---@param items operations.graphql.Selection[]  the field itself: its selections are resolved
---@param options { scalars: table? }
---@return any
function outputs.field(schema, ref, items, options)
  return value_schema({ schema = schema, options = options, steps = 0, exact = false }, ref, items)
end

--- The exact schema of the answer to an operation of a document.
---@param schema operations.graphql.Schema
---@param of operations.graphql.Type  the root
---@param selections operations.graphql.Selection[]
---@param options { scalars: table? }
---@return table
function outputs.answer(schema, of, selections, options)
  return composite_schema({ schema = schema, options = options, steps = 0, exact = true }, of,
    { { selections = selections } })
end

return outputs
