--- The schemas of a document that a registry was written to (openapi/out), as they were there: references to components
--- become references into `$defs` again, and nothing else changes. What other documents mean by `readOnly` or
--- `discriminator` is not looked at.
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")
local url = require("operations.base.url")
local walk = require("operations.openapi.walk")

local verbatim = {}

--- Begins the `$id` that schemas have in the document alone.
verbatim.resource = "urn:x-operation:"

-- The name of the component that a reference leads to, and the pointer behind it.
local function target_of(ref)
  local name, rest = ref:match("^#/components/schemas/([^/]+)(.*)$")
  return name and json_pointer.unescape(url.decode(name) or name), rest
end

---@class operations.openapi.Verbatim
---@field components table<string, any>
---@field entries table<string, { schema: any, uses: table<string, true> }|false>
local Verbatim = {}
Verbatim.__index = Verbatim

--- Makes a reader of a document's schemas; what components become is kept.
---@param root table  the document
---@return operations.openapi.Verbatim
function verbatim.reader(root)
  local components = type(root.components) == "table" and root.components.schemas
  return setmetatable({ components = type(components) == "table" and components or {}, entries = {} }, Verbatim)
end

-- A copy whose references lead into `$defs`; false when one leads elsewhere.
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
  return ok and copy
end

local function entry_of(self, name)
  local entry = self.entries[name]
  if entry == nil then
    local uses, schema = {}, self.components[name]
    local copy = schema
    if type(schema) == "table" then
      copy = rewrite(schema, uses)
    end
    entry = copy ~= nil and copy ~= false and { schema = copy, uses = uses } or false
    self.entries[name] = entry
  end
  return entry
end

-- The definitions that are needed; false when one cannot be had.
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

--- A schema that stands alone.
---@param schema any  as the document has it
---@return any? schema  nil: it refers to something that is no component of the document
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
