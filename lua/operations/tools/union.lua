--- Unions in a subset. A value must show which branch it belongs to, if converting it back depends on that; otherwise
--- the union travels as JSON text.
local members = require("operations.base.members")
local merge = require("operations.tools.merge")
local offered_schema = require("operations.tools.offered_schema")
local phrase = require("operations.tools.phrase")

local union = {}

local scalar = members.set({ "string", "number", "integer", "boolean", "null" })

-- The shape of the values of an offered schema: their types, and for objects the members.
local function shape_of(self, offered, depth)
  local name = merge.name_of(offered["$ref"])
  if name then
    local made = self.made[name]
    return made.offered and depth < 8 and shape_of(self, made.offered, depth + 1) or { type = "object" }
  end
  local kind = offered.type
  if type(kind) == "string" then
    kind = kind:lower()
    kind = scalar[kind] and "scalar" or kind
  else
    kind = offered.anyOf and "union" or "scalar"
  end
  local shape = { type = kind }
  if kind == "object" then
    shape.names, shape.constants = {}, {}
    for key, property in pairs(offered.properties) do
      shape.names[key] = true
      local only = property.const
      if only == nil and type(property.enum) == "table" and #property.enum == 1 then
        only = property.enum[1]
      end
      shape.constants[key] = only
    end
  end
  return shape
end

local function are_apart(self, a, b)
  if a.type == "scalar" or b.type == "scalar" then
    return true
  elseif a.type == "union" or b.type == "union" then -- a reference to one, whose branches are not compared
    return false
  elseif a.type ~= b.type then
    return true
  elseif not a.names or not b.names then -- two lists, or a reference whose target is not made yet
    return false
  end
  for key, value in pairs(a.constants) do
    if b.constants[key] ~= nil and b.constants[key] ~= value then
      return true
    end
  end
  if not self.caps.all_required then
    return false
  end
  for key in pairs(members.merged(a.names, b.names)) do
    if not a.names[key] or not b.names[key] then
      return true
    end
  end
  return false
end

-- Does a value show its branch? True also when no plan changes anything.
local function is_clear(self, branches)
  for i, one in ipairs(branches) do
    for j = i + 1, #branches do
      if (one.plan or branches[j].plan) and not are_apart(self, one, branches[j]) then
        return false
      end
    end
  end
  return true
end

local function any_plan(branches)
  for _, branch in ipairs(branches) do
    if branch.plan then
      return true
    end
  end
  return false
end

-- Moves the description of a union to its first branch where a union cannot have one.
local function finish_union(self, schema, list, nullable)
  if #list == 1 then
    local only = list[1]
    local description = phrase.of(schema, { anyOf = true, oneOf = true })
    if description and only["$ref"] then
      only = { anyOf = offered_schema.array({ only }), description = description }
    elseif description then
      only = members.merged(only, { description = only.description and description .. " " .. only.description
        or description })
    end
    return nullable and offered_schema.with_null(self, only) or only
  end
  local offered = { description = phrase.of(schema, { anyOf = true, oneOf = true }) }
  offered.anyOf = offered_schema.array(list)
  if self.caps.nullable and offered.description then
    list[1] = members.merged(list[1], {
      description = list[1].description and offered.description .. " " .. list[1].description or offered.description })
    offered.description = nil
  end
  return nullable and offered_schema.with_null(self, offered) or offered
end

--- Offers a union of schemas.
---@param self table  the state of subset.lua
---@param schema table  the schema with the union, for its description
---@param sources table[]
---@param depth integer
---@return table offered
---@return table? plan
function union.of(self, schema, sources, depth)
  local list, branches, nullable = {}, {}, false
  for _, source in ipairs(sources) do
    local offered, plan = self.node(self, source, depth)
    if offered_schema.is_text(plan) then
      return offered_schema.as_text(self, schema)
    end
    local inner = plan and plan.kind == "union" and plan.branches
    for _, one in ipairs(offered.anyOf or { offered }) do -- a nested union becomes part of this one
      if offered_schema.is_null(one) then
        nullable = true
      else
        list[#list + 1] = one
        branches[#branches + 1] = inner and table.remove(inner, 1)
          or members.merged(shape_of(self, one, 0), { plan = plan, schema = source })
      end
    end
  end
  if #list == 0 then
    return { type = self.caps.nullable and "STRING" or "null", nullable = self.caps.nullable or nil }
  elseif not is_clear(self, branches) then
    return offered_schema.as_text(self, schema)
  end
  local plan = any_plan(branches) and { kind = "union", branches = branches, definitions = self.definitions } or nil
  return finish_union(self, schema, list, nullable), plan
end

return union
