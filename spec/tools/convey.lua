--- The other way of restore.lua: what a model would send for an input, in the form of a strict schema.
local core = require("operations.core")
local json = require("operations.base.json")
local schemas = require("operations.schema")

local convey = {}

local value_of

local function text(value)
  return assert(json.encode(value, { sort_keys = true }))
end

local function accepts(schema, value, definitions)
  if type(schema) == "boolean" then
    return schema
  end
  return (assert(schemas.compile({ allOf = { schema }, ["$defs"] = definitions }, { formats = true })):check(value))
end

local function object(plan, value, definitions)
  local result, used, names = setmetatable({}, core.object_mt), {}, {}
  for name, member in pairs(plan.members) do
    if member.rest then
      names.rest = name
    else
      names[member] = name
      used[member.key] = true
      local item = value[member.key]
      if item ~= nil then
        item = value_of(member.plan, item, definitions)
        result[name] = member.box and { value = item } or item
      elseif plan.exact then
        result[name] = core.null
      end
    end
  end
  local rest
  for key, item in pairs(value) do
    if not used[key] and not names.rest then
      result[key] = item
    elseif not used[key] then
      rest = rest or {}
      rest[key] = item
    end
  end
  if names.rest and rest then
    result[names.rest] = text(rest)
  elseif names.rest and plan.exact then
    result[names.rest] = core.null
  end
  return result
end

local function array(plan, value, definitions)
  local result = setmetatable({}, core.array_mt)
  for i, item in ipairs(value) do
    result[i] = value_of(plan.items, item, definitions)
  end
  return result
end

local function union(plan, value, definitions)
  for _, branch in ipairs(plan.branches) do
    if accepts(branch.schema, value, definitions) then
      return value_of(branch.plan, value, definitions)
    end
  end
  return value
end

function value_of(plan, value, definitions)
  if not plan then
    return value
  elseif plan.kind == "text" then
    return text(value)
  elseif plan.kind == "ref" then
    return value_of(plan.definition.plan, value, definitions)
  elseif plan.kind == "union" then
    return union(plan, value, definitions)
  elseif core.kind(value) ~= plan.kind then
    return value
  end
  return (plan.kind == "object" and object or array)(plan, value, definitions)
end

--- The arguments that a model would send.
---@param made operations.ToolParameters
---@param input any
---@param definitions table
---@return table
function convey.arguments(made, input, definitions)
  local value = made.wrapped and { input = input } or input
  return value_of(made.plan, value, definitions)
end

return convey
