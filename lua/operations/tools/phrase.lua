--- Describes keywords that a vendor's subset of JSON Schema lacks, for the model; the original schema validates its
--- arguments.
local core = require("operations.core")
local json = require("operations.base.json")
local keywords = require("operations.schema.keywords")
local number_text = require("operations.base.number_text")

local phrase = {}

local MAX_JSON = 600 -- bytes of a quoted schema or value

local function quoted(value)
  local text = json.encode(value, { sort_keys = true })
  return text and #text <= MAX_JSON and text or nil
end

-- The words for a keyword's value; nil where it says nothing.
local function words_of(row, value)
  if row.shape == "boolean" and value ~= true then
    return nil
  elseif row.unit then
    return ("%s %s%s"):format(row.model:format(number_text.of(value)), row.unit, value == 1 and "" or "s")
  end
  local text = type(value) == "string" and value or quoted(value)
  return text and row.model:format(text)
end

--- The description of a schema, followed by keywords in brackets that the subset lacks.
---@param schema table
---@param said table<string, any>  keywords that the subset has
---@return string?
function phrase.of(schema, said)
  local list = {}
  for _, row in ipairs(keywords) do
    local value = schema[row.name]
    if value ~= nil and said[row.name] == nil and row.model then
      list[#list + 1] = words_of(row, value)
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
