--- Visits the schemas inside a schema (JSON Schema 2020-12, and older names of drafts 4 to 7), by keyword.
local core = require("operations.core")
local keywords = require("operations.schema.keywords")
local members = require("operations.base.members")

local walk = {}

local holds = keywords.where(keywords.holds)

-- In older drafts `items` may be an array of schemas.
local function held(key, value)
  return holds[key] == "one" and core.kind(value) == "array" and "many" or holds[key]
end

--- Calls `visit` for a schema and every schema inside it, except booleans.
---@param schema any
---@param visit fun(schema: table)
---@param but? string  a keyword of the outermost schema to skip
function walk.each(schema, visit, but)
  if type(schema) ~= "table" then
    return
  end
  visit(schema)
  for key, value in pairs(schema) do
    local how = key ~= but and type(value) == "table" and held(key, value)
    if how == "one" then
      walk.each(value, visit)
    elseif how == "many" then
      for _, inner in pairs(value) do
        walk.each(inner, visit)
      end
    end
  end
end

--- A copy of a schema with every inner schema copied by `change`. Keeps marks.
---@param schema any
---@param change fun(copy: table, original: table)  may change the members of the copy
---@return any
function walk.copy(schema, change)
  if type(schema) ~= "table" then
    return schema
  end
  local copy = {}
  for key, value in pairs(schema) do
    local how = type(value) == "table" and held(key, value)
    if how == "one" then
      value = walk.copy(value, change)
    elseif how == "many" then
      local inner = members.mark({}, value)
      for name, each in pairs(value) do
        inner[name] = walk.copy(each, change)
      end
      core.property_order[inner] = core.property_order[value]
      value = inner
    end
    copy[key] = value
  end
  change(copy, schema)
  return members.mark(copy, schema)
end

--- Replaces the references of a schema, but not of inner ones: `$ref`, and the targets of a discriminator's mapping.
---@param copy table  changed in place
---@param change fun(ref: string): string
function walk.references(copy, change)
  local ref, discriminator = copy["$ref"], copy.discriminator
  if type(ref) == "string" then
    copy["$ref"] = change(ref)
  end
  if type(discriminator) == "table" and type(discriminator.mapping) == "table" then
    local mapping = {}
    for name, value in pairs(discriminator.mapping) do
      mapping[name] = type(value) == "string" and change(value) or value
    end
    copy.discriminator = members.merged(discriminator, { mapping = mapping })
  end
end

return walk
