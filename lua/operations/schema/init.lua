--- JSON Schema: compiled once; then checks values, fills in defaults, casts towards the schema. All in C.
---
--- Drafts 2020-12, 2019-09, 7, 6 and 4, by `$schema`; OpenAPI 3.0's and Swagger 2.0's dialects by option `draft`.
--- Patterns follow ECMA-262. A `$ref` is never fetched from the network: other documents come from `resolve`.
local argument = require("operations.base.argument")
local core = require("operations.core")
local limits = require("operations.base.limits")
local property_order = require("operations.base.property_order")

---@class operations.schema
local schema = {}

---@class operations.schema.Options
---@field draft? "2020-12"|"2019-09"|"7"|"6"|"4"|"openapi-3.1"|"openapi-3.0"|"swagger-2.0"  when there is no `$schema`
---@field formats? boolean  does `format` reject values? default false: it is an annotation, as in the drafts
---@field resolve? fun(uri: string): table|boolean|nil  the document at `uri` (without fragment), or nil
---@field uri? string  the URI of the schema, the base of relative `$ref`s
---@field max_issues? integer  reported for one value, default 100
---@field max_steps? integer  of one check, cast or fill; default 4,000,000, and 64 for each value inside

---@class operations.Issue
---@field path string  JSON Pointer to the value that does not fit, or to the missing property
---@field schemaPath string  JSON Pointer to the keyword, after a URI when it is in another document
---@field keyword string?  the keyword
---@field message string  for people: "expected at most 20 characters, got 34"
---@field params table?  for programs: { limit = 20 }

---@class operations.Change
---@field path string  JSON Pointer into the value
---@field kind "stripped"|"defaulted"|"converted"|"replaced"  "replaced" by force only
---@field old any  the old value, nil for a missing member
---@field new any  the new value

---@alias operations.Mode "cast"|"force"|"off"

---@class operations.Schema
---@field check fun(self, value: any): boolean, operations.Issue[]?  true, or false and the issues
---@field cast fun(self, value, mode?: operations.Mode, list?: boolean): any, operations.Change[]?, operations.Error?
---  a new value, and what was changed unless `list` is false (which is faster). "force" casts, then replaces each
---  misfit by the first that conforms of `default`, `const`, the first `enum` value, the empty value of its type; or
---  leaves it. A third result, VALIDATION_ERROR, says why it lacks its `default`s or replacements: a limit was reached
---@field fill fun(self, value: any): any, operations.Error?  the value, or a copy with `default`s filled in; nil and
---  VALIDATION_ERROR when a limit is reached: of values that defaults make (100,000, and 64 more for each value
---  within), of depth (512), of steps

local option_kinds = {
  draft = "string", formats = "boolean", resolve = "function", uri = "string", max_issues = "number",
  max_steps = "number",
}

--- Fetches missing documents; true when one was added.
local function find_documents(uris, options)
  local documents, found = options.documents, false
  for _, uri in ipairs(uris) do
    if documents[uri] == nil then
      -- Required late: few schemas refer to one.
      local document = require("operations.schema.metaschemas").find(uri)
      if document == nil and options.resolve then
        document = options.resolve(uri)
      end
      if document ~= nil then
        documents[uri] = document
        found = true
      end
    end
  end
  return found
end

--- Compiles a schema, a Lua table or a boolean. Later changes to the table have no effect.
---
--- Reports all errors in it at once: `err.details` is an array of issues whose paths point into the schema.
---@param definition table|boolean
---@param options? operations.schema.Options
---@return operations.Schema? schema
---@return operations.Error? err  VALIDATION_ERROR
function schema.compile(definition, options)
  if type(definition) ~= "table" and type(definition) ~= "boolean" then
    error(("bad argument #1 to 'compile' (a schema, table or boolean, expected, got %s)"):format(type(definition)), 2)
  end
  if options ~= nil and type(options) ~= "table" then
    argument.expect(options, "table", 2, "compile")
  end
  local own = { documents = {}, max_issues = limits.issues }
  for name, value in pairs(options or {}) do
    if type(value) ~= option_kinds[name] then
      argument.options(options, option_kinds, "compile") -- raises
    end
    own[name] = value
  end
  while true do
    local compiled, err, unresolved = core.schema_compile(definition, own)
    if compiled then
      return compiled
    elseif not find_documents(unresolved, own) then
      return nil, err
    end
  end
end

--- The names of a schema's properties for forms, help and tool definitions: in the order of the document that the
--- schema comes from (`operations.from_openapi`, `operations.from_mcp`, `operations.json.decode` with `property_order`)
--- or of the list given to `T.object`; names without a known order are sorted.
---@param definition table|boolean
---@return string[]  a new list; empty without `properties`
function schema.properties(definition)
  local properties = type(definition) == "table" and definition.properties
  return type(properties) == "table" and property_order.names(properties) or {}
end

return schema
