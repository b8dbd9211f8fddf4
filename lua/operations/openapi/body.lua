--- Request bodies: the media types of an operation, and the JSON Schema of the value.
local encoder = require("operations.openapi.encoder")
local encoding = require("operations.openapi.encoding")
local file = require("operations.openapi.file")
local media = require("operations.openapi.media")

local body = {}

---@class operations.openapi.BodyType
---@field name string  as in the document
---@field essence string
---@field kind "json"|"form"|"multipart"|"lines"|"sequence"|"bytes"
---@field content_type string  as sent
---@field fields? table<string, operations.openapi.PartField>  of forms and multipart
---@field rest? operations.openapi.PartField  of properties that are not in `fields`
---@field patterns? table<string, operations.openapi.PartField>  of properties by pattern
---@field positions? table  encoding of the unnamed parts of other multipart types
---@field files boolean  may files of this machine be sent
---@field place operations.openapi.Place  the Media Type Object
---@field schema? table|boolean  of the value; its `$defs` are those of the operation's input
---@field headers? table<string, string>  of requests with it that have no other headers of their own, made by the first

---@class operations.openapi.Body
---@field types operations.openapi.BodyType[]  the default type first
---@field required boolean
---@field description? string
---@field key? string  of the input, selects a type; nil if there is only one
---@field differs? boolean  the types have different schemas: the value selects the type, which checks it

local order = { json = 1, form = 2, multipart = 3, lines = 4, sequence = 5, bytes = 6 }

local function content_type(name, kind)
  if not name:find("*", 1, true) then
    return name
  end
  return kind == "json" and "application/json" or kind == "multipart" and "multipart/form-data"
    or name:find("^text/") and "text/plain" or "application/octet-stream"
end

local function new_type(build, content, name)
  local essence = media.essence(name)
  local kind = encoder.kind(essence)
  local place = kind and build.source:child(content, name)
  if not place then
    return nil
  end
  local made = {
    name = name, essence = essence, kind = kind, content_type = content_type(name, kind), place = place,
    files = build.files_allowed, rank = order[kind],
  }
  if kind == "form" or kind == "multipart" then
    local needs_file
    made.fields, needs_file, made.rest, made.patterns = encoding.fields(build, place, kind == "multipart")
    if needs_file and kind == "multipart" then
      made.rank = 0 -- only multipart can carry a file
    end
    if kind == "multipart" and essence ~= "multipart/form-data" then
      made.positions = encoding.positions(build, place)
    end
  end
  return made
end

-- The rank of a type among the configured ones; lower is better.
local function preference(preferred, made)
  for i, name in ipairs(preferred or {}) do
    if media.essence(name) == made.essence then
      return i
    end
  end
  return math.huge
end

--- The types, best first: configured ones, multipart if it requires a file, JSON, a form, multipart, JSON lines,
--- others; then by name.
local function types_of(build, content)
  local list, preferred = {}, build.config.content_types
  for position, name in ipairs(media.names(content.node)) do
    local made = new_type(build, content, name)
    if made then
      made.position, made.preference = position, preference(preferred, made)
      list[#list + 1] = made
    end
  end
  table.sort(list, function(a, b)
    if a.preference ~= b.preference then
      return a.preference < b.preference
    elseif a.rank ~= b.rank then
      return a.rank < b.rank
    end
    return a.position < b.position
  end)
  return list
end

local function unsupported(build, place, required)
  local names = table.concat(media.names(place.node.content), ", ")
  if names == "" then
    return build.report(place.pointer .. "/content", "the request body has no media type; it is left out")
  end
  local message = ("request bodies of type %s are not supported"):format(names)
  if required then
    error({ pointer = place.pointer .. "/content", message = message })
  end
  build.report(place.pointer .. "/content", message .. "; the optional body is left out")
end

--- Reads the request body of an operation.
---@param build table
---@param operation operations.openapi.Place
---@return operations.openapi.Body?  nil without one
function body.read(build, operation)
  local place, message = build.source:child(operation, "requestBody")
  if message then
    error({ pointer = operation.pointer .. "/requestBody", message = message })
  elseif not place then
    return nil
  end
  local required, content = place.node.required == true, build.source:child(place, "content")
  local types = content and types_of(build, content) or {}
  if #types == 0 then
    return unsupported(build, place, required)
  end
  local description = place.node.description
  return {
    types = types, required = required, key = (#types > 1 or types[1].name:find("*", 1, true)) and "contentType" or nil,
    description = type(description) == "string" and description or nil,
  }
end

local function schema_of_lines(build, made, way, used)
  local item = build.source:member(made.place, "itemSchema")
  local from = item or build.source:member(made.place, "schema")
  if not from then
    return true
  end
  local schema, target = build.converter:convert(from, way, used), build.source:follow(from)
  if not item and target and target.node.type == "array" then
    return schema
  end
  return { type = "array", items = schema }
end

local function schema_of(build, made, way, used)
  if made.kind == "bytes" then
    return media.is_text(made.essence) and { type = "string" } or file.schema(build)
  elseif made.kind == "lines" or made.kind == "sequence" then
    return schema_of_lines(build, made, way, used)
  end
  local from = build.source:member(made.place, "schema")
  if not from then
    return true
  elseif made.kind == "multipart" then
    return file.body_schema(build, from, made, way, used)
  end
  return build.converter:convert(from, way, used)
end

-- Is the schema in the list already, as the same reference or the same table?
local function is_known(list, schema)
  for _, known in ipairs(list) do
    if known == schema or type(schema) == "table" and type(known) == "table" and schema["$ref"] ~= nil
      and schema["$ref"] == known["$ref"] and next(schema, next(schema)) == nil then
      return true
    end
  end
  return false
end

--- The JSON Schema of the value: of the only type, or of any of several.
---@param build table
---@param plan operations.openapi.Body
---@param way operations.openapi.Direction
---@param used table<string, operations.openapi.Place>
---@return table|boolean
function body.schema(build, plan, way, used)
  local list, is_open = {}, false
  for _, made in ipairs(plan.types) do
    made.schema = schema_of(build, made, way, used)
    is_open = is_open or made.schema == true
    if not is_known(list, made.schema) then
      list[#list + 1] = made.schema
    end
  end
  plan.differs = #list > 1
  return is_open or #list == 1 and list[1] or { anyOf = list }
end

--- The JSON Schema of the input's key that selects a type.
---@param plan operations.openapi.Body
---@return table
function body.type_schema(plan)
  local names, is_open = {}, false
  for i, made in ipairs(plan.types) do
    names[i] = made.name
    is_open = is_open or made.name:find("*", 1, true) ~= nil
  end
  return {
    type = "string", enum = not is_open and names or nil,
    description = plan.differs
      and ("The media type of the body; when absent, %s or the first that the body fits."):format(
        plan.types[1].content_type)
      or ("The media type of the body; %s when absent."):format(plan.types[1].content_type),
  }
end

return body
