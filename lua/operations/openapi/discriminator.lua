--- `discriminator` as plain JSON Schema. In a union of references each alternative accepts only the property values
--- that name it. A schema that others extend by `allOf` stays open: an answer may be any of the extensions, and must
--- keep their members.
local members = require("operations.base.members")

local discriminator = {}

local function follow(source, node, file)
  return source:follow({ node = node, file = file, pointer = "#" })
end

local function set_of(schema)
  local values = type(schema.enum) == "table" and schema.enum or { schema.const }
  local set = {}
  for _, value in ipairs(values) do
    set[value] = true
  end
  return next(set) ~= nil and set or nil
end

--- The values that a schema, or its `allOf`, allows for the property; nil if it does not restrict them. `seen` has the
--- schemas visited so far.
local function values_of(source, node, file, name, seen)
  local place = follow(source, node, file)
  node = place and type(place.node) == "table" and place.node or {}
  if seen[node] then
    return nil
  end
  seen[node] = true
  local property = type(node.properties) == "table" and node.properties[name]
  local target = property and follow(source, property, place.file)
  local set = target and type(target.node) == "table" and set_of(target.node)
  for _, part in ipairs(not set and type(node.allOf) == "table" and node.allOf or {}) do
    set = set or values_of(source, part, place.file, name, seen)
  end
  return set
end

--- The target of a `mapping` value: a component's name or a reference.
local function mapped(source, value, file)
  local is_name = type(value) == "string" and not value:find("[/#]")
  local place = is_name and source:lookup("#/components/schemas/" .. value, file)
  return place or type(value) == "string" and source:lookup(value, file) or nil
end

--- The values that name the target of a reference: those that map to it, and its own name if that is not mapped.
local function names_of(source, ref, mapping, file)
  local target, names = source:lookup(ref, file), {}
  for value, to in pairs(mapping) do
    local place = mapped(source, to, file)
    names[#names + 1] = place and target and place.node == target.node and value or nil
  end
  local own = ref:match("([^/]+)$")
  names[#names + 1] = own and mapping[own] == nil and own or nil
  table.sort(names)
  return names
end

--- An alternative that accepts only its own names, or no value: servers omit the property. Unchanged if its property
--- has other values, as in some documents.
local function alternative(source, branch, name, mapping, file)
  local ref = type(branch) == "table" and branch["$ref"]
  if type(ref) ~= "string" then
    return branch
  end
  local known, names = values_of(source, branch, file, name, {}), {}
  for _, value in ipairs(names_of(source, ref, mapping, file)) do
    names[#names + 1] = (not known or known[value]) and value or nil
  end
  if #names == 0 then
    return branch
  end
  return { allOf = { branch, { properties = { [name] = { enum = names } } } } }
end

--- A discriminator whose mapping has only the alternatives, by their references: a standalone schema has no others.
local function among(source, given, branches, file)
  if type(given) ~= "table" or given.mapping == nil then
    return given
  end
  local refs, mapping, copy = {}, {}, members.merged(given)
  for _, branch in ipairs(branches) do
    local ref = type(branch) == "table" and branch["$ref"]
    local target = type(ref) == "string" and source:lookup(ref, file)
    if target then
      refs[target.pointer] = ref
    end
  end
  for value, to in pairs(type(given.mapping) == "table" and given.mapping or {}) do
    local place = mapped(source, to, file)
    mapping[value] = place and refs[place.pointer]
  end
  copy.mapping = next(mapping) ~= nil and mapping or nil
  return copy
end

--- A schema object with the meaning of its discriminator; the same table if there is nothing to add.
---@param source operations.openapi.Document
---@param node table
---@param file operations.openapi.File  that contains it
---@return table
function discriminator.apply(source, node, file)
  local given = node.discriminator
  local name = type(given) == "table" and given.propertyName or given
  if type(name) ~= "string" then
    return node
  end
  local copy = members.copy(node)
  local key = type(node.oneOf) == "table" and "oneOf" or type(node.anyOf) == "table" and "anyOf"
  if key then
    local mapping = type(given) == "table" and type(given.mapping) == "table" and given.mapping or {}
    copy[key] = {}
    for i, branch in ipairs(node[key]) do
      copy[key][i] = alternative(source, branch, name, mapping, file)
    end
  elseif node.additionalProperties == nil and type(node.properties) == "table" then
    copy.additionalProperties = true
  end
  copy.discriminator = among(source, given, key and node[key] or {}, file)
  return copy
end

return discriminator
