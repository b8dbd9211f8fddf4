--- Schemas of servers with flawed keywords: what cannot be checked is not checked, and the rest is.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local keywords = require("operations.schema.keywords")
local members = require("operations.base.members")
local schema = require("operations.schema")

local flawed_schema = {}

-- Members of these are schemas by names, not keywords.
local named = keywords.where(function(row)
  return row.shape == "map" or row.shape == "pattern_map"
end)

-- Less inside of these means more that is refused: they are left out as a whole.
local strict = members.set({ "not", "oneOf", "if" })

-- Keywords that count on others beside them.
local dependents = {
  properties = { "additionalProperties", "unevaluatedProperties" },
  patternProperties = { "additionalProperties", "unevaluatedProperties" },
  items = { "additionalItems", "unevaluatedItems" }, prefixItems = { "items", "unevaluatedItems" },
}

-- Leaves out what a pointer names.
local function leave_out(root, pointer)
  local node, parent, key, is_name = root, nil, nil, false
  for token in pointer:gmatch("/([^/]*)") do
    local name = json_pointer.unescape(token)
    parent, key = node, core.kind(node) == "array" and tonumber(name) + 1 or name
    node = parent[key]
    if not is_name and strict[name] or type(node) ~= "table" then
      break
    end
    is_name = named[name] == true and not is_name
  end
  if not parent or parent[key] == nil then
    return false
  elseif core.kind(parent) == "array" or is_name and not named[key] then
    parent[key] = true -- a schema that accepts anything
    return true
  end
  parent[key] = nil
  for _, other in ipairs(dependents[key] or {}) do
    parent[other] = nil
  end
  return true
end

local ROUNDS = 16

--- A schema without its flawed keywords, and what they are.
---@param value table
---@return table? usable  `value` itself if it has no flaws; nil: nothing of it can be used
---@return string? flaws  for people
function flawed_schema.usable(value)
  local compiled, err = schema.compile(value)
  if compiled then
    return value
  end
  local copy, told = json.decode(assert(json.encode(value, { keep_order = true }))), {}
  for _ = 1, ROUNDS do
    local has_changed = false
    for _, issue in ipairs(type(err.details) == "table" and err.details or {}) do
      told[#told + 1] = ("%s: %s"):format(issue.path, issue.message)
      has_changed = leave_out(copy, issue.path) or has_changed
    end
    if not has_changed then
      return nil, err.message
    end
    compiled, err = schema.compile(copy)
    if compiled then
      return copy, table.concat(told, "; ")
    end
  end
  return nil, err.message
end

return flawed_schema
