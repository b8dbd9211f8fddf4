--- The parameters of Swagger 2.0 as parameters and a request body of OpenAPI 3.0.
local location = require("operations.openapi.location")

local swagger_parameter = {}

local MAX_DEPTH = 500

--- A copy of a schema whose references lead to the same places from another file.
local function rebased(node, file, depth)
  if type(node) ~= "table" or depth > MAX_DEPTH then
    return node
  end
  local copy = setmetatable({}, getmetatable(node))
  for key, value in pairs(node) do
    copy[key] = rebased(value, file, depth + 1)
  end
  local ref = node["$ref"]
  if type(ref) == "string" then
    local where = file.location or ""
    copy["$ref"] = ref:sub(1, 1) == "#" and where .. ref or location.resolve(where, ref)
  end
  return copy
end

--- The schema of a place for use in another file.
---@param place operations.openapi.Place
---@param schema any
---@param file operations.openapi.File
---@return any
function swagger_parameter.here(place, schema, file)
  if place.file == file or schema == nil then
    return schema
  end
  return rebased(schema, place.file, 0)
end

local schema_keywords = {
  "type", "format", "items", "default", "enum", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
  "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "x-nullable",
}

--- Type and limits stand beside the name in 2.0; `file` is a type of its own.
local function schema_of(node)
  local schema = {}
  for _, key in ipairs(schema_keywords) do
    schema[key] = node[key]
  end
  if schema.type == "file" then
    schema.type, schema.format = "string", "binary"
  end
  return schema
end

-- How the items of an array are put in a row; by location where that matters.
local styles = { ssv = "spaceDelimited", pipes = "pipeDelimited" }

--- style, explode
local function style_of(node, pointer, report)
  local how = node.collectionFormat or "csv"
  if node.type ~= "array" then
    return nil, nil
  elseif how == "tsv" then
    report(pointer .. "/collectionFormat", "tsv is not supported; the items are separated by commas")
  end
  if node["in"] == "query" or node["in"] == "formData" then
    return styles[how] or "form", how == "multi"
  end
  return "simple", false
end

local function plain(node, pointer, report)
  local style, explode = style_of(node, pointer, report)
  return {
    name = node.name, ["in"] = node["in"], description = node.description, required = node.required,
    deprecated = node["x-deprecated"], allowEmptyValue = node.allowEmptyValue,
    style = style, explode = explode, schema = schema_of(node),
  }
end

local function has_type(types, wanted)
  for _, name in ipairs(types) do
    if name:lower():find(wanted, 1, true) then
      return true
    end
  end
  return false
end

local function form_body(fields, consumes, report)
  local schema, encoding, has_file = { type = "object", properties = {} }, {}, false
  local required = {}
  for _, place in ipairs(fields) do
    local node = place.node
    local property = schema_of(node)
    property.description = node.description
    schema.properties[node.name] = property
    has_file = has_file or node.type == "file"
    required[#required + 1] = node.required == true and node.name or nil
    local style, explode = style_of(node, place.pointer, report)
    encoding[node.name] = style and { style = style, explode = explode } or nil
  end
  schema.required = #required > 0 and required or nil
  local multipart = has_file or has_type(consumes, "multipart/form-data")
    and not has_type(consumes, "application/x-www-form-urlencoded")
  local name = multipart and "multipart/form-data" or "application/x-www-form-urlencoded"
  return {
    required = #required > 0, content = { [name] = { schema = schema, encoding = next(encoding) and encoding or nil } },
  }
end

local function value_body(place, schema, consumes)
  local content = {}
  for _, name in ipairs(#consumes > 0 and consumes or { "application/json" }) do
    content[name] = { schema = schema }
  end
  return { required = place.node.required, description = place.node.description, content = content }
end

--- Adds the parameters of a path item or operation to `found`; later ones replace those of the same name and location.
local function collect(source, owner, found, report)
  local list = type(owner.node) == "table" and owner.node.parameters
  for i = 1, type(list) == "table" and #list or 0 do
    local pointer = owner.pointer .. "/parameters/" .. i - 1
    local place, message = source:follow({ node = list[i], file = owner.file, pointer = pointer })
    if place and type(place.node) == "table" then
      local id = tostring(place.node["in"]) .. " " .. (place.node["in"] == "body" and "" or tostring(place.node.name))
      found.index[id] = found.index[id] or #found + 1
      found[found.index[id]] = place
    else
      report(pointer, message or "expected a parameter")
    end
  end
end

--- The parameters of an operation, those of its path item among them, and its body.
---@param source operations.openapi.Document
---@param item operations.openapi.Place
---@param operation operations.openapi.Place
---@param consumes string[]
---@param report fun(pointer: string, message: string)
---@return table[] parameters
---@return table? body  a Request Body Object
function swagger_parameter.convert(source, item, operation, consumes, report)
  local found, list, fields, body = { index = {} }, {}, {}, nil
  collect(source, item, found, report)
  collect(source, operation, found, report)
  for _, place in ipairs(found) do
    local where = place.node["in"]
    if where == "body" then
      body = value_body(place, swagger_parameter.here(place, place.node.schema, operation.file), consumes)
    elseif where == "formData" and type(place.node.name) == "string" then
      fields[#fields + 1] = place
    else
      list[#list + 1] = plain(place.node, place.pointer, report)
    end
  end
  if #fields > 0 and not body then
    body = form_body(fields, consumes, report)
  end
  return list, body
end

return swagger_parameter
