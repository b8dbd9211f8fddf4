--- `enum` and `const` in a subset: scalars only; other values travel as JSON text.
local core = require("operations.core")
local offered_schema = require("operations.tools.offered_schema")
local phrase = require("operations.tools.phrase")

local literal = {}

local type_names = { string = "string", boolean = "boolean", number = "number", userdata = "null" }

local function type_of(value)
  if value == core.null then
    return "null"
  elseif type(value) == "number" and value % 1 == 0 then
    return "integer"
  end
  return type_names[type(value)]
end

--- Offers the values of an `enum` or `const`.
---@param self table  the state of subset.lua
---@param schema table
---@return table offered
---@return table? plan
function literal.of(self, schema)
  local caps = self.caps
  local values = schema.const ~= nil and { schema.const } or schema.enum
  local types, seen, nullable = offered_schema.array({}), {}, false
  for _, value in ipairs(values) do
    local kind = type_of(value)
    if not kind then
      return offered_schema.as_text(self, schema)
    end
    nullable = nullable or kind == "null"
    types[#types + 1] = not seen[kind] and kind or nil
    seen[kind] = true
  end
  if not types[1] then
    return offered_schema.as_text(self, schema)
  elseif caps.nullable then
    if #types > (nullable and 2 or 1) or not seen.string then
      local kind = types[1] == "null" and types[2] or types[1]
      return { type = kind == "null" and "STRING" or kind:upper(), nullable = nullable or nil,
        description = phrase.of(schema, { type = true }) }
    end
    local texts = offered_schema.array({})
    for _, value in ipairs(values) do
      texts[#texts + 1] = value ~= core.null and value or nil
    end
    return { type = "STRING", enum = texts, nullable = nullable or nil,
      description = phrase.of(schema, { enum = true, const = true }) }
  end
  local offered = { description = phrase.of(schema, { enum = true, const = true }), title = schema.title }
  if schema.const ~= nil and schema.const ~= core.null then
    offered.const = schema.const
  else
    local copy = offered_schema.array({})
    for i, value in ipairs(values) do
      copy[i] = value
    end
    offered.enum = copy
  end
  if caps.typed_enum then
    offered.type = #types == 1 and types[1] or types
  end
  return offered
end

return literal
