--- What an operation's spec must look like, and its defaults. Checked by our own schema engine.
local core = require("operations.core")
local errors = require("operations.error")
local schemas = require("operations.schema")

local spec = {}

---@class operations.AccessControl
---@field requiredScopes string[]  all of them
---@field requiredScopesAny? string[]  one of them
---@field resourceType? string  with resourceAction: identity.resources["<type>:<id>"] must list the action
---@field resourceAction? string
---@field resourceId? string  JSON Pointer (RFC 6901) into the input: names the one resource

---@class operations.ErrorSchema
---@field code string
---@field description string
---@field schema any  JSON Schema of the error's details

---@class operations.Spec
---@field namespace string
---@field name string  id is `namespace.name`
---@field version? string  default "1.0.0"
---@field type? "query"|"mutation"|"subscription"  default "query"
---@field title? string
---@field description? string
---@field tags? string[]
---@field inputSchema? table|boolean  JSON Schema, default true
---@field outputSchema? table|boolean  JSON Schema, default true
---@field accessControl? operations.AccessControl
---@field errorSchemas? operations.ErrorSchema[]
---@field normalize? "cast"|"force"|"off"  default: the registry's
---@field _meta? table

---@class operations.Definition : operations.Spec
---@field handler? fun(input: any, context: operations.Context): any, any

local strings = { type = "array", items = { type = "string", minLength = 1 } }
local name = { type = "string", pattern = "^[^\\s\\x00-\\x1f\\x7f]+$" }
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
          description = { type = "string" },
          schema = json_schema,
        },
      },
    },
    _meta = { type = "object" },
  },
  additionalProperties = false,
}

local shape_schema

local function shape_issues(fields)
  shape_schema = shape_schema or assert(schemas.compile(shape))
  local ok, issues = shape_schema:check(fields)
  return ok and {} or issues
end

--- Compiles one schema of the spec; its issues get the path of the field. `format` is asserted of inputs only.
local function compile(fields, field, issues)
  local schema = fields[field]
  if schema == true or (type(schema) == "table" and next(schema) == nil) then
    return nil
  end
  local compiled, err = schemas.compile(schema, { formats = field == "inputSchema" })
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

--- Copies tables all the way down, marks kept: what was registered stays as it was.
local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local new = {}
  for key, item in pairs(value) do
    new[key] = copy(item)
  end
  return setmetatable(new, getmetatable(value))
end

local function refused(fields, issues)
  local first = issues[1]
  local id = ("%s.%s"):format(tostring(fields.namespace), tostring(fields.name))
  local more = #issues > 1 and (" (and %d more)"):format(#issues - 1) or ""
  local message = ("spec of %s: %s: %s%s"):format(id, first.path, first.message, more)
  return nil, errors.new("VALIDATION_ERROR", message, issues)
end

--- Checks a definition and fills in its defaults.
---@param definition operations.Definition
---@return { spec: operations.Spec, handler: function?, input: any, output: any }?  spec is a copy; input and output
---  are compiled schemas, or nil where everything is accepted
---@return operations.Error? err  VALIDATION_ERROR with every issue by path
function spec.check(definition)
  if type(definition) ~= "table" then
    return refused({}, { { path = "", keyword = "type", message = "expected table, got " .. type(definition) } })
  end
  local fields, handler = {}, definition.handler
  for key, value in pairs(definition) do
    fields[key] = value
  end
  fields.handler = nil
  local issues = shape_issues(fields)
  if handler ~= nil and type(handler) ~= "function" then
    issues[#issues + 1] = { path = "/handler", keyword = "type", message = "expected function, got " .. type(handler) }
  end
  fields.version = fields.version or "1.0.0"
  fields.type = fields.type or "query"
  fields.description = fields.description or ""
  fields.accessControl = fields.accessControl or { requiredScopes = setmetatable({}, core.array_mt) }
  for _, field in ipairs({ "inputSchema", "outputSchema" }) do
    if fields[field] == nil then
      fields[field] = true
    end
  end
  if #issues > 0 then
    return refused(fields, issues)
  end
  fields.accessControl = copy(fields.accessControl)
  local input, output = compile(fields, "inputSchema", issues), compile(fields, "outputSchema", issues)
  if #issues > 0 then
    return refused(fields, issues)
  end
  return { spec = fields, handler = handler, input = input, output = output }
end

return spec
