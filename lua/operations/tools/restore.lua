--- Converts a model's value in the form of a subset to a value of the original schema, by the plan (subset.lua). Values
--- that do not match the plan are kept: the original schema validates them.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")

local restore = {}

local value_of -- (plan, value, path, issues) -> value

local function text(value, path, issues)
  if type(value) ~= "string" then
    return value
  end
  local decoded, err = json.decode(value)
  if decoded == nil then
    issues[#issues + 1] = { path = path, keyword = "type",
      message = "JSON text expected, such as \"{\\\"a\\\": 1}\": " .. err.message }
    return value
  end
  return decoded
end

-- Adds the members sent as JSON text, except those that exist already.
local function add_rest(result, value, path, issues)
  local more = text(value, path, issues)
  if core.kind(more) ~= "object" then
    return
  end
  for key, item in pairs(more) do
    if result[key] == nil then
      result[key] = item
    end
  end
end

local function object(plan, value, path, issues)
  if core.kind(value) ~= "object" then
    return value
  end
  local result = {}
  for name, item in pairs(value) do
    local member = plan.members[name]
    local left_out = member and (member.rest or item == core.null and (member.drop or member.box))
    if not member then
      result[name] = item
    elseif not left_out then
      local below = path .. "/" .. json_pointer.escape(member.key)
      if member.box and type(item) == "table" and item.value ~= nil then
        item = item.value
      end
      result[member.key] = value_of(member.plan, item, below, issues)
    end
  end
  for name, member in pairs(plan.members) do
    if member.rest and value[name] ~= nil and value[name] ~= core.null then
      add_rest(result, value[name], path .. "/" .. name, issues)
    end
  end
  return next(result) == nil and setmetatable(result, core.object_mt) or result
end

local function array(plan, value, path, issues)
  if core.kind(value) ~= "array" then
    return value
  end
  local result = setmetatable({}, core.array_mt)
  for i, item in ipairs(value) do
    result[i] = value_of(plan.items, item, path .. "/" .. i - 1, issues)
  end
  return result
end

-- Has the value exactly the names of the branch?
local function has_names(value, branch, lenient)
  for name, only in pairs(branch.constants) do
    if value[name] ~= only then
      return false
    end
  end
  for name in pairs(value) do
    if not branch.names[name] then
      return lenient
    end
  end
  for name in pairs(branch.names) do
    if value[name] == nil then
      return lenient
    end
  end
  return true
end

local function branch_of(plan, value)
  local kind = core.kind(value)
  for _, lenient in ipairs({ false, true }) do
    for _, branch in ipairs(plan.branches) do
      if branch.type == "union" -- all others are scalars
        or branch.type == kind and (kind ~= "object" or not branch.names or has_names(value, branch, lenient)) then
        return branch
      end
    end
  end
end

local function union(plan, value, path, issues)
  local branch = type(value) == "table" and branch_of(plan, value)
  return branch and value_of(branch.plan, value, path, issues) or value
end

local function ref(plan, value, path, issues)
  return value_of(plan.definition.plan, value, path, issues)
end

local makers = { object = object, array = array, union = union, ref = ref }

function value_of(plan, value, path, issues)
  if not plan then
    return value
  elseif plan.kind == "text" then
    return text(value, path, issues)
  end
  return makers[plan.kind](plan, value, path, issues)
end

--- The input for a model's value.
---@param plan table?
---@param value any
---@return any input
---@return table[] issues  { path, keyword, message }: invalid JSON texts
function restore.value(plan, value)
  local issues = {}
  return value_of(plan, value, "", issues), issues
end

return restore
