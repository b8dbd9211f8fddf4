--- Selects fields of a type where the caller selects none: its leaves.
local connection = require("operations.graphql.connection")
local limits = require("operations.base.limits")
local printer = require("operations.graphql.printer")
local schemas = require("operations.graphql.schema")

local default = {}

-- Taken first where a type has more leaves than may be selected.
local preferred = {}
for place, name in ipairs({ "id", "name", "title", "login", "slug", "key", "number", "url", "state", "status", "type",
  "description", "message", "createdAt", "updatedAt" }) do
  preferred[name] = place
end

-- Can a field be selected without arguments?
local function is_free(field)
  for _, argument in ipairs(field.arguments) do
    if argument.type.required and not argument.default then
      return false
    end
  end
  return true
end

local function fields_of(build, of, with_fields)
  local list = {}
  for _, field in ipairs(of.fields or {}) do
    if is_free(field) and not field.deprecated
      and schemas.has_fields(build.schema:named(field.type)) == with_fields then
      list[#list + 1] = field
    end
  end
  return list
end

-- The first so many of a list of fields, those with preferred names before others.
local function first(list, count)
  if #list <= count then
    return list
  end
  local places = {}
  for i, field in ipairs(list) do
    places[field] = preferred[field.name] or #preferred + 100 + i
  end
  table.sort(list, function(a, b)
    return places[a] < places[b]
  end)
  for i = #list, count + 1, -1 do
    list[i] = nil
  end
  return list
end

-- Adds leaves of a type. `taken`, of an interface or a union, has the types of what is selected, by key, and its `own`
-- fields: where another type has the key, too, the field gets an alias.
local function add_leaves(build, fields, into, count, taken)
  for _, field in ipairs(first(fields, math.min(count, build.left))) do
    local text = printer.type(field.type)
    local known = taken and taken[field.name]
    local key = known and known ~= text and field.name .. "_" .. taken.type or field.name
    if not taken or taken[key] == nil or taken[key] == text then
      into[#into + 1] = { name = field.name, alias = key ~= field.name and key or nil }
      build.left = build.left - 1
    end
    if taken then
      taken[key] = taken[key] or text
    end
  end
end

local FEW = 3 -- leaves for each of the types of a union; of larger unions those with preferred names are taken

local function add_fragments(build, of, into, taken)
  local possible = build.schema:possible(of)
  local share = math.max(1, math.floor(build.left / math.max(1, #possible)))
  for _, name in ipairs((share >= FEW or of.kind == "UNION") and possible or {}) do
    local fields, inner = {}, {}
    for _, field in ipairs(fields_of(build, build.schema:type(name), false)) do
      if not taken.own[field.name] and (share >= FEW or preferred[field.name]) then
        fields[#fields + 1] = field
      end
    end
    taken.type = name
    add_leaves(build, fields, inner, share, taken)
    into[#into + 1] = inner[1] and { inline = true, on = name, selections = inner } or nil
  end
end

local function add_abstract(build, of, into)
  local taken = { own = {} }
  into[1] = { name = "__typename" }
  add_leaves(build, fields_of(build, of, false), into, build.left, taken)
  for _, field in ipairs(of.fields or {}) do
    taken.own[field.name] = true
  end
  add_fragments(build, of, into, taken)
end

local object

-- Adds a field with what is selected of its type by default.
local function add_object(build, field, into)
  local inner = build.left > 0 and object(build, build.schema:named(field.type), false)
  if inner then
    into[#into + 1] = { name = field.name, selections = inner }
  end
end

local function add_field(build, of, name, into)
  local field = schemas.field(of, name)
  if field and is_free(field) and schemas.has_fields(build.schema:named(field.type)) then
    add_object(build, field, into)
    return true
  end
  return false
end

local function add_connection(build, of, into)
  add_field(build, of, "pageInfo", into)
  add_leaves(build, fields_of(build, of, false), into, build.left)
  if not add_field(build, of, "nodes", into) then
    local edges = schemas.field(of, "edges")
    local edge, inner = edges and is_free(edges) and build.schema:named(edges.type), {}
    if edge and add_field(build, edge, "node", inner) then
      into[#into + 1] = { name = "edges", selections = inner }
    end
  end
end

-- Adds the fields that have fields, those that tell of errors first.
local function add_objects(build, of, into)
  local rest = {}
  for _, field in ipairs(fields_of(build, of, true)) do
    if field.name:find("[eE]rrors?$") then
      add_object(build, field, into)
    else
      rest[#rest + 1] = field
    end
  end
  for _, field in ipairs(rest) do
    add_object(build, field, into)
  end
end

-- The selections of a type; `with_objects`: one level into its fields as well. Without leaves that is done unless it is
-- a level itself (false).
function object(build, of, with_objects)
  local into = {}
  if of.kind ~= "OBJECT" then
    add_abstract(build, of, into)
  elseif connection.is(build.schema, of) then
    add_connection(build, of, into)
  else
    add_leaves(build, fields_of(build, of, false), into, build.left)
    if with_objects or with_objects == nil and not into[1] then
      add_objects(build, of, into)
    end
  end
  return into[1] and into or { { name = "__typename" } }
end

--- Selects the leaves of a type: of a connection those of its nodes, of a mutation's payload also those one level down,
--- of interfaces and unions those of every type. Never a field that requires arguments, or a deprecated one.
---@param schema operations.graphql.Schema
---@param of operations.graphql.Type
---@param is_payload boolean
---@param most? integer  leaves
---@return operations.graphql.Selection[]
function default.selections(schema, of, is_payload, most)
  return object({ schema = schema, left = most or limits.graphql_leaves }, of, is_payload or nil)
end

return default
