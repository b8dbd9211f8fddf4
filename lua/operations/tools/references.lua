--- References in a subset: `$ref` where it has them, else the definition written out. A definition may turn out to be
--- JSON text when others assumed already that it is not; then all is made again.
local core = require("operations.core")
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")
local merge = require("operations.tools.merge")
local offered_schema = require("operations.tools.offered_schema")

local references = {}

local function refer(self, name)
  self.used[name] = true
  return { ["$ref"] = "#/$defs/" .. json_pointer.escape(name) }
end

local function definition_of(self, name, depth)
  local made = self.made[name]
  if not made then
    made = { busy = true }
    self.made[name] = made
    made.offered, made.plan = self.node(self, self.definitions[name], depth)
    made.busy, made.text = false, offered_schema.is_text(made.plan) or nil
    -- Its users so far assumed that it is not text.
    self.again = self.again or made.text and made.assumed and not self.texts[name]
    self.texts[name] = made.text or self.texts[name]
  end
  return made
end

local function reference(self, schema, name, depth)
  if self.texts[name] or self.caps.max_depth < depth then
    return offered_schema.as_text(self, self.definitions[name])
  end
  local known = self.made[name]
  if known and known.busy then
    if not self.caps.recursion then
      return offered_schema.as_text(self, schema)
    end
    known.assumed = true
    return refer(self, name), { kind = "ref", definition = known }
  elseif not self.caps.references then
    self.made[name] = { busy = true }
    local offered, plan = self.node(self, self.definitions[name], depth)
    self.made[name] = nil
    return offered, plan
  end
  local made = definition_of(self, name, depth)
  if made.text then
    return offered_schema.as_text(self, self.definitions[name])
  end
  return refer(self, name), made.plan and { kind = "ref", definition = made } or nil
end

-- Is it this keyword with nothing but annotations?
local function is_only(schema, keyword)
  for key in pairs(schema) do
    if key ~= keyword and not merge.is_annotation(key) then
      return false
    end
  end
  return schema[keyword] ~= nil
end

-- The definition that a schema is, but for annotations: by `$ref`, or by `allOf` with one `$ref`, as OpenAPI 3.0 needs
-- it for a description.
local function definition_name(self, schema)
  local all = is_only(schema, "allOf") and core.kind(schema.allOf) == "array" and #schema.allOf == 1 and schema.allOf[1]
  local referring = type(all) == "table" and all or schema
  local name = is_only(referring, "$ref") and merge.name_of(referring["$ref"])
  if name and self.definitions[name] ~= nil then
    return name, schema.description or referring.description
  end
end

--- Offers a schema that stands for a definition, with annotations at most; nil for another one.
---@param self table  the state of subset.lua
---@param schema table
---@param depth integer
---@return table? offered
---@return table? plan
function references.of(self, schema, depth)
  local name, description = definition_name(self, schema)
  if not name then
    return nil
  end
  local offered, plan = reference(self, schema, name, depth)
  if type(description) == "string" and offered["$ref"] then
    offered = { anyOf = offered_schema.array({ offered }), description = description }
  elseif type(description) == "string" then
    offered = members.merged(offered, { description = offered.description and description .. " "
      .. offered.description or description })
  end
  return offered, plan
end

--- The definitions that are referred to, directly or from other ones.
---@param self table  the state of subset.lua
---@return table<string, table>? offered  by name
function references.used(self)
  local kept
  for name in pairs(self.used) do
    kept = kept or {}
    kept[name] = self.made[name].offered
  end
  return kept
end

return references
