--- Describes keywords that a vendor's subset of JSON Schema lacks, for the model; the original schema validates its
--- arguments.
local core = require("operations.core")
local json = require("operations.base.json")
local number_text = require("operations.base.number_text")

local phrase = {}

local MAX_JSON = 600 -- bytes of a quoted schema or value

local function quoted(value)
  local text = json.encode(value, { sort_keys = true })
  return text and #text <= MAX_JSON and text or nil
end

local function plural(count, noun)
  return ("%s %s%s"):format(number_text.of(count), noun, count == 1 and "" or "s")
end

local function counted(words, noun)
  return function(value)
    return words .. " " .. plural(value, noun)
  end
end

local function with(format)
  return function(value)
    local text = type(value) == "string" and value or quoted(value)
    return text and format:format(text) or nil
  end
end

local function named(key)
  return function(value)
    local text = quoted(value)
    return text and key .. ": " .. text or nil
  end
end

-- In the order of the description.
local known = {
  { "const", with("always %s") },
  { "enum", with("one of %s") },
  { "format", with("format %s") },
  { "pattern", with("matches the pattern %s") },
  { "minLength", counted("at least", "character") },
  { "maxLength", counted("at most", "character") },
  { "minimum", with("at least %s") },
  { "exclusiveMinimum", with("above %s") },
  { "maximum", with("at most %s") },
  { "exclusiveMaximum", with("below %s") },
  { "multipleOf", with("a multiple of %s") },
  { "minItems", counted("at least", "item") },
  { "maxItems", counted("at most", "item") },
  { "uniqueItems", function(value)
    return value == true and "no item twice" or nil
  end },
  { "minProperties", counted("at least", "member") },
  { "maxProperties", counted("at most", "member") },
  { "contentEncoding", with("encoded as %s") },
  { "contentMediaType", with("of the media type %s") },
  { "default", with("default %s") },
  { "examples", with("examples %s") },
  { "example", with("example %s") },
}

for _, key in ipairs({ "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains", "minContains", "maxContains",
  "dependentRequired", "dependentSchemas", "dependencies", "propertyNames", "unevaluatedProperties",
  "unevaluatedItems", "contentSchema" }) do
  known[#known + 1] = { key, named(key) }
end

--- The description of a schema, followed by keywords in brackets that the subset lacks.
---@param schema table
---@param said table<string, any>  keywords that the subset has
---@return string?
function phrase.of(schema, said)
  local list = {}
  for _, entry in ipairs(known) do
    local value = schema[entry[1]]
    if value ~= nil and said[entry[1]] == nil then
      list[#list + 1] = entry[2](value)
    end
  end
  local description = type(schema.description) == "string" and schema.description ~= "" and schema.description or nil
  if not list[1] then
    return description
  end
  return (description and description .. " " or "") .. "(" .. table.concat(list, "; ") .. ")"
end

--- The description of a string that holds a value as JSON text.
---@param schema any
---@return string
function phrase.of_text(schema)
  local is_table = type(schema) == "table"
  local description = is_table and type(schema.description) == "string" and schema.description .. " " or ""
  local bare = {}
  for key, value in pairs(is_table and schema or {}) do
    if key ~= "description" and key ~= "$defs" and key ~= "definitions" and key ~= "$schema" then
      bare[key] = value
    end
  end
  local text = next(bare) and quoted(setmetatable(bare, core.object_mt))
  return description .. "(JSON text" .. (text and " of a value of this JSON Schema: " .. text or " of any value") .. ")"
end

return phrase
