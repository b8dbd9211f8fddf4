--- Properties that travel one way only: `readOnly` ones are not sent, `writeOnly` ones do not come back.
local direction = {}

---@alias operations.openapi.Direction
---| "input"   # what is sent: without readOnly properties
---| "patch"   # as input, and no `default`: what the caller leaves out must stay as it is
---| "output"  # what comes back: without writeOnly properties

local hidden_by = { input = "readOnly", patch = "readOnly", output = "writeOnly" }

--- Is this property for the other direction only?
local function is_hidden(source, property, file, flag)
  for _ = 1, 8 do
    if type(property) ~= "table" then
      return false
    elseif property[flag] == true then
      return true
    elseif type(property["$ref"]) ~= "string" then
      return false
    end
    local place = source:lookup(property["$ref"], file)
    if not place then
      return false
    end
    property, file = place.node, place.file
  end
  return false
end

local function copy_of(map)
  local copy = setmetatable({}, getmetatable(map))
  for key, value in pairs(map) do
    copy[key] = value
  end
  return copy
end

--- Takes the properties of the other direction out of a schema, and out of what it requires.
---@param source operations.openapi.Document
---@param schema table  a copy that may be changed, with properties
---@param originals table  the properties as the document has them
---@param file operations.openapi.File  that holds the schema
---@param way operations.openapi.Direction
---@return boolean changed
function direction.apply(source, schema, originals, file, way)
  local gone, properties = {}, schema.properties
  for key, property in pairs(originals) do
    if is_hidden(source, property, file, hidden_by[way]) then
      if schema.properties == properties then
        schema.properties = copy_of(properties)
      end
      gone[key], schema.properties[key] = true, nil
    end
  end
  if schema.properties == properties then
    return false
  end
  local required = {}
  for _, key in ipairs(type(schema.required) == "table" and schema.required or {}) do
    required[#required + 1] = not gone[key] and key or nil
  end
  schema.required = #required > 0 and required or nil
  return true
end

return direction
