--- Building blocks of strict schemas: a value as JSON text, and a schema that also accepts null.
local compat = require("operations.base.compat")
local core = require("operations.core")
local members = require("operations.base.members")
local merge = require("operations.tools.merge")
local phrase = require("operations.tools.phrase")

local offered_schema = {}

local scalar = members.set({ "string", "number", "integer", "boolean", "null" })
local TEXT = { kind = "text" }

function offered_schema.array(list)
  return setmetatable(list, core.array_mt)
end

function offered_schema.as_text(self, schema)
  return { type = self.caps.nullable and "STRING" or "string", description = phrase.of_text(schema) }, TEXT
end

function offered_schema.is_text(plan)
  return plan ~= nil and (plan.kind == "text" or plan.kind == "ref" and plan.definition.text == true)
end

function offered_schema.is_null(offered)
  return offered.type == "null" or offered.type == "NULL"
end

-- Adds null.
function offered_schema.with_null(self, offered)
  local caps = self.caps
  if caps.nullable then
    if offered.anyOf then
      for i, branch in ipairs(offered.anyOf) do
        offered.anyOf[i] = members.merged(branch, { nullable = true })
      end
      return offered
    end
    return members.merged(offered, { nullable = true })
  elseif offered.anyOf then
    for _, branch in ipairs(offered.anyOf) do
      if offered_schema.is_null(branch) then
        return offered
      end
    end
    table.insert(offered.anyOf, { type = "null" })
    return offered
  elseif caps.type_lists and not offered.enum and offered.const == nil then
    local types = type(offered.type) == "table" and offered.type or { offered.type }
    if members.contains(types, "null") then
      return offered
    elseif scalar[types[1]] then
      return members.merged(offered, { type = offered_schema.array({ "null", compat.unpack(types) }) })
    end
  elseif members.contains(offered.enum, core.null) then
    return offered
  end
  local description = offered.description
  local bare = members.copy(offered)
  bare.description = nil
  return { anyOf = offered_schema.array({ bare, { type = "null" } }), description = description }
end

-- Does the schema accept null? `seen` has the branches that were asked: those that do not, or lead back to themselves.
function offered_schema.takes_null(self, schema, seen)
  if type(schema) ~= "table" or seen[schema] then
    return schema == true
  end
  seen[schema] = true
  local whole = merge.one(schema, self.definitions)
  if not whole then
    return true
  elseif whole.const ~= nil then
    return whole.const == core.null
  elseif type(whole.enum) == "table" then
    return members.contains(whole.enum, core.null)
  elseif whole.type ~= nil then
    return whole.type == "null" or type(whole.type) == "table" and members.contains(whole.type, "null")
  end
  local union = whole.anyOf or whole.oneOf
  if type(union) ~= "table" then
    return true
  end
  for _, branch in ipairs(union) do
    if offered_schema.takes_null(self, branch, seen) then
      return true
    end
  end
  return false
end

return offered_schema
