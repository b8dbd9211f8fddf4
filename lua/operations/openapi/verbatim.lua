--- The original schemas in a document made by openapi/out: references to components become references into `$defs`
--- again; nothing else changes. `readOnly` and `discriminator` are not interpreted as in other documents.
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")
local url = require("operations.base.url")
local walk = require("operations.openapi.walk")

local verbatim = {}

--- The prefix of the `$id` that schemas have only in the document.
verbatim.resource = "urn:x-operation:"

-- The name of the component in a reference, and the pointer after it.
local function target_of(ref)
  local name, rest = ref:match("^#/components/schemas/([^/]+)(.*)$")
  return name and json_pointer.unescape(url.decode(name) or name), rest
end

---@class operations.openapi.Verbatim
---@field components table<string, any>
---@field entries table<string, { schema: any, uses: table<string, true> }|false>
local Verbatim = {}
Verbatim.__index = Verbatim

--- Makes a reader of a document's schemas; converted components are kept.
---@param root table  the document
---@return operations.openapi.Verbatim
function verbatim.reader(root)
  local components = type(root.components) == "table" and root.components.schemas
  return setmetatable({ components = type(components) == "table" and components or {}, entries = {} }, Verbatim)
end

-- A copy whose references point into `$defs`; nil when one points elsewhere.
local function rewrite(schema, uses)
  local ok = true
  local copy = walk.copy(schema, function(inner)
    walk.references(inner, function(ref)
      local name, rest = target_of(ref)
      if not name then
        ok = false
        return ref
      end
      uses[name] = true
      return "#/$defs/" .. json_pointer.escape(name) .. rest
    end)
  end)
  return ok and copy or nil
end

local function entry_of(self, name)
  local entry = self.entries[name]
  if entry == nil then
    local uses, schema = {}, self.components[name]
    local copy = schema
    if type(schema) == "table" then
      copy = rewrite(schema, uses)
    end
    entry = copy ~= nil and { schema = copy, uses = uses } or false
    self.entries[name] = entry
  end
  return entry
end

-- The required definitions; false when one cannot be found.
local function definitions(self, uses)
  local found, stack = {}, {}
  for name in pairs(uses) do
    stack[#stack + 1] = name
  end
  while #stack > 0 do
    local name = table.remove(stack)
    if found[name] == nil then
      local entry = entry_of(self, name)
      if not entry then
        return false
      end
      found[name] = entry.schema
      for used in pairs(entry.uses) do
        stack[#stack + 1] = used
      end
    end
  end
  return found
end

--- A standalone schema.
---@param schema any  as in the document
---@return any? schema  nil: it refers to something other than a component of the document
function Verbatim:schema(schema)
  if type(schema) ~= "table" then
    return schema
  elseif type(schema["$id"]) == "string" then
    local copy = members.copy(schema)
    if schema["$id"]:sub(1, #verbatim.resource) == verbatim.resource then
      copy["$id"] = nil
    end
    return copy
  elseif next(schema) == nil then
    return true
  end
  local uses = {}
  local copy = rewrite(schema, uses)
  local needed = copy and definitions(self, uses)
  if not needed then
    return nil
  end
  copy["$defs"] = next(needed) and needed or nil
  return copy
end

return verbatim
