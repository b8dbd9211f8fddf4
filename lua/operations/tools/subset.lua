--- Converts a JSON Schema to the subset that a vendor's strict mode accepts, with the plan that converts values of that
--- form back (restore.lua). Keywords that the subset lacks go into descriptions; a value that it cannot describe
--- travels as JSON text.
---
--- A plan is nil where both forms of a value are equal, else one of
---   { kind = "text" }
---   { kind = "object", members = { [offered name] = { key =, plan =, drop =, box =, rest = } } }
---   { kind = "array", items = plan }
---   { kind = "union", branches = { { type =, names =, constants =, plan =, schema = } } }
---   { kind = "ref", definition = { plan = } }
local core = require("operations.core")
local keywords = require("operations.schema.keywords")
local members = require("operations.base.members")
local merge = require("operations.tools.merge")
local offered_schema = require("operations.tools.offered_schema")
local phrase = require("operations.tools.phrase")
local property_order = require("operations.base.property_order")
local references = require("operations.tools.references")
local union = require("operations.tools.union")

local subset = {}

--- The features of a vendor's strict mode.
---@class operations.ToolSubset
---@field all_required boolean  optional properties are required and nullable
---@field references boolean  it has `$defs` and `$ref`; else references are written out
---@field recursion boolean
---@field max_depth integer  of nested objects
---@field typed_enum boolean  `type` beside `enum` and `const`
---@field type_lists boolean  `type` may be a list
---@field nullable boolean  OpenAPI 3.0: `nullable`, types in capitals, `enum` of strings only, `anyOf` alone
---@field closed boolean  objects have `additionalProperties: false`
---@field keywords table<string, string[]>  keywords allowed for each type
---@field formats table<string, true>
---@field key_pattern? string  for property names
---@field keeps? fun(keyword: string, value: any): boolean

-- By the documentation and SDKs of the vendors, November 2026.
local formats = { "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid" }

local ranges = { "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf" }

-- The limits in OpenAI's documentation, "Structured Outputs", for a whole schema.
local openai = {
  all_required = true, references = true, recursion = true, closed = true, typed_enum = true, type_lists = true,
  nullable = false, max_depth = 10, formats = members.set(formats),
  keywords = {
    string = { "pattern", "format" }, number = ranges, integer = ranges, array = { "minItems", "maxItems" },
  },
  max_properties = 5000, max_enum = 1000, max_characters = 120000,
}

local anthropic_formats = members.set(formats)
anthropic_formats.uri = true

-- By lib/transform-json-schema.js of the SDK.
local anthropic = {
  all_required = false, references = true, recursion = false, closed = true, typed_enum = false, type_lists = false,
  nullable = false, max_depth = 64, formats = anthropic_formats,
  keywords = { string = { "format" }, array = { "minItems" } },
  keeps = function(keyword, value)
    return keyword ~= "minItems" or value == 0 or value == 1
  end,
  key_pattern = "^[%w_.-]+$",
}

-- The Schema object of OpenAPI 3.0, `parameters`.
local gemini = {
  all_required = false, references = false, recursion = false, closed = false, typed_enum = true, type_lists = false,
  nullable = true, max_depth = 16, formats = members.set({ "date-time" }),
  keywords = {
    string = { "format" }, number = { "minimum", "maximum" }, integer = { "minimum", "maximum" },
  },
  key_pattern = "^[A-Za-z_][A-Za-z0-9_]*$",
}

---@type table<string, operations.ToolSubset>
subset.strict = { openai = openai, ["openai-responses"] = openai, anthropic = anthropic, gemini = gemini }

--- Restrictions on property names without strict mode.
---@type table<string, string>
subset.key_patterns = { anthropic = anthropic.key_pattern, gemini = gemini.key_pattern }

local MAX_NODES = 5000 -- of a schema, with the references written out that the subset lacks

local scalar = members.set({ "string", "number", "integer", "boolean", "null" })

local node -- (state, schema, depth) -> offered, plan

local function plain(self, schema, kind)
  local caps, offered = self.caps, {}
  for _, key in ipairs(caps.keywords[kind] or {}) do
    local value = schema[key]
    if value ~= nil and (key ~= "format" or caps.formats[value]) and (not caps.keeps or caps.keeps(key, value)) then
      offered[key] = value
    end
  end
  offered.description = phrase.of(schema, offered)
  offered.type = caps.nullable and kind:upper() or kind
  offered.title = not caps.nullable and type(schema.title) == "string" and schema.title or nil
  return offered
end

local function list(self, schema, depth)
  if schema.prefixItems ~= nil or core.kind(schema.items) == "array" and #schema.items > 0 then
    return offered_schema.as_text(self, schema)
  end
  local items, plan = node(self, schema.items, depth)
  local offered = plain(self, schema, "array")
  offered.items = items
  return offered, plan and { kind = "array", items = plan }
end

-- The name under which a property is offered.
local function offered_name(self, key, taken)
  local pattern = self.caps.key_pattern
  local name = key
  if pattern and (#key > 64 or not key:find(pattern)) then
    name = ("p_" .. key:gsub("[^A-Za-z0-9_]", "_")):sub(1, 60)
  end
  local plain_name, n = name, 1
  while taken[name] do
    n = n + 1
    name = plain_name .. "_" .. n
  end
  taken[name] = true
  return name
end

-- A property: its offered schema, and its member of the plan; nil where nothing needs converting.
local function property(self, key, schema, name, required, depth)
  local offered, plan = node(self, schema, depth)
  local member = { key = key, plan = plan }
  if not required and self.caps.all_required then
    if not offered_schema.is_text(plan) and offered_schema.takes_null(self, schema, {}) then
      member.box = true
      offered = offered_schema.with_null(self, { type = "object", properties = { value = offered },
        required = offered_schema.array({ "value" }), additionalProperties = false, description = "null: left out" })
    else
      member.drop = true
      offered = offered_schema.with_null(self, offered)
    end
  end
  return offered, (plan or name ~= key or member.drop or member.box) and member or nil
end

local function is_open(schema)
  local more = schema.additionalProperties
  return more ~= nil and more ~= false
    or type(schema.patternProperties) == "table" and next(schema.patternProperties) ~= nil
end

-- The names of the properties: declared ones, then those that are only required.
local function names_of(schema)
  local properties = type(schema.properties) == "table" and schema.properties or {}
  local names = property_order.names(properties)
  for _, key in ipairs(type(schema.required) == "table" and schema.required or {}) do
    if properties[key] == nil and not members.contains(names, key) then
      names[#names + 1] = key
    end
  end
  return names, properties
end

-- Adds the member that holds undeclared properties as JSON text.
local function add_rest(self, offered, plan, taken, schema)
  local name = offered_name(self, "additional_properties", taken)
  local text = { type = self.caps.nullable and "STRING" or "string", description = phrase.of_text({ type = "object",
    description = "Further members.", additionalProperties = schema.additionalProperties,
    patternProperties = schema.patternProperties }) }
  offered.properties[name] = self.caps.all_required and offered_schema.with_null(self, text) or text
  plan.members[name] = { rest = true, drop = true }
  return name
end

local function object(self, schema, depth, is_root)
  local names, properties = names_of(schema)
  if depth > self.caps.max_depth or not is_root and #names == 0 and schema.additionalProperties ~= false then
    return offered_schema.as_text(self, schema)
  end
  local required = members.set(type(schema.required) == "table" and schema.required or {})
  local offered = plain(self, schema, "object")
  offered.properties, offered.required = setmetatable({}, core.object_mt), offered_schema.array({})
  local plan, taken, order, changes = { kind = "object", members = {}, exact = self.caps.all_required }, {}, {}, false
  for _, key in ipairs(names) do
    local name = offered_name(self, key, taken)
    local value = properties[key]
    value = value == nil and true or value
    order[#order + 1] = name
    offered.properties[name], plan.members[name] = property(self, key, value, name, required[key], depth + 1)
    changes = changes or plan.members[name] ~= nil
    plan.members[name] = plan.members[name] or { key = key }
    if required[key] or self.caps.all_required then
      table.insert(offered.required, name)
    end
  end
  if is_open(schema) then
    order[#order + 1], changes = add_rest(self, offered, plan, taken, schema), true
    if self.caps.all_required then
      table.insert(offered.required, order[#order])
    end
  end
  property_order.set(offered.properties, order)
  offered.required = (offered.required[1] or self.caps.all_required) and offered.required or nil
  if self.caps.closed then
    offered.additionalProperties = false
  end
  return offered, changes and plan or nil
end

local makers = { object = object, array = list }

local function single(self, schema, kind, depth)
  if makers[kind] then
    return makers[kind](self, schema, depth)
  elseif kind == "null" and self.caps.nullable then
    return { type = "NULL" }
  end
  return plain(self, schema, kind)
end

-- The names of the keywords for values of a type.
local for_type = {}

for _, kind in ipairs({ "string", "number", "array", "object" }) do
  for_type[kind] = keywords.where(function(row)
    return row.of and row.of:find(kind, 1, true)
  end)
end
for_type.integer = for_type.number

-- Splits a list of types into branches of one type each, with the keywords of that type.
local function by_type(self, schema, depth)
  local sources, own = {}, { description = schema.description, default = schema.default, title = schema.title }
  for _, kind in ipairs(schema.type) do
    local branch = { type = kind }
    for key in pairs(for_type[kind] or {}) do
      branch[key] = schema[key]
    end
    sources[#sources + 1] = branch
  end
  return union.of(self, own, sources, depth)
end

-- Keeps a list of scalar types, if the subset allows it.
local function scalars(self, schema)
  local offered = { type = offered_schema.array({}), title = schema.title }
  for _, kind in ipairs(schema.type) do
    if not scalar[kind] then
      return nil
    end
    table.insert(offered.type, kind)
    for _, key in ipairs(self.caps.keywords[kind] or {}) do
      local value = schema[key]
      offered[key] = value ~= nil and (key ~= "format" or self.caps.formats[value]) and value or offered[key]
    end
  end
  offered.description = phrase.of(schema, offered)
  return offered
end

local type_names = { string = "string", boolean = "boolean", number = "number", userdata = "null" }

local function type_of(value)
  if value == core.null then
    return "null"
  elseif type(value) == "number" and value % 1 == 0 then
    return "integer"
  end
  return type_names[type(value)]
end

-- The values of an `enum` or `const`: scalars only, others travel as JSON text.
local function literal(self, schema)
  local caps = self.caps
  local values = schema.const ~= nil and { schema.const } or schema.enum
  local types, seen, nullable = offered_schema.array({}), {}, false
  for _, value in ipairs(values) do
    local kind = type_of(value)
    if not kind then
      return offered_schema.as_text(self, schema)
    end
    nullable = nullable or kind == "null"
    types[#types + 1] = not seen[kind] and kind or nil
    seen[kind] = true
  end
  if not types[1] then
    return offered_schema.as_text(self, schema)
  elseif caps.nullable then
    if #types > (nullable and 2 or 1) or not seen.string then
      local kind = types[1] == "null" and types[2] or types[1]
      return { type = kind == "null" and "STRING" or kind:upper(), nullable = nullable or nil,
        description = phrase.of(schema, { type = true }) }
    end
    local texts = offered_schema.array({})
    for _, value in ipairs(values) do
      texts[#texts + 1] = value ~= core.null and value or nil
    end
    return { type = "STRING", enum = texts, nullable = nullable or nil,
      description = phrase.of(schema, { enum = true, const = true }) }
  end
  local offered = { description = phrase.of(schema, { enum = true, const = true }), title = schema.title }
  if schema.const ~= nil and schema.const ~= core.null then
    offered.const = schema.const
  else
    local copy = offered_schema.array({})
    for i, value in ipairs(values) do
      copy[i] = value
    end
    offered.enum = copy
  end
  if caps.typed_enum then
    offered.type = #types == 1 and types[1] or types
  end
  return offered
end

-- Does every branch have a type?
local function are_typed(branches)
  for _, branch in ipairs(branches) do
    if type(branch) ~= "table" or not (branch.type or branch["$ref"] or branch.enum or branch.const ~= nil
      or branch.anyOf or branch.oneOf or branch.allOf or branch.properties) then
      return false
    end
  end
  return #branches > 0
end

local function compound(self, schema, depth)
  local branches = schema.anyOf or schema.oneOf
  if type(branches) == "table" and not schema.properties and are_typed(branches) then
    return union.of(self, schema, branches, depth)
  elseif type(schema.type) == "table" then
    if #schema.type == 1 then
      return single(self, schema, schema.type[1], depth)
    end
    local offered = self.caps.type_lists and scalars(self, schema)
    if offered then
      return offered
    end
    return by_type(self, schema, depth)
  end
  local kind = schema.type or schema.properties and "object" or schema.items and "array"
  if type(kind) ~= "string" then
    return offered_schema.as_text(self, schema)
  end
  return single(self, schema, kind, depth)
end

function node(self, schema, depth)
  self.nodes = self.nodes + 1
  if type(schema) ~= "table" or depth > 64 or self.nodes > MAX_NODES then
    return offered_schema.as_text(self, schema)
  end
  local offered, plan = references.of(self, schema, depth)
  if offered then
    return offered, plan
  elseif schema["$ref"] ~= nil or schema.allOf ~= nil then
    local whole = merge.one(schema, self.definitions)
    if whole then
      return node(self, whole, depth + 1)
    end
    return offered_schema.as_text(self, schema)
  elseif schema.const ~= nil or type(schema.enum) == "table" then
    return literal(self, schema)
  end
  return compound(self, schema, depth)
end

--- Makes the strict form of the schema of an object.
---@param root table  an object without `$ref` and `allOf` at its top
---@param given table<string, any>  definitions by name
---@param caps operations.ToolSubset
---@return table? offered  nil: it has too many nodes with its references written out
---@return table? plan
function subset.of(root, given, caps)
  local texts = {}
  while true do -- again for each definition that turns out to be text: the number is finite
    local self = { caps = caps, definitions = given, made = {}, used = {}, texts = texts, again = false, node = node,
      nodes = 0 }
    local offered, plan = object(self, root, 1, true)
    if self.nodes > MAX_NODES then
      return nil
    elseif not self.again then
      offered["$defs"] = references.used(self)
      return offered, plan
    end
  end
end

return subset
