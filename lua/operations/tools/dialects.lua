--- The subsets of JSON Schema that the vendors' strict modes accept (by their documentation and SDKs, November 2026).
local members = require("operations.base.members")

local dialects = {}

local formats = { "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid" }

local ranges = { "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf" }

-- The limits in OpenAI's documentation, "Structured Outputs", for a whole schema.
local openai = {
  all_required = true, references = true, recursion = true, closed = true, typed_enum = true, type_lists = true,
  nullable = false, max_depth = 10, formats = members.set(formats),
  keywords = {
    string = { "pattern", "format" }, number = ranges, integer = ranges, array = { "minItems", "maxItems" },
  },
  max_properties = 5000, max_enum = 1000, max_characters = 120000,
}

local anthropic_formats = members.set(formats)
anthropic_formats.uri = true

-- By lib/transform-json-schema.js of the SDK.
local anthropic = {
  all_required = false, references = true, recursion = false, closed = true, typed_enum = false, type_lists = false,
  nullable = false, max_depth = 64, formats = anthropic_formats,
  keywords = { string = { "format" }, array = { "minItems" } },
  keeps = function(keyword, value)
    return keyword ~= "minItems" or value == 0 or value == 1
  end,
  key_pattern = "^[%w_.-]+$",
}

-- The Schema object of OpenAPI 3.0, `parameters`.
local gemini = {
  all_required = false, references = false, recursion = false, closed = false, typed_enum = true, type_lists = false,
  nullable = true, max_depth = 16, formats = members.set({ "date-time" }),
  keywords = {
    string = { "format" }, number = { "minimum", "maximum" }, integer = { "minimum", "maximum" },
  },
  key_pattern = "^[A-Za-z_][A-Za-z0-9_]*$",
}

---@type table<string, operations.ToolSubset>
dialects.strict = { openai = openai, ["openai-responses"] = openai, anthropic = anthropic, gemini = gemini }

--- Restrictions on property names without strict mode.
---@type table<string, string>
dialects.key_patterns = { anthropic = anthropic.key_pattern, gemini = gemini.key_pattern }

return dialects
