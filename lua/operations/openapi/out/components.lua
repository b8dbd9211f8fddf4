--- `components/schemas` of a document: the `$defs` of the operations' schemas, shared where they are equal, and the
--- schemas with references to them.
---
--- First all schemas are added, then names are given: the name in `$defs`, or `<operationId>.<name>` where operations
--- use one name for different definitions.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local naming = require("operations.openapi.name")
local schemas = require("operations.schema")
local url = require("operations.base.url")
local verbatim = require("operations.openapi.verbatim")
local walk = require("operations.openapi.walk")

local components = {}

local DIALECT = "https://json-schema.org/draft/2020-12/schema"

---@class operations.openapi.Components
---@field records table<table, table>  by schema
---@field wanted table<string, { keys: string[], by_key: table<string, table> }>  by name: definitions with that name
local Components = {}
Components.__index = Components

--- The target of a reference within a schema: the name of a definition ("#" for the schema itself), and the pointer
--- after it.
---@param ref string
---@return string? name
---@return string? rest
local function target_of(ref)
  local name, rest = ref:match("^#/%$defs/([^/]*)(.*)$")
  if name then
    return json_pointer.unescape(url.decode(name) or name), rest
  elseif ref == "#" or ref:find("^#/") then
    return "#", ref:sub(2)
  end
end

-- Keywords that identify a schema.
local naming_keywords = { "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor" }
-- Drafts that mostly agree with 2020-12, and the keywords in which they differ.
local relatives = { ["http://json-schema.org/draft-06/schema"] = true,
  ["http://json-schema.org/draft-07/schema"] = true,
  ["https://json-schema.org/draft/2019-09/schema"] = true }
local changed_keywords = { "definitions", "dependencies", "additionalItems", "$ref" }

local function has_any(schema, keywords)
  for _, keyword in ipairs(keywords) do
    if schema[keyword] ~= nil then
      return true
    end
  end
  return false
end

-- Does it identify itself, or use keywords with another meaning than in 2020-12? Then it stays in one piece.
local function is_resource(schema)
  local dialect = tostring(schema["$schema"] or DIALECT):gsub("#$", "")
  local is_relative, found = relatives[dialect] or false, false
  walk.each(schema, function(inner)
    local ref = inner["$ref"]
    found = found or has_any(inner, naming_keywords) or type(ref) == "string" and not target_of(ref)
      or inner ~= schema and inner["$schema"] ~= nil
      or is_relative and (has_any(inner, changed_keywords) or core.kind(inner.items) == "array")
  end)
  return found or dialect ~= DIALECT and not is_relative
end

-- The definitions that a schema refers to directly.
local function uses_of(schema, but)
  local uses = {}
  walk.each(schema, function(inner)
    if inner["$ref"] or inner.discriminator then
      walk.references({ ["$ref"] = inner["$ref"], discriminator = inner.discriminator }, function(ref)
        local name = target_of(ref)
        if name then
          uses[name] = true
        end
        return ref
      end)
    end
  end, but)
  return uses
end

local function without_definitions(schema)
  local copy = members.merged(schema)
  copy["$defs"] = nil
  return copy
end

-- A definition of a record, with the digest of its text.
local function node_of(record, name)
  local node = record.nodes[name]
  if not node then
    local schema = record.schema
    if name == "#" then
      schema = without_definitions(schema)
    else
      schema = type(schema["$defs"]) == "table" and schema["$defs"][name]
    end
    if schema == nil then
      return nil
    end
    node = { schema = schema, uses = uses_of(schema), digest = core.sha256(json.encode(schema, { sort_keys = true })
      or tostring(schema)) }
    record.nodes[name] = node
  end
  return node
end

-- The names of all definitions that a definition needs, including itself.
local function reach(record, start)
  local seen, stack, names = { [start] = true }, { start }, {}
  while #stack > 0 do
    local name = table.remove(stack)
    local node = node_of(record, name)
    if node then
      names[#names + 1] = name
      for used in pairs(node.uses) do
        if not seen[used] then
          seen[used] = true
          stack[#stack + 1] = used
        end
      end
    end
  end
  table.sort(names)
  return names
end

-- Distinguishes definitions with the same name: by the text of the definition and of all it needs.
local function key_of(record, name)
  local parts = {}
  for i, needed in ipairs(reach(record, name)) do
    parts[i] = needed .. "\0" .. record.nodes[needed].digest
  end
  return core.sha256(name .. "\0" .. table.concat(parts, "\0"))
end

local function want(self, record, name)
  local wanted = naming.of_component(name == "#" and record.operation .. "." .. record.label or name)
  local key = key_of(record, name)
  local entry = self.wanted[wanted]
  if not entry then
    entry = { keys = {}, by_key = {} }
    self.wanted[wanted] = entry
  end
  if not entry.by_key[key] then
    entry.by_key[key] = { record = record, name = name, given = nil }
    entry.keys[#entry.keys + 1] = key
  end
  record.keys[name] = entry.by_key[key]
end

--- Makes an empty collection for a document.
---@return operations.openapi.Components
function components.new()
  return setmetatable({ records = {}, wanted = { Problem = { keys = { "" }, by_key = { [""] = {} } } } }, Components)
end

--- Adds the schema of an operation.
---@param schema any
---@param operation string  its operationId
---@param label string  what the schema is for: "input", "output", a code
function Components:add(schema, operation, label)
  if type(schema) ~= "table" or self.records[schema] then
    return
  end
  local record = { schema = schema, operation = operation, label = label, nodes = {}, keys = {} }
  self.records[schema] = record
  if is_resource(schema) then
    record.is_resource = true
    return
  end
  local uses, names = uses_of(schema, "$defs"), {}
  for name in pairs(uses) do
    for _, needed in ipairs(reach(record, name)) do
      names[needed] = true
    end
  end
  record.is_recursive = names["#"] or false
  local list = {}
  for name in pairs(names) do
    list[#list + 1] = name
  end
  table.sort(list)
  for _, name in ipairs(list) do
    want(self, record, name)
  end
end

-- Names each definition.
local function give_names(self)
  local list, taken = {}, naming.counter()
  for wanted in pairs(self.wanted) do
    list[#list + 1] = wanted
  end
  table.sort(list)
  for _, wanted in ipairs(list) do -- first those that keep their name
    local entry = self.wanted[wanted]
    if #entry.keys == 1 or wanted == "Problem" then
      entry.by_key[entry.keys[1]].given = taken(wanted)
    end
  end
  for _, wanted in ipairs(list) do
    local entry = self.wanted[wanted]
    for _, key in ipairs(entry.keys) do
      local definition = entry.by_key[key]
      definition.given = definition.given or taken(definition.record.operation .. "." .. wanted)
    end
  end
  self.named = true
end

-- Does a schema accept its own example? One that it refuses would mislead, and one that is a reference leads nowhere.
local function accepts(record, schema, value)
  if type(value) == "table" and value["$ref"] ~= nil then
    return false
  end
  local alone = next(uses_of(schema)) == nil and schema
    or { allOf = { schema }, ["$defs"] = record.schema["$defs"] }
  local compiled = schemas.compile(alone, { formats = true })
  return compiled ~= nil and compiled:check(value)
end

local function with_examples(record, copy, original)
  if original.example ~= nil and not accepts(record, original, original.example) then
    copy.example = nil
  end
  if core.kind(original.examples) == "array" then
    local kept = {}
    for _, value in ipairs(original.examples) do
      if accepts(record, original, value) then
        kept[#kept + 1] = value
      end
    end
    copy.examples = kept[1] ~= nil and kept or nil
  end
end

local function rewrite(record, schema)
  return walk.copy(schema, function(copy, original)
    copy["$defs"], copy["$schema"] = nil, nil
    walk.references(copy, function(ref)
      local name, rest = target_of(ref)
      local definition = record.keys[name]
      return definition and "#/components/schemas/" .. definition.given .. rest or ref
    end)
    if original.example ~= nil or original.examples ~= nil then
      with_examples(record, copy, original)
    end
  end)
end

-- Document checkers require an object where a schema refers to itself.
local function as_object(schema)
  if type(schema) ~= "table" then
    schema = schema == false and { ["not"] = setmetatable({}, core.object_mt) } or {}
  end
  return next(schema) == nil and setmetatable(schema, core.object_mt) or schema
end

--- The schema for the document: its references point to the document's components.
---@param schema any  that was added before
---@return table
function Components:schema(schema)
  local record = type(schema) == "table" and self.records[schema]
  if not self.named then
    give_names(self)
  end
  if not record then
    return as_object(schema)
  elseif record.is_resource then
    local copy = walk.copy(schema, function() end)
    copy["$id"] = copy["$id"] or verbatim.resource .. record.operation .. ":" .. record.label
    return copy
  elseif record.is_recursive then
    return { ["$ref"] = "#/components/schemas/" .. record.keys["#"].given }
  end
  return as_object(rewrite(record, schema))
end

--- A schema inside one that was added.
---@param whole table
---@param part any
---@return table
function Components:part(whole, part)
  if not self.named then
    give_names(self)
  end
  local record = self.records[whole]
  return as_object(record and rewrite(record, part) or part)
end

--- Can the schema be split? Not if it identifies itself, or refers to parts by position.
---@param schema table  that was added before
---@return boolean
function Components:is_plain(schema)
  local record = self.records[schema]
  return not record.is_resource and not record.is_recursive
end

--- The schema of a body: that of raw bytes has no type, as they are no JSON string (3.1.1, "Working with Binary Data"),
--- and the format by which generators of clients know them.
---@param schema any  that was added before
---@param media_type? string  of the body; nil: JSON
---@return table
function Components:body(schema, media_type)
  local made = self:schema(schema)
  if media_type and not media.is_text(media.essence(media_type)) then
    made = members.copy(made)
    made.type, made.format = nil, made.format or "binary"
  end
  return made
end

--- All definitions, by name.
---@return table<string, table>
function Components:all()
  local all = {}
  if not self.named then
    give_names(self)
  end
  for _, entry in pairs(self.wanted) do
    for _, key in ipairs(entry.keys) do
      local definition = entry.by_key[key]
      if definition.record then
        local node = node_of(definition.record, definition.name)
        all[definition.given] = as_object(rewrite(definition.record, node.schema))
      end
    end
  end
  return all
end

return components
