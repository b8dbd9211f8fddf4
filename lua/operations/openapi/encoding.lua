--- Reads how the properties of a form or multipart body are encoded: their Encoding Objects, and the defaults that
--- follow from their schemas (OpenAPI 3.0.4, 3.1.1 and 3.2.0, "Encoding Object").
local header_field = require("operations.net.http.header_field")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local schema = require("operations.schema")

local encoding = {}

---@class operations.openapi.PartField : operations.openapi.Field
---@field default_type? string  of a part without a `contentType`; nil for text
---@field file? boolean         the value may be a file
---@field untyped? boolean      its schema says nothing: a text is not a file
---@field is_array? boolean
---@field headers? table<string, string>  of the part: defaults of declared headers
---@field declared? table<string, true>  names of declared headers, in lower case
---@field required_headers? string[]

local combinators = { "allOf", "anyOf", "oneOf" }

-- Calls `visit` with a schema and those that it combines, each once; the first result of `visit` is returned.
local function search(build, place, visit, seen)
  seen = seen or {}
  local target = place and build.source:follow(place)
  if not target or type(target.node) ~= "table" or seen[target.node] then
    return nil
  end
  seen[target.node] = true
  local found = visit(target)
  for _, key in ipairs(combinators) do
    local branches = build.source:member(target, key)
    for i = 1, found == nil and branches and type(branches.node) == "table" and #branches.node or 0 do
      found = search(build, build.source:member(branches, i), visit, seen)
      if found ~= nil then
        return found
      end
    end
  end
  return found
end

local function type_of(node)
  local kind = node.type
  for _, name in ipairs(type(kind) == "table" and kind or {}) do
    if name ~= "null" then
      return name
    end
  end
  if type(kind) == "string" and kind ~= "null" then
    return kind
  end
  return node.properties and "object" or node.items and "array" or nil
end

-- Has the schema no keyword that implies a type?
local function says_nothing(node)
  for _, key in ipairs({ "type", "properties", "items", "allOf", "anyOf", "oneOf", "enum", "const", "$ref" }) do
    if node[key] ~= nil then
      return false
    end
  end
  return true
end

-- RFC 2045, 6.2: encodings that change no bytes.
local identities = { binary = true, ["8bit"] = true, ["7bit"] = true }

local function of_string(node)
  local coding = node.contentEncoding
  if node.format == "binary" or identities[coding] or coding == nil and node.contentMediaType ~= nil then
    return { default_type = "application/octet-stream", file = true }
  elseif node.format == "byte" or coding ~= nil then
    return { default_type = "application/octet-stream" }
  end
  return { text = true }
end

local of_schema

local function of_array(build, target)
  local item = build.source:member(target, "items")
  local items = item and of_schema(build, item, true) or {}
  items.is_array = true
  return items
end

-- The default encoding of values of a schema. An array that is an item is JSON, whatever it contains.
function of_schema(build, place, is_item)
  return search(build, place, function(target)
    local kind = type_of(target.node)
    if kind == "array" and not is_item then
      return of_array(build, target)
    elseif kind == "array" or kind == "object" then
      return { default_type = "application/json" }
    elseif kind == "string" then
      return of_string(target.node)
    elseif kind then
      return { text = true }
    elseif says_nothing(target.node) then
      return { default_type = "application/octet-stream", file = true, untyped = true }
    end
  end) or {}
end

local function first_type(text)
  local first = type(text) == "string" and text:match("^%s*([^,]-)%s*,") or text
  first = type(first) == "string" and first:match("^%s*(.-)%s*$")
  return first and first:find("/", 1, true) and not first:find("[*%c]") and first or nil
end

local function read_style(build, place, field)
  local node = place.node
  if node.style == nil and node.explode == nil and node.allowReserved == nil then
    return
  end
  field.style = type(node.style) == "string" and node.style or "form"
  field.explode = node.explode
  if type(node.explode) ~= "boolean" then
    field.explode = field.style == "form"
  end
  field.reserved = node.allowReserved == true
  field.arrays = build.config.deep_arrays
end

local function header_default(build, place, name)
  local header = build.source:child(place, name)
  local value = header and build.source:child(header, "schema")
  value = value and (value.node.const or value.node.default)
  return type(value) == "string" and value or nil, header and header.node.required == true
end

local function read_headers(build, place, field)
  local headers = build.source:child(place, "headers")
  for name in pairs(headers and headers.node or {}) do
    local lower = type(name) == "string" and name:lower()
    if lower and header_field.is_token(name) and lower ~= "content-type" and lower ~= "content-disposition" then
      local default, required = header_default(build, headers, name)
      field.declared = field.declared or {}
      field.declared[lower] = true
      field.headers = field.headers or {}
      field.headers[name] = default
      if required and not default then
        field.required_headers = field.required_headers or {}
        table.insert(field.required_headers, name)
      end
    end
  end
end

-- The properties of a body's schema and of the schemas that it combines, by name; the names of required ones; the
-- schema of other properties; and those by patterns.
local function properties_of(build, place)
  local found, required, rest, patterns = {}, {}, nil, {}
  search(build, place, function(target)
    for _, name in ipairs(type(target.node.required) == "table" and target.node.required or {}) do
      required[name] = true
    end
    for name in pairs(type(target.node.properties) == "table" and target.node.properties or {}) do
      if type(name) == "string" and not found[name] then
        found[name] = build.source:member(build.source:member(target, "properties"), name)
      end
    end
    for pattern in pairs(type(target.node.patternProperties) == "table" and target.node.patternProperties or {}) do
      patterns[pattern] = patterns[pattern] or
        build.source:member(build.source:member(target, "patternProperties"), pattern)
    end
    if type(target.node.additionalProperties) == "table" and next(target.node.additionalProperties) then
      rest = rest or build.source:member(target, "additionalProperties")
    end
  end)
  return found, required, rest, patterns
end

-- Finds the field of a name that has none of its own by the first pattern that the name matches.
local function add_patterns(build, fields, patterns)
  local list, by_pattern = {}, {}
  for _, pattern in ipairs(members.names(patterns)) do
    local compiled = schema.compile({ pattern = pattern }) -- one that cannot be read matches nothing
    by_pattern[pattern] = of_schema(build, patterns[pattern])
    list[#list + 1] = compiled and { compiled = compiled, field = by_pattern[pattern] }
  end
  setmetatable(fields, list[1] and { __index = function(_, name)
    for _, one in ipairs(list) do
      if one.compiled:check(name) then
        return one.field
      end
    end
  end })
  return by_pattern
end

-- The settings of an Encoding Object, which override the defaults. In 3.0 styles apply to forms only, in 2.0 to both.
local function read_entry(build, entry, field, is_multipart)
  field.content_type = first_type(entry.node.contentType)
  if not is_multipart or not build.converter.old or build.is_swagger then
    read_style(build, entry, field)
    field.collection = build.is_swagger and entry.node.collection or nil
  end
  read_headers(build, entry, field)
end

--- Reads how each property of a body is sent.
---@param build table
---@param place operations.openapi.Place  the Media Type Object
---@param is_multipart boolean
---@return table<string, operations.openapi.PartField> fields
---@return boolean needs_file  is a file required?
---@return operations.openapi.PartField? rest  of properties without a name (`additionalProperties`)
---@return table<string, operations.openapi.PartField> patterns  of properties by pattern; `fields` has them by name
function encoding.fields(build, place, is_multipart)
  local fields, needs_file = {}, false
  local properties, required, more, patterns = properties_of(build, build.source:member(place, "schema"))
  local rest = more and of_schema(build, more) or nil
  for name, property in pairs(properties) do
    fields[name] = of_schema(build, property)
    needs_file = needs_file or fields[name].file == true and required[name] == true
  end
  local by_pattern = add_patterns(build, fields, patterns)
  local all = build.source:child(place, "encoding")
  for name in pairs(all and all.node or {}) do
    local entry = build.source:child(all, name)
    if entry then
      local field = rawget(fields, name) or members.copy(fields[name] or rest or {})
      fields[name] = field
      read_entry(build, entry, field, is_multipart)
    end
  end
  return fields, needs_file, rest, by_pattern
end

-- The encoding of one unnamed part, by the schema of its position and its Encoding Object.
local function position(build, place, entry)
  local field = place and of_schema(build, place) or {}
  if entry then
    read_entry(build, entry, field, true)
  end
  return field
end

--- Reads the encoding of the unnamed parts of a multipart body (3.2: `prefixEncoding`, `itemEncoding`).
---@param build table
---@param place operations.openapi.Place  the Media Type Object
---@return { prefix: operations.openapi.PartField[], items: operations.openapi.PartField }
function encoding.positions(build, place)
  local value = build.source:child(place, "schema")
  local prefix = value and build.source:child(value, "prefixItems")
  local encodings = build.source:child(place, "prefixEncoding")
  local items = build.source:member(place, "itemSchema") or value and build.source:member(value, "items")
  local found = { prefix = {}, items = position(build, items, build.source:child(place, "itemEncoding")) }
  for i = 1, math.max(prefix and #prefix.node or 0, encodings and #encodings.node or 0) do
    found.prefix[i] = position(build, prefix and build.source:member(prefix, i) or items,
      encodings and build.source:child(encodings, i))
  end
  return found
end

--- May the value be null?
---@param build table
---@param place operations.openapi.Place  of its schema
---@return boolean
function encoding.is_nullable(build, place)
  return search(build, place, function(target)
    local kind = target.node.type
    return (kind == "null" or target.node.nullable == true
      or type(kind) == "table" and members.contains(kind, "null")) or nil
  end) == true
end

--- May the value be a file: by its schema, or by a media type other than text and JSON?
---@param field? operations.openapi.PartField
---@return boolean
function encoding.may_be_file(field)
  if not field or field.file then
    return field ~= nil
  end
  local essence = media.essence(field.content_type)
  return field.text == true and essence ~= "" and essence ~= "text/plain" and not media.is_json(essence)
end

return encoding
