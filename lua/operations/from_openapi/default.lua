--- Defaults that documents give by mistake: "10" for an integer, null for a string, a value that its enum lacks. One
--- that is filled in would have a call refused for what its caller never said.
local schema = require("operations.schema")

local default = {}

-- What a schema says of a value without other schemas.
local keywords = {
  "type", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
  "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required",
}

--- Why the default of a schema does not fit that schema itself; nil when it does, or nothing can be said.
---@param definition table  as 2020-12
---@param way operations.openapi.Direction  formats count in what is sent alone
---@return string? message
function default.misfit(definition, way)
  local own = {}
  for _, key in ipairs(keywords) do
    own[key] = definition[key]
  end
  local compiled = schema.compile(own, { formats = way ~= "output" })
  local ok, issues = true, nil
  if compiled then
    ok, issues = compiled:check(definition.default)
  end
  return not ok and issues[1].message or nil
end

return default
