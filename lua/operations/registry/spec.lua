--- The schema of an operation's spec, and its defaults.
---
--- `inputSchema`, `outputSchema` and `errorSchemas` may be functions that return them: each is called once, on first
--- use (a call, `get_spec`, `specs`), so that a thousand operations cost little until one is used. Errors in such a
--- schema are reported at that time.
local core = require("operations.core")
local errors = require("operations.base.error")
local schemas = require("operations.schema")
local suggestion = require("operations.base.suggestion")

local spec = {}

---@class operations.AccessControl
---@field requiredScopes string[]  all of them
---@field requiredScopesAny? string[]  one of them
---@field resourceType? string  with resourceAction: identity.resources["<type>:<id>"] must list the action
---@field resourceAction? string
---@field resourceId? string  JSON Pointer (RFC 6901) into the input: names the one resource

---@class operations.ErrorSchema
---@field code string
---@field pattern? string  ECMA-262: codes of a family that no other declaration names
---@field description string
---@field schema any  JSON Schema of the error's details
---@field statusCode? integer  of the HTTP answer: 400 to 599, default 422

---@class operations.Spec
---@field namespace string
---@field name string  id is `namespace.name`
---@field version? string  default "1.0.0"
---@field type? "query"|"mutation"|"subscription"  default "mutation", the cautious choice
---@field title? string
---@field description? string
---@field tags? string[]
---@field inputSchema? table|boolean|fun(): table|boolean?  JSON Schema, default true
---@field outputSchema? table|boolean|fun(): table|boolean?  JSON Schema, default true
---@field accessControl? operations.AccessControl
---@field errorSchemas? operations.ErrorSchema[]|fun(): operations.ErrorSchema[]?
---@field normalize? "cast"|"force"|"off"  default: the registry's
---@field on_mismatch? "warn"|"fail"  of results that do not fit outputSchema; default: the registry's
---@field fill? "all"|"required"|"none"  the `default`s of inputSchema that inputs take; default "all"; importers set
---  "required": the receiver knows its other defaults
---@field validate? "on"|"warn"|"off"  what an input that does not fit inputSchema means: an error (default), a warning,
---  or nothing
---@field _meta? table

---@class operations.Definition : operations.Spec
---@field handler? fun(input: any, context: operations.Context): any, any

-- The schema of a spec; the schemas inside it are checked elsewhere.
local strings = { type = "array", items = { type = "string", minLength = 1 } }
local name = { type = "string", minLength = 1, pattern = "^[^\\s\\x00-\\x1f\\x7f]*$" }
local json_schema = { type = { "object", "boolean" } }

local shape = {
  type = "object",
  required = { "namespace", "name" },
  properties = {
    namespace = name,
    name = name,
    version = { type = "string" },
    type = { enum = { "query", "mutation", "subscription" } },
    title = { type = "string" },
    description = { type = "string" },
    tags = strings,
    inputSchema = json_schema,
    outputSchema = json_schema,
    normalize = { enum = { "cast", "force", "off" } },
    on_mismatch = { enum = { "warn", "fail" } },
    fill = { enum = { "all", "required", "none" } },
    validate = { enum = { "on", "warn", "off" } },
    accessControl = {
      type = "object",
      properties = {
        requiredScopes = strings,
        requiredScopesAny = strings,
        resourceType = { type = "string", minLength = 1 },
        resourceAction = { type = "string", minLength = 1 },
        resourceId = { type = "string", pattern = "^/" },
      },
      dependentRequired = {
        resourceType = { "resourceAction" },
        resourceAction = { "resourceType" },
        resourceId = { "resourceType" },
      },
      additionalProperties = false,
    },
    errorSchemas = {
      type = "array",
      items = {
        type = "object",
        required = { "code" },
        properties = {
          code = { type = "string", minLength = 1 },
          pattern = { type = "string", format = "regex" },
          description = { type = "string" },
          schema = json_schema,
          statusCode = { type = "integer", minimum = 400, maximum = 599 },
        },
      },
    },
    _meta = { type = "object", properties = { task = { enum = { "optional", "required", "late" } } } },
  },
  additionalProperties = false,
}

local shape_schema

-- The fields of a definition, by the alphabet.
local field_names = { "handler" }
for field in pairs(shape.properties) do
  field_names[#field_names + 1] = field
end
table.sort(field_names)

-- Says in words what a pattern or the schema, which has no handler, says otherwise.
local function reword(issue)
  local field = issue.path:match("^/([^/]*)$")
  if field and issue.keyword == "additionalProperties" then
    local near = suggestion.behind(field, field_names)
    issue.message = near ~= "" and "unknown field" .. near
      or ("unknown field; expected one of %s"):format(table.concat(field_names, ", "))
  elseif issue.keyword == "pattern" and shape.properties[field] == name then
    issue.message = "expected a name without blanks and control characters" .. issue.message:match(", got .*$")
  end
end

local function shape_issues(fields)
  shape_schema = shape_schema or assert(schemas.compile(shape, { formats = true }))
  local ok, issues = shape_schema:check(fields)
  if ok then
    return {}
  end
  for _, issue in ipairs(issues) do
    reword(issue)
  end
  return issues
end

local schema_fields = { "inputSchema", "outputSchema", "errorSchemas" }
local with_formats = { formats = true }

-- Schemas written by hand that accept everything by mistake. Those of documents and servers are as they are.
local function add_mistakes(fields, issues)
  local is_imported = fields._meta and fields._meta.source
  for i = 1, is_imported and 0 or 2 do
    local field = schema_fields[i]
    local schema = fields[field]
    if type(schema) == "table" and schema.type == nil and require("operations.schema.keywords").is_members(schema) then
      issues[#issues + 1] = { path = "/" .. field, keyword = "type",
        message = "expected a schema, got a table of schemas (is T.object missing?)" }
    end
  end
end

--- Compiles one schema of the spec; its issues get the path of the field. `format` is checked in inputs only.
local function compile(fields, field, issues)
  local schema = fields[field]
  if schema == true or field == "outputSchema" and type(schema) == "table" and next(schema) == nil then
    return nil
  end
  local compiled, err = schemas.compile(schema, field == "inputSchema" and with_formats or nil)
  if compiled then
    return compiled
  end
  for _, issue in ipairs(type(err.details) == "table" and err.details or { { path = "", message = err.message } }) do
    issues[#issues + 1] = {
      path = "/" .. field .. (issue.path or ""),
      keyword = issue.keyword,
      schemaPath = issue.schemaPath,
      message = issue.message,
    }
  end
end

local function summary(issues)
  local more = #issues > 1 and (" (and %d more)"):format(#issues - 1) or ""
  return ("%s: %s%s"):format(issues[1].path, issues[1].message, more)
end

local function refused(fields, issues)
  local id = ("%s.%s"):format(tostring(fields.namespace), tostring(fields.name))
  return nil, errors.new("VALIDATION_ERROR", ("spec of %s: %s"):format(id, summary(issues)), issues)
end

--- Moves the functions among the schemas out of the fields: { field = function }.
local function take_functions(fields)
  local functions = { inputSchema = nil, outputSchema = nil, errorSchemas = nil } -- with room for all
  for _, field in ipairs(schema_fields) do
    if type(fields[field]) == "function" then
      functions[field], fields[field] = fields[field], nil
    end
  end
  return functions
end

local function set_defaults(fields)
  fields.version = fields.version or "1.0.0"
  fields.type = fields.type or "mutation"
  fields.description = fields.description or ""
  fields.accessControl = fields.accessControl or { requiredScopes = setmetatable({}, core.array_mt) }
end

--- Compiles inputSchema and outputSchema if present; without one, everything is accepted.
local function compile_all(fields, functions, issues)
  local compiled = {}
  for i = 1, 2 do
    local field = schema_fields[i]
    if fields[field] == nil and not functions[field] then
      fields[field] = true
    end
    compiled[field] = fields[field] ~= nil and compile(fields, field, issues) or nil
  end
  return compiled
end

--- A copy without the handler, allocated with room for all fields: definitions may come by the thousand.
local function fields_of(definition)
  local fields = {
    namespace = nil, name = nil, version = nil, type = nil, title = nil, description = nil, tags = nil, _meta = nil,
    inputSchema = nil, outputSchema = nil, errorSchemas = nil, accessControl = nil,
  }
  for key, value in pairs(definition) do
    fields[key] = value
  end
  fields.handler = nil
  return fields
end

---@class operations.CheckedSpec
---@field spec operations.Spec  a shallow copy
---@field handler? function
---@field compiled? { inputSchema: operations.Schema?, outputSchema: operations.Schema? }  none where everything is
---  accepted; nil while there are schemas to be made

--- Checks a definition and fills in its defaults.
---@param definition operations.Definition
---@return operations.CheckedSpec?
---@return operations.Error? err  VALIDATION_ERROR with every issue by path
function spec.check(definition)
  if type(definition) ~= "table" then
    return refused({}, { { path = "", keyword = "type", message = "expected table, got " .. type(definition) } })
  end
  local fields, handler = fields_of(definition), definition.handler
  local functions = take_functions(fields)
  local issues = shape_issues(fields)
  if handler ~= nil and type(handler) ~= "function" then
    issues[#issues + 1] = { path = "/handler", keyword = "type", message = "expected function, got " .. type(handler) }
  end
  if #issues > 0 then
    return refused(fields, issues)
  end
  set_defaults(fields)
  add_mistakes(fields, issues)
  local compiled = compile_all(fields, functions, issues)
  if #issues > 0 then
    return refused(fields, issues)
  end
  for field, make in pairs(functions) do
    fields[field] = make
  end
  return { spec = fields, handler = handler, compiled = next(functions) == nil and compiled or nil }
end

-- For schemas that are still functions: functions that return the names of their properties.
local parameters_of = setmetatable({}, { __mode = "k" })

--- Sets how the names of a schema's properties are found before the schema is made.
---@param make fun(): table|boolean  the schema's function
---@param names fun(names: true): string[]
function spec.tell_parameters(make, names)
  parameters_of[make] = names
end

--- The names of the properties of a schema.
---@param schema any  JSON Schema, or the function that makes it
---@return string[]
function spec.parameters(schema)
  if parameters_of[schema] then
    return parameters_of[schema](true)
  end
  local names = {}
  for property in pairs(type(schema) == "table" and type(schema.properties) == "table" and schema.properties or {}) do
    names[#names + 1] = property
  end
  return names
end

--- Calls the functions in turn; stops when one raises.
local function call_functions(fields)
  for _, field in ipairs(schema_fields) do
    if type(fields[field]) == "function" then
      local ok, value = pcall(fields[field])
      if not ok then
        return { { path = "/" .. field, keyword = "function", message = tostring(value) } }
      end
      fields[field] = value
    end
  end
  return {}
end

--- Makes the schemas of an operation that are still functions; does nothing after the first time.
---@param operation operations.Operation
---@return boolean ok
---@return operations.Error? err  EXECUTION_ERROR, details { operationId, issues }; the same every time
function spec.make(operation)
  local made, flaw = operation:made()
  if made or flaw then
    return made, flaw
  end
  local fields, compiled = operation:spec(), nil
  local issues = call_functions(fields)
  if #issues == 0 then
    issues = shape_issues(fields)
  end
  if #issues == 0 then
    compiled = compile_all(fields, {}, issues)
  end
  if #issues == 0 then
    operation:make(fields, compiled.inputSchema, compiled.outputSchema)
    return true
  end
  local id = operation:id()
  flaw = errors.new("EXECUTION_ERROR", ("%s cannot be used: %s"):format(id, summary(issues)),
    { operationId = id, issues = issues })
  operation:flaw(flaw)
  return false, flaw
end

--- The JSON Schema of a spec.
spec.shape = shape

return spec
