--- OpenAPI 3.0's schema dialect as JSON Schema 2020-12: `nullable` (`x-nullable` in 2.0), boolean `exclusiveMinimum`.
--- In place, on a copy.
local core = require("operations.core")

local dialect = {}

local function with_null(values)
  local list = {}
  for i, value in ipairs(values) do
    if value == core.null or value == "null" then
      return values
    end
    list[i] = value
  end
  return list
end

--- `nullable` beside `type` adds a type. Beside references and enums it is meant the same way, whatever later
--- revisions of 3.0 say, and servers send null.
local function allow_null(schema)
  if schema.enum ~= nil and type(schema.enum) == "table" then
    local enum = with_null(schema.enum)
    if enum ~= schema.enum then
      enum[#enum + 1] = core.null
      schema.enum = enum
    end
  end
  if type(schema.type) == "string" then
    schema.type = { schema.type, "null" }
  elseif schema.allOf or schema.anyOf or schema.oneOf then
    local inner = {}
    for _, key in ipairs({ "allOf", "anyOf", "oneOf", "not" }) do
      inner[key], schema[key] = schema[key], nil
    end
    schema.anyOf = { { type = "null" }, inner }
  end
end

local function exclusive(schema, flag, limit)
  if schema[flag] == true then
    schema[flag], schema[limit] = schema[limit], nil
  elseif schema[flag] == false then
    schema[flag] = nil
  end
end

--- Does this schema hold anything that `convert` changes? Boolean bounds are wrong in later versions and meant alike.
---@param schema table
---@param old boolean  OpenAPI 3.0
---@return boolean
function dialect.is_old(schema, old)
  return old and (schema.nullable ~= nil or schema["x-nullable"] ~= nil) or schema["$dynamicRef"] ~= nil
    or type(schema.exclusiveMinimum) == "boolean"
    or type(schema.exclusiveMaximum) == "boolean"
end

--- Changes one schema object (not those inside it) from 3.0's dialect to 2020-12.
---@param schema table  a copy that may be changed
---@param old boolean  OpenAPI 3.0: `nullable` means something
function dialect.convert(schema, old)
  if old then
    if schema.nullable == true or schema["x-nullable"] == true then
      allow_null(schema)
    end
    schema.nullable = nil
  end
  exclusive(schema, "exclusiveMinimum", "minimum")
  exclusive(schema, "exclusiveMaximum", "maximum")
  -- The schema stands alone: what a `$dynamicRef` could be redirected to is not there.
  schema["$ref"], schema["$dynamicRef"] = schema["$ref"] or schema["$dynamicRef"], nil
end

return dialect
