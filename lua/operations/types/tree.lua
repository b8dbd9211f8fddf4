--- The types that all printers write: the operations of a registry with those of their inputs and answers, made of
--- their schemas. Objects, enums and the definitions of schemas have names, so that an editor shows them and recursion
--- ends. A type says what a schema says of kinds, members and values; limits (lengths, patterns) are no types.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")
local schema = require("operations.schema")

local tree = {}

---@class operations.types.Type
---@field kind "any"|"never"|"null"|"boolean"|"string"|"number"|"integer"|"literal"|"array"|"map"|"union"|"ref"
---@field value? any  of a literal
---@field item? operations.types.Type  of an array or a map
---@field list? operations.types.Type[]  of a union
---@field of? operations.types.Named  of a reference

---@class operations.types.Field
---@field name string
---@field type operations.types.Type
---@field required boolean
---@field description? string
---@field deprecated? boolean
---@field node any  its schema

---@class operations.types.Named
---@field parts string[]  of its name; the first is a namespace
---@field description? string
---@field fields? operations.types.Field[]  of an object, in the order of the schema
---@field extra? operations.types.Type  of its other members
---@field type? operations.types.Type  of an alias
---@field is_error? boolean  an error that an operation declares

---@class operations.types.Operation
---@field id string
---@field namespace string
---@field name string
---@field kind "query"|"mutation"|"subscription"
---@field title? string
---@field description? string
---@field deprecated? boolean
---@field input operations.types.Type
---@field optional_input boolean  can it be left out?
---@field output operations.types.Type  of each event, for a subscription
---@field errors string[]  declared codes
---@field error operations.types.Type  of these errors: objects with `code` and `details`; never without a declaration

---@class operations.types.Tree
---@field operations operations.types.Operation[]
---@field named operations.types.Named[]

local Builder = {}
Builder.__index = Builder

local ANY, NEVER = { kind = "any" }, { kind = "never" }
local kinds = members.set({ "null", "boolean", "string", "number", "integer" })

local function is_object(node)
  return type(node) == "table" and core.kind(node) == "object"
end

-- The name of the definition that a local reference names, and its schema.
local function target(root, reference)
  if type(reference) ~= "string" or reference:sub(1, 1) ~= "#" then
    return nil
  end
  return reference:match("([^/]*)$"), json_pointer.get(root, reference)
end

-- Adds a named type, whose name is made unique.
function Builder:name(parts, description)
  local named = { parts = members.joined(parts), description = description }
  local key = table.concat(parts, "."):lower():gsub("[^%w]", "")
  local count = (self.names[key] or 0) + 1
  self.names[key] = count
  if count > 1 then
    named.parts[#parts] = ("%s_%d"):format(parts[#parts], count)
    self.names[key .. "_" .. count] = 1
  end
  self.named[#self.named + 1] = named
  return named
end

local function union(list)
  local flat, seen = {}, {}
  local function add(of)
    if of.kind == "union" then
      for _, item in ipairs(of.list) do
        add(item)
      end
      return
    end
    local key = of.kind == "ref" and of.of or of.kind == "literal" and "=" .. assert(json.encode(of.value))
      or (of.kind == "array" or of.kind == "map") and of or of.kind
    if not seen[key] and of.kind ~= "never" then
      seen[key], flat[#flat + 1] = true, of
    end
  end
  for _, of in ipairs(list) do
    if of.kind == "any" then
      return ANY
    end
    add(of)
  end
  return #flat == 0 and NEVER or #flat == 1 and flat[1] or { kind = "union", list = flat }
end

-- A type in a definition of its own, where an editor shows it by a name.
function Builder:alias(of, parts, node)
  local is_enum = of.kind == "union" and of.list[1].kind == "literal"
  if not is_enum then
    return of
  end
  local named = self:name(parts, node.description)
  named.type = of
  return { kind = "ref", of = named }
end

local function literals(values)
  local list = {}
  for i, value in ipairs(values) do
    local kind = core.kind(value)
    local of = type(value) ~= "table" and { kind = "literal", value = value } or ANY
    list[i] = kind == "null" and { kind = "null" } or of
  end
  return union(list)
end

local encoding = { sort_keys = true }

-- The text of a schema without the definitions beside it, and the references in it.
function Builder:text(node)
  if is_object(node) and node["$defs"] then
    node = members.copy(node)
    node["$defs"] = nil
  end
  local text = json.encode(node, encoding) or tostring(node) -- too deep: equal to no other
  local found = self.references[text]
  if not found then
    found = {}
    for reference in text:gmatch('"%$ref":"(#[^"]*)"') do
      found[#found + 1] = reference
    end
    self.references[text] = found
  end
  return text, found
end

local ANY_NAME = "/" -- the key of definitions of whatever name

-- The types of the namespace that have this key, a name, and this text.
function Builder:made(key, text)
  local place = self.namespace .. "\n" .. key
  local texts = self.texts[place] or {}
  self.texts[place] = texts
  texts[text] = texts[text] or {}
  return texts[text]
end

-- The named type of a definition. Operations that have the same one share it, as a document's components.
function Builder:definition(root, reference)
  local memo = self.roots[root] or {}
  self.roots[root] = memo
  if memo[reference] then
    return memo[reference]
  end
  local name, node = target(root, reference)
  if node == nil then
    return nil
  end
  local text, references = self:text(node)
  local known = self:made(name, text)
  for _, one in ipairs(known) do
    memo[reference] = one.named -- while its own references are compared
    if self:leads_to(root, references, one) then
      return one.named
    end
  end
  local parts = { self.namespace, (name:gsub("~1", "/"):gsub("%%2F", "/"):gsub("[^%w_]+", "_")) }
  local named = self:name(parts, is_object(node) and node.description or nil)
  local one = { named = named, inner = {} }
  known[#known + 1], memo[reference] = one, named
  table.insert(self:made(ANY_NAME, text), one)
  for i, inner in ipairs(references) do
    one.inner[i] = self:definition(root, inner)
  end
  self:fill(named, root, node)
  return named
end

-- Do references lead to the types that those of `one`, which has the same text, lead to?
function Builder:leads_to(root, references, one)
  for i, inner in ipairs(references) do
    if self:definition(root, inner) ~= one.inner[i] then
      return false
    end
  end
  return true
end

-- The type of a whole result. Importers write the definition that a result refers to in its place: its name is found
-- by its text, when all definitions are known.
function Builder:result(root, parts)
  local of = self:type(root, root, parts)
  if of.kind == "ref" and of.of.parts[3] == "output" then
    local text, references = self:text(root)
    table.insert(self.results, { of = of, namespace = self.namespace, root = root, references = references,
      known = self:made(ANY_NAME, text) })
  end
  return of
end

-- The first three parts of the name of a result, which begin those of the types in it.
local function beginning(named)
  return table.concat(named.parts, "\n", 1, 3)
end

-- Refers to definitions, or to the first one of equal results, and leaves out what they replace.
function Builder:join_results()
  local replaced, rest = {}, {}
  for _, result in ipairs(self.results) do
    local own, same = result.of.of, nil
    self.namespace = result.namespace
    for _, one in ipairs(result.known) do
      same = same or self:leads_to(result.root, result.references, one) and one.named
    end
    if same then
      replaced[beginning(own)], result.of.of = true, same
    else
      local inner = {}
      for i, reference in ipairs(result.references) do
        inner[i] = self:definition(result.root, reference)
      end
      table.insert(result.known, { named = own, inner = inner })
    end
  end
  for _, named in ipairs(self.named) do
    rest[#rest + 1] = not (named.parts[3] and replaced[beginning(named)]) and named or nil
  end
  return rest
end

-- The type of an error that an operation declares; operations that declare the same one share it.
function Builder:error(declared)
  local root = declared.schema == nil or declared.schema
  local text, references = self:text(root)
  local known = self:made("error " .. declared.code, text)
  for _, one in ipairs(known) do
    if self:leads_to(root, references, one) then
      return one.of
    end
  end
  local named = self:name({ self.namespace, "error", declared.code }, declared.description)
  local one = { of = { kind = "ref", of = named }, inner = {} }
  known[#known + 1] = one
  for i, reference in ipairs(references) do
    one.inner[i] = self:definition(root, reference)
  end
  local code = declared.pattern and { kind = "string" } or { kind = "literal", value = declared.code }
  local details = self:type(root, root, members.joined(named.parts, { "details" }))
  named.is_error, named.fields = true, { { name = "code", type = code, required = true },
    { name = "details", type = details, required = details.kind ~= "any" } }
  return one.of
end

-- Gives a named type what its schema says.
function Builder:fill(named, root, node)
  local shape = is_object(node) and not node["$ref"] and self:shape(root, node)
  if shape and #shape.fields > 0 then
    named.fields, named.extra = self:fields(root, shape, named.parts), nil
    named.extra = shape.extra and self:type(root, shape.extra, members.joined(named.parts, { "value" })) or nil
  else
    named.type = self:type(root, node, named.parts, true)
  end
end

-- Alternatives that say something of kinds or members, and not only which members must be there together.
local function alternatives(node)
  local list = {}
  for _, branch in ipairs(node.anyOf or node.oneOf or {}) do
    local says = type(branch) ~= "table" or branch["$ref"] or branch.type or branch.properties or branch.enum
      or branch.const ~= nil or branch.allOf or branch.anyOf or branch.oneOf or next(branch) == nil
    list[#list + 1] = says and branch or nil
  end
  return list
end

-- The members of an object, those of its `allOf` too; nil: it is not an object.
function Builder:shape(root, node, into, depth)
  into = into or { fields = {}, places = {}, required = {} }
  depth = depth or 0
  while is_object(node) and node["$ref"] and depth < 64 do
    node, depth = select(2, target(root, node["$ref"])), depth + 1
  end
  local is_plain = is_object(node) and depth < 64 and #alternatives(node) == 0
    and (node.type == nil or node.type == "object") and node.enum == nil and node.const == nil
  if not is_plain or not (node.type or node.properties or node.allOf or node.required or node.additionalProperties) then
    return nil
  end
  for _, part in ipairs(node.allOf or {}) do
    local is_said = type(part) == "table" and next(part) ~= nil and (part["$ref"] or part.properties or part.allOf
      or part.type or part.required or part.anyOf or part.oneOf or part.enum)
    if is_said and not self:shape(root, part, into, depth + 1) then
      return nil
    end
  end
  for _, name in ipairs(schema.properties(node)) do
    local place = into.places[name] or #into.fields + 1
    into.places[name], into.fields[place] = place, { name = name, node = node.properties[name] }
  end
  for _, name in ipairs(type(node.required) == "table" and node.required or {}) do
    into.required[name] = true
  end
  if is_object(node.additionalProperties) then
    into.extra = node.additionalProperties
  end
  return into
end

function Builder:fields(root, shape, parts)
  local fields = {}
  for i, field in ipairs(shape.fields) do
    local node = field.node
    local described = is_object(node) and node or {}
    fields[i] = {
      name = field.name, node = node, type = self:type(root, node, members.joined(parts, { field.name })),
      required = shape.required[field.name] == true, deprecated = described.deprecated == true or nil,
      description = type(described.description) == "string" and described.description or nil,
    }
  end
  return fields
end

-- The type of an object: named where it has members.
function Builder:object(root, node, parts)
  node = type(node.type) == "table" and members.merged(node, { type = "object" }) or node
  local shape = self:shape(root, node)
  if not shape then
    return { kind = "map", item = ANY }
  elseif #shape.fields > 0 then
    local named = self:name(parts, node.description)
    self:fill(named, root, node)
    return { kind = "ref", of = named }
  end
  local value = members.joined(parts, { "value" })
  return { kind = "map", item = shape.extra and self:type(root, shape.extra, value) or ANY }
end

function Builder:array(root, node, parts)
  local items = node.items
  if is_object(node.prefixItems) or type(node.prefixItems) == "table" then
    local list = {}
    for i, item in ipairs(node.prefixItems) do
      list[i] = self:type(root, item, members.joined(parts, { tostring(i) }))
    end
    list[#list + 1] = items ~= false and self:type(root, items, members.joined(parts, { "item" })) or nil
    return { kind = "array", item = union(list) }
  end
  return { kind = "array", item = self:type(root, items, members.joined(parts, { "item" })) }
end

function Builder:branches(root, node, list, parts)
  local types = {}
  local own = node.properties and { type = "object", properties = node.properties, required = node.required }
  for i, branch in ipairs(list) do
    local whole = own and type(branch) == "table" and { allOf = { own, branch } } or branch
    types[i] = self:type(root, whole, members.joined(parts, { tostring(i) }))
  end
  return union(types)
end

local function kinds_of(node)
  local list = type(node.type) == "table" and members.joined(node.type) or { node.type }
  if #list == 0 and (node.properties or node.allOf or node.additionalProperties or node.required) then
    list[1] = "object"
  elseif #list == 0 and (node.items or node.prefixItems) then
    list[1] = "array"
  end
  if node.nullable == true and #list > 0 then
    list[#list + 1] = "null"
  end
  return list
end

--- The type of a schema.
---@param root any  the schema that its references are in
---@param node any
---@param parts string[]  the name of an object or an enum in it
---@param is_named? boolean  it is the whole of a named type
---@return operations.types.Type
function Builder:type(root, node, parts, is_named)
  if node == false then
    return NEVER
  elseif not is_object(node) then
    return ANY
  elseif node["$ref"] then
    local named = self:definition(root, node["$ref"])
    return named and { kind = "ref", of = named } or ANY
  elseif node.const ~= nil then
    return literals({ node.const })
  elseif type(node.enum) == "table" then
    local of = literals(node.enum)
    return is_named and of or self:alias(of, parts, node)
  end
  local list = alternatives(node)
  if #list > 0 then
    local of = self:branches(root, node, list, parts)
    return node.nullable == true and union({ of, { kind = "null" } }) or of
  end
  local types = {}
  for i, kind in ipairs(kinds_of(node)) do
    types[i] = kinds[kind] and { kind = kind } or kind == "array" and self:array(root, node, parts)
      or kind == "object" and self:object(root, node, parts) or ANY
  end
  return #types == 0 and ANY or union(types)
end

local function takes_nothing(root)
  return not is_object(root) or not (type(root.required) == "table" and root.required[1] ~= nil)
    and (root.type == nil or root.type == "object")
end

function Builder:operation(spec)
  local parts = { spec.namespace, spec.name }
  local codes, errors = {}, {}
  self.namespace = spec.namespace
  local operation = {
    id = spec.namespace .. "." .. spec.name, namespace = spec.namespace, name = spec.name, kind = spec.type,
    title = spec.title, description = spec.description, deprecated = spec._meta and spec._meta.deprecated or nil,
    input = self:type(spec.inputSchema, spec.inputSchema, members.joined(parts, { "input" })),
    output = self:result(spec.outputSchema, members.joined(parts, { "output" })),
    optional_input = takes_nothing(spec.inputSchema), errors = codes,
  }
  for i, declared in ipairs(spec.errorSchemas or {}) do
    codes[i], errors[i] = declared.code, self:error(declared)
  end
  operation.error = union(errors)
  if operation.error.kind == "union" then
    local named = self:name(members.joined(parts, { "error" }))
    named.type, operation.error = operation.error, { kind = "ref", of = named }
  end
  return operation
end

--- Reads a list of operations.
---@param specs operations.Spec[]  whole
---@param namespaces? string[]  default: all
---@return operations.types.Tree
function tree.of(specs, namespaces)
  local wanted = namespaces and members.set(namespaces)
  local self = setmetatable({ names = {}, named = {}, texts = {}, references = {}, results = {},
    roots = setmetatable({}, { __mode = "k" }) }, Builder)
  local list = {}
  for _, spec in ipairs(specs) do
    if not wanted or wanted[spec.namespace] then
      list[#list + 1] = self:operation(spec)
    end
  end
  return { operations = list, named = self:join_results() }
end

return tree
