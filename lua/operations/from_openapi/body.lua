--- Request bodies: which media type is sent, and how a value becomes its bytes.
local core = require("operations.core")
local document = require("operations.from_openapi.document")
local json = require("operations.json")
local marked = require("operations.from_openapi.marked")
local media = require("operations.from_openapi.media")
local parameter = require("operations.from_openapi.parameter")

local body = {}

---@class operations.openapi.Body
---@field kind "json"|"form"|"text"
---@field content_type string  as sent
---@field required boolean
---@field place? operations.openapi.Place  its schema
---@field schema table|boolean  instead of one
---@field description? string

local encoders = {}

--- An empty table is an array where the schema says so, else an object.
function encoders.json(value, plan, input_schema)
  local text, err = json.encode(marked.value(value, plan.marks and input_schema.properties.body, input_schema))
  return text, err and err.message
end

--- Each property is a parameter of style form; objects go as JSON (OpenAPI 3.0.4, "Encoding Object").
function encoders.form(value)
  if core.kind(value) ~= "object" then
    return nil, "expected an object, which is sent as a form"
  end
  local keys, fields = {}, {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local is_object = core.kind(value[key]) == "object"
    local text, message = parameter.text({
      name = key, location = "query", style = "form", explode = true, media = is_object and "application/json" or nil,
    }, value[key])
    if message then
      return nil, key .. ": " .. message
    end
    fields[#fields + 1] = text
  end
  return (table.concat(fields, "&"):gsub("%%20", "+"))
end

function encoders.text(value)
  if type(value) ~= "string" then
    return nil, "expected a string, which is sent as it is"
  end
  return value
end

local function kind_of(essence)
  if media.is_json(essence) or essence == "*/*" or essence == "application/*" or essence == "application/*+json" then
    return "json"
  elseif essence == "application/x-www-form-urlencoded" then
    return "form"
  elseif essence:find("^multipart/") or media.stream_kind(essence) then
    return nil
  end
  return "text"
end

local order = { json = 1, form = 2, text = 3 }

--- The media type that is sent: JSON, else a form, else text or bytes.
local function choose(content)
  local best, best_kind
  for _, name in ipairs(media.names(content)) do
    local kind = kind_of(media.essence(name))
    if kind and (not best or order[kind] < order[best_kind]) then
      best, best_kind = name, kind
    end
  end
  return best, best_kind
end

local function content_type(name)
  return name:find("*", 1, true) and "application/json" or name
end

local function unsupported(build, place, required)
  local names = table.concat(media.names(place.node.content), ", ")
  local message = ("request bodies of type %s are not supported"):format(names ~= "" and names or "(none)")
  if required then
    error({ pointer = place.pointer .. "/content", message = message }, 0)
  end
  build.report(place.pointer .. "/content", message .. "; the optional body is left out")
end

--- Reads the request body of an operation.
---@param build table
---@param operation operations.openapi.Place
---@return operations.openapi.Body?  nil when it has none
function body.read(build, operation)
  local place, message = build.source:child(operation, "requestBody")
  if message then
    error({ pointer = operation.pointer .. "/requestBody", message = message }, 0)
  elseif not place then
    return nil
  end
  local required = place.node.required == true
  local name, kind = choose(place.node.content)
  if not name then
    return unsupported(build, place, required)
  end
  local node, description, pointer = place.node.content[name], place.node.description, place.pointer
  local from = node.schema ~= nil and kind ~= "text"
    and { node = node.schema, file = place.file, pointer = pointer .. "/content/" .. document.token(name) .. "/schema" }
  return {
    kind = kind,
    marks = kind == "json" and from ~= nil,
    content_type = content_type(name),
    required = required,
    place = from or nil,
    schema = kind == "text" and { type = "string" } or true,
    description = type(description) == "string" and description or nil,
  }
end

--- The bytes of a body.
---@param plan operations.openapi.Body
---@param value any
---@param input_schema table  of the operation
---@return string? text
---@return string? message
function body.encode(plan, value, input_schema)
  return encoders[plan.kind](value, plan, input_schema)
end

return body
