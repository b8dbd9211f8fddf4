--- Properties that travel one way only: `readOnly` ones are not sent, `writeOnly` ones do not come back.
local members = require("operations.base.members")

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

--- Which properties are for the other direction only.
---@param source operations.openapi.Document
---@param properties table  as the document has them
---@param file operations.openapi.File  that holds them
---@param way operations.openapi.Direction
---@return table<string, boolean>? gone  nil when there are none
function direction.gone(source, properties, file, way)
  local gone
  for key, property in pairs(properties) do
    if is_hidden(source, property, file, hidden_by[way]) then
      gone = gone or {}
      gone[key] = true
    end
  end
  return gone
end

--- Takes properties out of a schema, and out of what it requires.
---@param schema table  a copy that may be changed
---@param gone table<string, boolean>
function direction.remove(schema, gone)
  schema.properties = members.copy(schema.properties)
  for key in pairs(gone) do
    schema.properties[key] = nil
  end
  local required = {}
  for _, key in ipairs(type(schema.required) == "table" and schema.required or {}) do
    required[#required + 1] = not gone[key] and key or nil
  end
  schema.required = #required > 0 and required or nil
end

return direction
