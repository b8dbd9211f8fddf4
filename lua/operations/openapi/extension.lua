--- `x-operation`: the properties of an operation that OpenAPI cannot express, in documents made by openapi/out. It
--- restores the operation's shape; access is decided here, by the configuration.
local members = require("operations.base.members")
local schemas = require("operations.schema")
local specs = require("operations.registry.spec")
local own = require("operations.openapi.own")
local own_schemas = require("operations.openapi.own_schemas")

local extension = {}

local shape = specs.shape.properties
local codes = { type = "array", items = { type = "string", minLength = 1 } }
local compiled

-- Is it a valid `x-operation`? Others are ignored.
local function is_valid(value)
  compiled = compiled or assert(schemas.compile({
    type = "object", required = { "namespace", "name", "type", "input" },
    properties = {
      namespace = shape.namespace, name = shape.name, version = shape.version, type = shape.type,
      input = { enum = { "body", "parameters" } }, open = { type = "boolean" }, tags = shape.tags,
      accessControl = shape.accessControl, errors = { type = "object", additionalProperties = codes },
      destructive = { type = "boolean" }, idempotent = { type = "boolean" },
      cache = { anyOf = { { const = true }, { type = "object", required = { "maxAge" },
        properties = { maxAge = { type = "number", minimum = 0 } }, additionalProperties = false } } },
      idempotencyKey = { const = "required" }, task = { enum = { "optional", "required", "late" } },
    },
  }))
  return compiled:check(value)
end

--- The operation's `x-operation` in the document.
---@param node table  the Operation Object
---@return operations.openapi.Extension?
---@return operations.Issue[]? issues  why it is ignored
function extension.of(node)
  local value = node["x-operation"]
  if value == nil then
    return nil
  end
  local ok, issues = is_valid(value)
  return ok and value or nil, issues
end

---@class operations.openapi.Extension
---@field namespace string
---@field name string
---@field version? string
---@field type "query"|"mutation"|"subscription"
---@field input "body"|"parameters"
---@field open? boolean  unknown members are accepted
---@field tags? string[]  given if the operation's own could be taken for its namespace
---@field accessControl? operations.AccessControl
---@field errors? table<string, string[]>  codes by status
---@field destructive? boolean
---@field idempotent? boolean
---@field cache? true|{ maxAge: number }  as in `_meta.http.cache`
---@field task? "optional"|"required"|"late"  as in `_meta`
---@field idempotencyKey? "required"  as in `_meta.http.idempotencyKey`

--- Completes a definition from the extension.
---@param definition table
---@param x operations.openapi.Extension
---@param node table  the Operation Object
---@param trusted boolean
function extension.describe(definition, x, node, trusted)
  local meta, id = definition._meta, x.namespace .. "." .. x.name
  definition.version, definition.type = x.version, x.type
  definition.title = node.summary ~= id and definition.title or nil
  definition.description = definition.description ~= node.summary and definition.description or nil
  local tags = definition.tags
  if not x.tags and tags and #tags == 1 and tags[1] == x.namespace then
    definition.tags = nil
  end
  definition.accessControl = x.accessControl
  meta.destructive, meta.idempotent, meta.task = x.destructive, x.idempotent, x.task
  meta.exposed = meta.exposed or trusted
  local path = trusted and meta.path ~= own.path(x) and meta.path or nil
  local usual = meta.method == "POST" and x.type == "mutation" or meta.method == "GET" or meta.method == "QUERY"
  if path or not usual then
    meta.http = { path = path, method = meta.method }
  end
  local status = select(2, own_schemas.success(node))
  status = status ~= "200" and math.floor(tonumber(status)) or nil
  if x.cache or x.idempotencyKey or status then
    meta.http = members.merged(meta.http, { cache = x.cache, idempotencyKey = x.idempotencyKey, status = status })
  end
end

return extension
