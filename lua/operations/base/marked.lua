--- Marks of arrays, objects and null. The marks of lua-cjson (which are ours, where it has them) and of Neovim are
--- understood. An empty Lua table is ambiguous: where a schema says that it is an array, a copy of it is marked before
--- it is written as JSON.
local argument = require("operations.base.argument")
local core = require("operations.core")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local runtime = require("operations.base.runtime")

local marked = {}

local function adopt_cjson(cjson)
  if type(cjson.array_mt) == "table" then
    core.set_array_mt(cjson.array_mt)
    core.array_mt = cjson.array_mt
  end
  if type(cjson.empty_array_mt) == "table" then
    core.add_mark(cjson.empty_array_mt, "array")
  end
end

local function adopt_vim(vim)
  core.set_foreign_null(vim.NIL)
  core.add_mark(getmetatable(vim.empty_dict()), "object")
end

local loaded, cjson = runtime.optional("cjson")
if loaded and type(cjson) == "table" then
  adopt_cjson(cjson)
end
local vim = rawget(_G, "vim")
if type(vim) == "table" and vim.NIL ~= nil and vim.empty_dict then
  adopt_vim(vim)
end

--- Marks a table as an array, so that it stays one when it is empty. Returns the same table.
---@param t? table
---@return table
function marked.array(t)
  if t == nil then
    return setmetatable({}, core.array_mt)
  end
  argument.expect(t, "table", 1, "array")
  return setmetatable(t, core.array_mt)
end

--- Marks a table as an object, whatever its keys. Returns the same table.
---@param t? table
---@return table
function marked.object(t)
  if t == nil then
    return setmetatable({}, core.object_mt)
  end
  argument.expect(t, "table", 1, "object")
  return setmetatable(t, core.object_mt)
end

-- The most references followed from one place: enough for any chain, and it ends cycles.
local MAX_REFS = 64

local function resolve(schema, root)
  for _ = 1, MAX_REFS do
    local ref = type(schema) == "table" and schema["$ref"]
    if not ref or schema.type then
      return schema
    end
    schema = root["$defs"] and root["$defs"][ref:match("^#/%$defs/(.+)$")]
  end
  return nil
end

local function has_type(schema, wanted)
  return schema.type == wanted or type(schema.type) == "table" and members.contains(schema.type, wanted)
end

local branches = { "allOf", "anyOf", "oneOf" }

-- The first result that is not nil of `wanted` for a schema and its branches, each of which is asked once.
local function find(schema, root, wanted, seen)
  schema = resolve(schema, root)
  if type(schema) ~= "table" or seen and seen[schema] then
    return nil
  end
  local found = wanted(schema)
  for _, key in ipairs(branches) do
    for _, branch in ipairs(found == nil and type(schema[key]) == "table" and schema[key] or {}) do
      seen = seen or {}
      seen[schema] = true
      found = find(branch, root, wanted, seen)
      if found ~= nil then
        return found
      end
    end
  end
  return found
end

local function wants_array(schema)
  if has_type(schema, "array") then
    return true
  elseif has_type(schema, "object") or schema.properties then
    return false
  end
end

local function items_of(schema)
  if type(schema.items) == "table" then
    return schema.items
  end
end

local function property_of(key)
  return function(schema)
    local property = type(schema.properties) == "table" and schema.properties[key]
    if type(property) == "table" then
      return property
    elseif type(schema.additionalProperties) == "table" then
      return schema.additionalProperties
    end
  end
end

--- The first result that is not nil of a function for a schema, behind its `$ref`s, and its branches.
---@param schema any
---@param root any  the schema that its `$ref`s are relative to
---@param wanted fun(schema: table): any
---@return any
function marked.first(schema, root, wanted)
  return find(schema, root, wanted)
end

--- The schema of a member of an object, or of the items of an array; nil if it is not known.
---@param schema any
---@param root any  the schema that its `$ref`s are relative to
---@param key any  a number for items
---@return any
function marked.part(schema, root, key)
  return find(schema, root, type(key) == "number" and items_of or property_of(key))
end

--- In a schema of schemas: a value here is described by the schema that it stands in, as that of `default` is.
marked.BESIDE = {}

local mark

--- Copies `value` once a member of it changes. `child(key)` returns the schema of a member and, if it is not `root`,
--- the schema that its `$ref`s are relative to.
local function mark_members(value, child, root, depth)
  local copy
  for key, item in pairs(value) do
    local new = item
    if type(item) == "table" then
      local schema, other_root = child(key)
      new = mark(item, schema, other_root or root, depth + 1)
    end
    if new ~= item then
      copy = copy or property_order.carry(members.copy(value), value)
      copy[key] = new
    end
  end
  return copy or value
end

function mark(value, schema, root, depth)
  if schema == nil or depth > 512 then
    return value
  elseif next(value) == nil then
    local is_bare = getmetatable(value) == nil
    return is_bare and find(schema, root, wants_array) and setmetatable({}, core.array_mt) or value
  elseif core.kind(value) == "array" then
    local items = find(schema, root, items_of)
    return mark_members(value, function()
      return items
    end, root, depth)
  end
  return mark_members(value, function(key)
    local member = find(schema, root, property_of(key))
    if member == marked.BESIDE then
      return value, value
    end
    return member
  end, root, depth)
end

-- Has it members, none of which is a table?
local function is_flat(value)
  for _, item in next, value do
    if type(item) == "table" then
      return false
    end
  end
  return next(value) ~= nil
end

--- Can a value of this schema need marks? False when the schema has no arrays.
---@param schema any
---@return boolean
function marked.concerns(schema)
  if type(schema) ~= "table" then
    return schema == "array"
  end
  for _, part in pairs(schema) do
    if marked.concerns(part) then
      return true
    end
  end
  return false
end

--- Is the value an array, or an empty table that is not marked as an object?
---@param value any
---@return boolean
function marked.may_be_list(value)
  return type(value) == "table"
    and (core.kind(value) == "array" or next(value) == nil and getmetatable(value) == nil)
end

--- Marks the empty arrays within a value.
---@param value any
---@param schema any  JSON Schema of the value
---@param root table  the schema that its `$ref`s are relative to
---@return any  `value` itself when nothing is marked
function marked.value(value, schema, root)
  if type(value) ~= "table" or type(schema) ~= "table" or is_flat(value) then
    return value
  end
  return mark(value, schema, root, 0)
end

-- Adds the known order of a schema's properties to a list of names.
local function add_order(names)
  return function(schema)
    for _, name in ipairs(type(schema.properties) == "table" and core.property_order[schema.properties] or {}) do
      names[#names + 1] = name
    end
  end
end

-- The known order of a schema's properties, found once; false: there is none.
local orders = setmetatable({}, { __mode = "k" })

-- Of a list that was stored for a value here: the order that the value had, or false. Its next schema starts from that.
local origins = setmetatable({}, { __mode = "k" })

local function order_of(schema, root)
  local known = orders[schema]
  if known == nil then
    local names = {}
    find(schema, root, add_order(names))
    known = names[1] ~= nil and names
    orders[schema], origins[names] = known, false
  end
  return known
end

-- A list of names, and then those of another list that are not among them.
local function followed(names, others)
  local all, seen = members.joined(names), members.set(names)
  for _, name in ipairs(others) do
    all[#all + 1] = not seen[name] and name or nil
  end
  origins[all] = others
  return all
end

local function order(value, schema, root, depth)
  if type(schema) ~= "table" or depth > 512 or next(value) == nil then
    return
  elseif core.kind(value) == "array" then
    local items = find(schema, root, items_of)
    for _, item in ipairs(items and value or {}) do
      if type(item) == "table" then
        order(item, items, root, depth + 1)
      end
    end
    return
  end
  local names, current = order_of(schema, root), core.property_order[value]
  local own = current and origins[current]
  if own == nil then
    own = current
  end
  local wanted = names and own and followed(names, own) or names or own or nil
  if wanted ~= current then
    core.property_order[value] = wanted
  end
  for key, item in next, value do
    if type(item) == "table" then
      order(item, find(schema, root, property_of(key)), root, depth + 1)
    end
  end
end

--- Stores the order in which the members of a value's objects are written (`json.encode` with `keep_order`): that of
--- their schemas' properties, then the one that they have.
---@param value any
---@param schema any  JSON Schema of the value
---@param root table  the schema that its `$ref`s are relative to
function marked.order(value, schema, root)
  if type(value) == "table" and type(schema) == "table" then
    order(value, schema, root, 0)
  end
end

return marked
