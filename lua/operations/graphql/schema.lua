--- The types of a GraphQL service, each read when it is first asked for: GitHub has 1,600 of them, and a call needs a
--- few. `sdl.lua` and `result.lua` are the readers.
local lexer = require("operations.graphql.lexer")
local members = require("operations.base.members")
local suggestion = require("operations.base.suggestion")

local schema = {}

---@class operations.graphql.Type
---@field kind "SCALAR"|"OBJECT"|"INTERFACE"|"UNION"|"ENUM"|"INPUT_OBJECT"
---@field name string
---@field description? string
---@field fields? operations.graphql.Field[]  of objects and interfaces, in their order
---@field by_name? table<string, operations.graphql.Field>
---@field inputs? operations.graphql.Input[]  of input objects
---@field values? { name: string, description: string?, deprecated: string? }[]  of enums
---@field one_of? boolean  exactly one of the inputs is given
---@field specified_by? string  URL of a scalar's specification
---@field problems? string[]  of fields that are left out

---@class operations.graphql.Field
---@field name string
---@field description? string
---@field type operations.graphql.TypeRef
---@field arguments operations.graphql.Input[]
---@field deprecated? string  the reason

---@class operations.graphql.Input  an argument, or a field of an input object
---@field name string
---@field description? string
---@field type operations.graphql.TypeRef
---@field default? operations.graphql.Value
---@field deprecated? string

--- What reads types.
---@class operations.graphql.Reader
---@field roots { query: string?, mutation: string?, subscription: string? }
---@field read fun(name: string): operations.graphql.Type?  raises when the definition is broken
---@field possible fun(name: string): string[]?  the object types of a union or an interface
---@field names fun(): string[]

---@class operations.graphql.Schema
---@field roots { query: string?, mutation: string?, subscription: string? }
local Schema = {}
Schema.__index = Schema

local typename = { name = "__typename", type = { name = "String", required = true }, arguments = {} }

local function read(self, name)
  local found = self._reader.read(name)
  if not found and schema.scalars[name] then
    found = { kind = "SCALAR", name = name }
  end
  local by_name = found and found.fields and {}
  for _, field in ipairs(by_name and found.fields or {}) do
    by_name[field.name] = field
  end
  if by_name then
    found.by_name = by_name
  end
  return found or false
end

--- The scalars that every service has.
schema.scalars = { Int = true, Float = true, String = true, Boolean = true, ID = true }

--- A type, or nil.
---@param name string
---@return operations.graphql.Type?
function Schema:find(name)
  local known = self._types[name]
  if known == nil then
    known = read(self, name)
    self._types[name] = known
  end
  return known or nil
end

--- A type that must exist; raises otherwise (`lexer.fail`).
---@param name string
---@param at? integer  where it is named, for the message
---@return operations.graphql.Type
function Schema:type(name, at)
  return self:find(name)
    or lexer.fail(("there is no type %q%s"):format(name, suggestion.behind(name, self._reader.names())), at)
end

--- The named type within lists.
---@param ref operations.graphql.TypeRef
---@return operations.graphql.Type
function Schema:named(ref)
  while ref.list do
    ref = ref.list
  end
  return self:type(ref.name)
end

--- A field of an object, an interface or (only `__typename`) a union; nil if there is none.
---@param of operations.graphql.Type
---@param name string
---@return operations.graphql.Field?
function schema.field(of, name)
  if name == "__typename" then
    return typename
  end
  return of.by_name and of.by_name[name]
end

--- Are fields of its values selected?
---@param of operations.graphql.Type
---@return boolean
function schema.has_fields(of)
  return of.kind == "OBJECT" or of.kind == "INTERFACE" or of.kind == "UNION"
end

--- The names of the object types that a value of a type may have, those of missing types left out.
---@param of operations.graphql.Type
---@return string[]
function Schema:possible(of)
  if of.kind == "OBJECT" then
    return { of.name }
  end
  local known = self._possible[of.name]
  if not known then
    known = {}
    for _, name in ipairs(self._reader.possible(of.name) or {}) do
      local found = self:find(name)
      known[#known + 1] = found and found.kind == "OBJECT" and name or nil
    end
    self._possible[of.name] = known
  end
  return known
end

--- May a value of a type be of this object type?
---@param of operations.graphql.Type
---@param name string
---@return boolean
function Schema:may_be(of, name)
  local set = self._sets[of.name]
  if not set then
    set = members.set(self:possible(of))
    self._sets[of.name] = set
  end
  return set[name] == true
end

--- May a value be of both types?
---@param a operations.graphql.Type
---@param b operations.graphql.Type
---@return boolean
function Schema:overlap(a, b)
  local key = a.name .. " " .. b.name
  if self._overlaps[key] == nil then
    local found = false
    for _, name in ipairs(self:possible(b)) do
      found = found or self:may_be(a, name)
    end
    self._overlaps[key] = found
  end
  return self._overlaps[key]
end

--- Makes a schema of what a reader reads.
---@param reader operations.graphql.Reader
---@return operations.graphql.Schema
function schema.new(reader)
  return setmetatable({
    roots = reader.roots, _reader = reader, _types = {}, _possible = {}, _sets = {}, _overlaps = {},
  }, Schema)
end

return schema
