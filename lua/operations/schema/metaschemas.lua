--- The metaschemas of the five drafts, by URI, for `$ref`s to them. Each is built on first use, without the parts that
--- are only for people (titles, comments, defaults).
local keywords = require("operations.schema.keywords")
local marks = require("operations.core")
local members = require("operations.base.members")

local metaschemas = {}

local function array(list)
  return setmetatable(list, marks.array_mt)
end

local function map_of(value)
  return { type = "object", additionalProperties = value }
end

local function any_of(...)
  return { anyOf = array({ ... }) }
end

local string, boolean, number = { type = "string" }, { type = "boolean" }, { type = "number" }
local strings = { type = "array", items = string, uniqueItems = true }
local positive = { type = "number", exclusiveMinimum = 0 }
local reference = { type = "string", format = "uri-reference" }
local uri = { type = "string", format = "uri" }

--- The schemas for values of keywords, by the shape names used in the lists of keywords. `self` refers to the draft
--- itself, `path` is that of its definitions, `count` is the schema of a count; `more` are the draft's own shapes.
local function shapes_of(self, path, count, more)
  local function definition(name)
    return { ["$ref"] = path .. name }
  end
  local list, texts, type_name = definition("schemaArray"), definition("stringArray"), definition("simpleTypes")
  return members.merged({
    any = {}, array = { type = "array" }, boolean = boolean, number = number, positive = positive, string = string,
    regex = { type = "string", format = "regex" }, uri = uri, reference = reference, self = self, list = list,
    self_or_boolean = any_of(boolean, self), self_or_list = any_of(self, list), strings = texts, map = map_of(self),
    map_of_strings = map_of(texts), map_of_self_or_strings = map_of(any_of(self, texts)),
    types = any_of(type_name, { type = "array", items = type_name, minItems = 1, uniqueItems = true }),
    count = definition(count), count_or_none = definition(count .. "Default0"),
  }, more)
end

--- The properties of a metaschema, from lists of keywords by shape; later lists win.
local function properties_of(shapes, ...)
  local properties = {}
  for _, names_by_shape in ipairs({ ... }) do
    for shape, names in pairs(names_by_shape) do
      for name in names:gmatch("%S+") do
        properties[name] = shapes[shape]
      end
    end
  end
  return properties
end

local function list_definition(self)
  return { schemaArray = { type = "array", minItems = 1, items = self } }
end

local function value_definitions(count, count_or_none)
  return {
    [count] = { type = "integer", minimum = 0 }, [count .. "Default0"] = count_or_none, stringArray = strings,
    simpleTypes = { enum = array({ "array", "boolean", "integer", "null", "number", "object", "string" }) },
  }
end

--- The vocabularies of 2019-09 and 2020-12.
local vocabularies = { core = {
  identifier = "$id", uri = "$schema", anchor = "$anchor", reference = "$ref", string = "$comment", map = "$defs",
  vocabularies = "$vocabulary",
} }

-- The shapes of the table of keywords that have other names here.
local shape_of = {
  list = "array", name_map = "map_of_strings", names = "strings", pattern = "regex", pattern_map = "map",
  schema = "self", schemas = "list", type = "types",
}
local default_zero = members.set({ "minLength", "minItems", "minProperties" })

for _, row in ipairs(keywords) do
  if row.vocabulary and row.vocabulary ~= "core" and row.vocabulary ~= "openapi" and row.name ~= "prefixItems" then
    local shapes = vocabularies[row.vocabulary] or {}
    local shape = default_zero[row.name] and "count_or_none" or shape_of[row.shape] or row.shape
    shapes[shape] = (shapes[shape] or "") .. " " .. row.name
    vocabularies[row.vocabulary] = shapes
  end
end
vocabularies["format-annotation"], vocabularies["format-assertion"] = vocabularies.format, vocabularies.format

--- Drafts 4 to 7, and the keywords that each adds to the one before.
local draft4 = {
  string = "id $schema title description format", any = "default", positive = "multipleOf", number = "maximum minimum",
  boolean = "exclusiveMaximum exclusiveMinimum uniqueItems", regex = "pattern", types = "type", strings = "required",
  enum = "enum", count = "maxLength maxItems maxProperties", count_or_none = "minLength minItems minProperties",
  list = "allOf anyOf oneOf", map = "definitions properties patternProperties", self = "not", self_or_list = "items",
  map_of_self_or_strings = "dependencies", self_or_boolean = "additionalItems additionalProperties",
}
local draft6 = {
  reference = "$id $ref", uri = "$schema", any = "const", array = "examples enum",
  number = "exclusiveMaximum exclusiveMinimum", self = "additionalItems additionalProperties contains propertyNames",
}
local draft7 = {
  string = "$comment contentMediaType contentEncoding", boolean = "readOnly writeOnly", self = "if then else",
}

local self = { ["$ref"] = "#" }

local function build_draft4(id)
  local shapes = shapes_of(self, "#/definitions/", "positiveInteger", {
    positive = { type = "number", minimum = 0, exclusiveMinimum = true },
    enum = { type = "array", minItems = 1, uniqueItems = true },
  })
  local definitions = value_definitions("positiveInteger", { allOf = array({ shapes.count }) })
  definitions.stringArray = members.merged({ minItems = 1 }, strings)
  return {
    id = id, ["$schema"] = id, type = "object", properties = properties_of(shapes, draft4),
    dependencies = { exclusiveMaximum = array({ "maximum" }), exclusiveMinimum = array({ "minimum" }) },
    definitions = members.merged(definitions, list_definition(self)),
  }
end

--- Draft 6, and draft 7 with its additions.
local function build_draft6(id, added)
  local shapes = shapes_of(self, "#/definitions/", "nonNegativeInteger")
  local definitions = value_definitions("nonNegativeInteger", { allOf = array({ shapes.count }) })
  local properties = properties_of(shapes, draft4, draft6, added)
  properties.id = nil
  return {
    ["$id"] = id, ["$schema"] = id, type = array({ "object", "boolean" }), properties = properties,
    definitions = members.merged(definitions, list_definition(self)),
  }
end

--- `self` refers to the schema recursively in the way of the draft, `mark` is the anchor of that; `added` are keywords
--- of vocabularies that the other draft lacks.
local drafts = {
  ["2019-09"] = {
    self = { ["$recursiveRef"] = "#" }, mark = { ["$recursiveAnchor"] = true }, anchor = "^[A-Za-z][-A-Za-z0-9.:_]*$",
    parts = { "core", "applicator", "validation", "meta-data", "format", "content" },
    added = {
      core = { reference = "$recursiveRef", boolean = "$recursiveAnchor" },
      applicator = { self = "additionalItems unevaluatedItems unevaluatedProperties", self_or_list = "items" },
    },
  },
  ["2020-12"] = {
    self = { ["$dynamicRef"] = "#meta" }, mark = { ["$dynamicAnchor"] = "meta" }, anchor = "^[A-Za-z_][-A-Za-z0-9._]*$",
    parts = { "core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content" },
    added = {
      core = { reference = "$dynamicRef", anchor = "$dynamicAnchor" },
      applicator = { list = "prefixItems" },
    },
  },
}

local function build_vocabulary(base, draft, name)
  local shapes = shapes_of(draft.self, "#/$defs/", "nonNegativeInteger", {
    anchor = { type = "string", pattern = draft.anchor },
    identifier = { type = "string", format = "uri-reference", pattern = "^[^#]*#?$" },
    vocabularies = { type = "object", propertyNames = uri, additionalProperties = boolean },
  })
  return members.merged({
    ["$id"] = base .. "meta/" .. name, ["$schema"] = base .. "schema", type = array({ "object", "boolean" }),
    ["$vocabulary"] = { [base .. "vocab/" .. name] = true },
    properties = properties_of(shapes, vocabularies[name], draft.added[name]),
    ["$defs"] = name == "applicator" and list_definition(draft.self)
      or name == "validation" and value_definitions("nonNegativeInteger", shapes.count) or nil,
  }, draft.mark)
end

local function build_modern(base, draft)
  local all, used = array({}), {}
  for i, name in ipairs(draft.parts) do
    all[i] = { ["$ref"] = "meta/" .. name }
    used[base .. "vocab/" .. name] = true
  end
  return members.merged({
    ["$id"] = base .. "schema", ["$schema"] = base .. "schema", ["$vocabulary"] = used, allOf = all,
    type = array({ "object", "boolean" }),
    properties = { definitions = map_of(draft.self), dependencies = map_of(any_of(draft.self, strings)) },
  }, draft.mark)
end

local function build(id)
  local old = id:match("^http://json%-schema%.org/draft%-0([467])/schema$")
  if old then
    return old == "4" and build_draft4(id .. "#") or build_draft6(id .. "#", old == "7" and draft7 or nil)
  end
  local base, version, rest = id:match("^(https://json%-schema%.org/draft/(%d+%-%d+)/)(.+)$")
  local draft, name = drafts[version], rest and rest:match("^meta/(.+)$")
  if draft and rest == "schema" then
    return build_modern(base, draft)
  end
  return draft and vocabularies[name] and build_vocabulary(base, draft, name)
end

local built = {}

--- The metaschema, or a part of one, at the URI `id`; nil when it is unknown.
---@param id string  without fragment
---@return table?
function metaschemas.find(id)
  built[id] = built[id] or build(id)
  return built[id] or nil
end

return metaschemas
