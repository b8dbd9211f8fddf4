--- The metaschemas of the five drafts, by URI, for `$ref`s to them. Each is built when it is first asked for; what only
--- people read in them (titles, comments, defaults) is left out.
local marks = require("operations.core")

local metaschemas = {}

local function array(list)
  return setmetatable(list, marks.array_mt)
end

local types = array({ "array", "boolean", "integer", "null", "number", "object", "string" })

--- What all drafts have in common; `ref` points to definition `name` of the draft at hand.
local function type_keyword(ref)
  return {
    anyOf = array({
      ref("simpleTypes"),
      { type = "array", items = ref("simpleTypes"), minItems = 1, uniqueItems = true },
    }),
  }
end

local function map_of(value)
  return { type = "object", additionalProperties = value }
end

local function definition(name)
  return { ["$ref"] = "#/definitions/" .. name }
end

local self = { ["$ref"] = "#" }
local string = { type = "string" }
local boolean = { type = "boolean" }
local number = { type = "number" }

local function count_keywords(ref, count, count_default)
  return {
    maxLength = ref(count), minLength = ref(count_default), maxItems = ref(count), minItems = ref(count_default),
    maxProperties = ref(count), minProperties = ref(count_default),
  }
end

local function add(target, source)
  for key, value in pairs(source) do
    target[key] = value
  end
  return target
end

local old_definitions = {
  schemaArray = { type = "array", minItems = 1, items = self },
  simpleTypes = { enum = types },
}

--- Properties of drafts 4 to 7.
local function old_properties(default_count)
  return add({
    title = string, description = string, default = {}, multipleOf = number, maximum = number, minimum = number,
    pattern = { type = "string", format = "regex" }, format = string, uniqueItems = boolean,
    items = { anyOf = array({ self, definition("schemaArray") }) },
    additionalItems = self, additionalProperties = self,
    required = definition("stringArray"), type = type_keyword(definition),
    definitions = map_of(self), properties = map_of(self), patternProperties = map_of(self),
    dependencies = map_of({ anyOf = array({ self, definition("stringArray") }) }),
    allOf = definition("schemaArray"), anyOf = definition("schemaArray"), oneOf = definition("schemaArray"),
    ["not"] = self,
  }, count_keywords(definition, "nonNegativeInteger", default_count))
end

local function draft4()
  local properties = old_properties("positiveIntegerDefault0")
  add(properties, count_keywords(definition, "positiveInteger", "positiveIntegerDefault0"))
  local self_or_boolean = { anyOf = array({ boolean, self }) }
  add(properties, {
    id = string, ["$schema"] = string, multipleOf = { type = "number", minimum = 0, exclusiveMinimum = true },
    exclusiveMaximum = boolean, exclusiveMinimum = boolean, additionalItems = self_or_boolean,
    additionalProperties = self_or_boolean, enum = { type = "array", minItems = 1, uniqueItems = true },
  })
  return {
    id = "http://json-schema.org/draft-04/schema#", ["$schema"] = "http://json-schema.org/draft-04/schema#",
    type = "object", properties = properties,
    dependencies = { exclusiveMaximum = array({ "maximum" }), exclusiveMinimum = array({ "minimum" }) },
    definitions = add({
      positiveInteger = { type = "integer", minimum = 0 },
      positiveIntegerDefault0 = { allOf = array({ definition("positiveInteger") }) },
      stringArray = { type = "array", items = string, minItems = 1, uniqueItems = true },
    }, old_definitions),
  }
end

--- Draft 6, and draft 7 with what it added.
local function draft6(uri, more)
  local properties = old_properties("nonNegativeIntegerDefault0")
  add(properties, count_keywords(definition, "nonNegativeInteger", "nonNegativeIntegerDefault0"))
  add(properties, {
    ["$id"] = { type = "string", format = "uri-reference" }, ["$schema"] = { type = "string", format = "uri" },
    ["$ref"] = { type = "string", format = "uri-reference" }, examples = { type = "array" }, const = {},
    multipleOf = { type = "number", exclusiveMinimum = 0 }, exclusiveMaximum = number, exclusiveMinimum = number,
    contains = self, propertyNames = self, enum = { type = "array" },
  })
  return {
    ["$id"] = uri, ["$schema"] = uri, type = array({ "object", "boolean" }), properties = add(properties, more),
    definitions = add({
      nonNegativeInteger = { type = "integer", minimum = 0 },
      nonNegativeIntegerDefault0 = { allOf = array({ definition("nonNegativeInteger") }) },
      stringArray = { type = "array", items = string, uniqueItems = true },
    }, old_definitions),
  }
end

local function draft7()
  return draft6("http://json-schema.org/draft-07/schema#", {
    ["$comment"] = string, readOnly = boolean, writeOnly = boolean, contentMediaType = string,
    contentEncoding = string, ["if"] = self, ["then"] = self, ["else"] = self,
  })
end

local function new_definition(name)
  return { ["$ref"] = "#/$defs/" .. name }
end

local counts = {
  nonNegativeInteger = { type = "integer", minimum = 0 },
  nonNegativeIntegerDefault0 = { ["$ref"] = "#/$defs/nonNegativeInteger" },
  simpleTypes = { enum = types },
  stringArray = { type = "array", items = string, uniqueItems = true },
}

--- The vocabularies of 2019-09 and 2020-12; `any` is a schema, by the draft's way of recursion.
local vocabularies = {}

function vocabularies.validation()
  return add({
    type = type_keyword(new_definition), const = {}, enum = { type = "array" },
    multipleOf = { type = "number", exclusiveMinimum = 0 }, maximum = number, exclusiveMaximum = number,
    minimum = number, exclusiveMinimum = number, pattern = { type = "string", format = "regex" },
    uniqueItems = boolean, maxContains = new_definition("nonNegativeInteger"),
    minContains = new_definition("nonNegativeInteger"), required = new_definition("stringArray"),
    dependentRequired = map_of(new_definition("stringArray")),
  }, count_keywords(new_definition, "nonNegativeInteger", "nonNegativeIntegerDefault0")), counts
end

vocabularies["meta-data"] = function()
  return {
    title = string, description = string, default = {}, deprecated = boolean, readOnly = boolean,
    writeOnly = boolean, examples = { type = "array" },
  }
end

function vocabularies.format()
  return { format = string }
end

vocabularies["format-annotation"] = vocabularies.format
vocabularies["format-assertion"] = vocabularies.format

function vocabularies.content(any)
  return { contentMediaType = string, contentEncoding = string, contentSchema = any }
end

function vocabularies.unevaluated(any)
  return { unevaluatedItems = any, unevaluatedProperties = any }
end

function vocabularies.applicator(any, draft)
  local list = new_definition("schemaArray")
  local properties = {
    contains = any, additionalProperties = any, properties = map_of(any), patternProperties = map_of(any),
    dependentSchemas = map_of(any), propertyNames = any, ["if"] = any, ["then"] = any, ["else"] = any,
    allOf = list, anyOf = list, oneOf = list, ["not"] = any, items = any,
  }
  if draft == "2019-09" then
    add(properties, {
      additionalItems = any, unevaluatedItems = any, unevaluatedProperties = any,
      items = { anyOf = array({ any, list }) },
    })
  else
    properties.prefixItems = list
  end
  return properties, { schemaArray = { type = "array", minItems = 1, items = any } }
end

function vocabularies.core(any, draft)
  local anchor = { type = "string", pattern = "^[A-Za-z_][-A-Za-z0-9._]*$" }
  local reference = { type = "string", format = "uri-reference" }
  local properties = {
    ["$id"] = { type = "string", format = "uri-reference", pattern = "^[^#]*#?$" },
    ["$schema"] = { type = "string", format = "uri" }, ["$anchor"] = anchor, ["$ref"] = reference,
    ["$comment"] = string, ["$defs"] = map_of(any),
    ["$vocabulary"] = { type = "object", propertyNames = { type = "string", format = "uri" },
      additionalProperties = boolean },
  }
  if draft == "2019-09" then
    properties["$anchor"] = { type = "string", pattern = "^[A-Za-z][-A-Za-z0-9.:_]*$" }
    return add(properties, { ["$recursiveRef"] = reference, ["$recursiveAnchor"] = boolean })
  end
  return add(properties, { ["$dynamicRef"] = reference, ["$dynamicAnchor"] = anchor })
end

local drafts = {
  ["2019-09"] = {
    any = { ["$recursiveRef"] = "#" }, mark = { ["$recursiveAnchor"] = true },
    parts = { "core", "applicator", "validation", "meta-data", "format", "content" },
  },
  ["2020-12"] = {
    any = { ["$dynamicRef"] = "#meta" }, mark = { ["$dynamicAnchor"] = "meta" },
    parts = { "core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content" },
  },
}

local function base(draft)
  return "https://json-schema.org/draft/" .. draft .. "/"
end

local function vocabulary(draft, name)
  local properties, definitions = vocabularies[name](drafts[draft].any, draft)
  return add({
    ["$id"] = base(draft) .. "meta/" .. name, ["$schema"] = base(draft) .. "schema",
    ["$vocabulary"] = { [base(draft) .. "vocab/" .. name] = true },
    type = array({ "object", "boolean" }), properties = properties, ["$defs"] = definitions,
  }, drafts[draft].mark)
end

local function modern(draft)
  local any, all, used = drafts[draft].any, array({}), {}
  for i, name in ipairs(drafts[draft].parts) do
    all[i] = { ["$ref"] = "meta/" .. name }
    used[base(draft) .. "vocab/" .. name] = true
  end
  return add({
    ["$id"] = base(draft) .. "schema", ["$schema"] = base(draft) .. "schema", ["$vocabulary"] = used,
    allOf = all, type = array({ "object", "boolean" }),
    properties = {
      definitions = map_of(any),
      dependencies = map_of({ anyOf = array({ any, { type = "array", items = string, uniqueItems = true } }) }),
    },
  }, drafts[draft].mark)
end

local old = {
  ["http://json-schema.org/draft-04/schema"] = draft4,
  ["http://json-schema.org/draft-06/schema"] = function()
    return draft6("http://json-schema.org/draft-06/schema#", {})
  end,
  ["http://json-schema.org/draft-07/schema"] = draft7,
}

local function build(uri)
  if old[uri] then
    return old[uri]()
  end
  local draft, rest = uri:match("^https://json%-schema%.org/draft/(%d+%-%d+)/(.+)$")
  if drafts[draft] and rest == "schema" then
    return modern(draft)
  end
  local name = drafts[draft] and rest:match("^meta/(.+)$")
  return name and vocabularies[name] and vocabulary(draft, name)
end

local built = {}

--- The metaschema, or the part of one, at `uri`; nil when there is none.
---@param uri string  without fragment
---@return table?
function metaschemas.find(uri)
  built[uri] = built[uri] or build(uri)
  return built[uri] or nil
end

return metaschemas
