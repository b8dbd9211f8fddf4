--- Makes an OpenAPI document (3.0, 3.1, 3.2) of operations. From one of 3.1 or 3.2 `from_openapi` makes the same
--- operations again.
---
--- What OpenAPI cannot express is in each operation's `x-operation`; it has no schema, and calls work without it.
local components = require("operations.openapi.out.components")
local core = require("operations.core")
local jobs = require("operations.openapi.out.jobs")
local members = require("operations.base.members")
local naming = require("operations.openapi.name")
local requests = require("operations.openapi.out.requests")
local responses = require("operations.openapi.out.responses")
local security = require("operations.openapi.out.security")
local version30 = require("operations.openapi.out.version30")

local out = {}

--- A served operation.
---@class operations.openapi.Entry
---@field spec operations.Spec  with its schemas
---@field denied? string  why the document's reader may not call it
---@field path string  below the server's URL: "/tasks/{id}"
---@field path_names string[]  names of its parameters
---@field methods table<string, any>  its methods, in upper case
---@field flat boolean  can a query string carry its input?
---@field media? string  the input is a body of this media type
---@field output_media? string  the same for the output
---@field cache? true|{ maxAge: number }  `_meta.http.cache`
---@field status? integer  of an answer with a result, default 200
---@field key_required? boolean  calls need an Idempotency-Key
---@field task? "optional"|"required"|"late"  calls may be, or have to be, jobs
---@field relay? operations.openapi.Plan  it is served as its own document says
---@field status_of fun(declared: operations.ErrorSchema): integer  of an error

---@class operations.openapi.OutOptions
---@field version "3.0"|"3.1"|"3.2"
---@field info? table  title, version, description, license, ...: an Info Object
---@field servers? table[]  Server Objects; default: the document's origin
---@field prefix string  of the paths, part of the default server
---@field authorized? boolean  callers have credentials
---@field scheme? "basic"|"bearer"  of these, default "bearer"
---@field anonymous? boolean  credentials are optional where nothing is required
---@field authority? operations.openapi.Authority  the issuer of the credentials
---@field go_on? fun()  called between two operations, for large documents

local versions = { ["3.1"] = "3.1.1", ["3.2"] = "3.2.0" }

local function present(text)
  return type(text) == "string" and text ~= "" and text or nil
end

-- Marks a list, even an empty one.
local function list_of(items)
  return items and setmetatable(members.joined(items), core.array_mt)
end

-- The access rule of an operation; nil: none.
local function access_of(access)
  if type(access) ~= "table" or access.resourceType == nil and #(access.requiredScopes or {}) == 0
    and #(access.requiredScopesAny or {}) == 0 then
    return nil
  end
  return members.merged(access, { requiredScopes = list_of(access.requiredScopes or {}),
    requiredScopesAny = list_of(access.requiredScopesAny) })
end

-- The `x-operation` of an entry.
local function extension(entry, taken, codes)
  local spec = entry.spec
  local meta = type(spec._meta) == "table" and spec._meta or {}
  local own = spec.tags and #spec.tags == 1 and spec.tags[1] == spec.namespace
  return {
    id = spec.namespace .. "." .. spec.name, namespace = spec.namespace, name = spec.name, version = spec.version,
    type = spec.type, input = taken.input, open = taken.open, accessControl = access_of(spec.accessControl),
    errors = codes, tags = own and spec.tags or nil,
    denied = entry.denied, destructive = meta.destructive == true or nil, idempotent = meta.idempotent == true or nil,
    cache = entry.cache, task = entry.task, idempotencyKey = entry.key_required and "required" or nil,
  }
end

-- The Operation Object of an entry, and its method.
local function operation_of(all, entry, options)
  local spec = entry.spec
  local taken = requests.of(all, entry, options.version)
  local answers, codes = responses.of(all, entry, options.version, taken.method)
  local id = spec.namespace .. "." .. spec.name
  local summary = present(spec.title) or id
  return {
    operationId = entry.operation, summary = summary, description = present(spec.description) or summary,
    tags = spec.tags and spec.tags[1] and spec.tags or { spec.namespace },
    deprecated = type(spec._meta) == "table" and spec._meta.deprecated == true or nil,
    parameters = taken.parameters, requestBody = taken.body, responses = answers,
    security = security.of(access_of(spec.accessControl), options),
    ["x-operation"] = not entry.relay and extension(entry, taken, codes) or nil, -- it says how inputs are flat
  }, taken.method
end

-- Sorted, with operationIds, so that equal registries give equal documents.
local function prepared(entries)
  local list, next_name = members.copy(entries), naming.counter()
  table.sort(list, function(a, b)
    return a.spec.namespace .. "." .. a.spec.name < b.spec.namespace .. "." .. b.spec.name
  end)
  for _, entry in ipairs(list) do
    entry.operation = next_name(naming.of_component(entry.spec.namespace .. "." .. entry.spec.name))
  end
  return list
end

local function nothing() end

local function gather(list, go_on)
  local all = components.new()
  for _, entry in ipairs(list) do
    go_on()
    all:add(entry.spec.inputSchema, entry.operation, "input")
    all:add(entry.spec.outputSchema, entry.operation, "output")
    for _, declared in ipairs(type(entry.spec.errorSchemas) == "table" and entry.spec.errorSchemas or {}) do
      all:add(declared.schema, entry.operation, declared.code)
    end
  end
  return all
end

local function tags_of(paths)
  local names, tags = {}, {}
  for _, item in pairs(paths) do
    for _, operation in pairs(item) do
      for _, tag in ipairs(operation.tags) do
        names[tag] = true
      end
    end
  end
  for i, name in ipairs(members.names(names)) do
    tags[i] = { name = name, description = ("Operations of %s."):format(name) }
  end
  return tags
end

--- Makes the document.
---@param entries operations.openapi.Entry[]
---@param options operations.openapi.OutOptions
---@return table document  to be encoded with `sort_keys`
function out.document(entries, options)
  local list, paths = prepared(entries), setmetatable({}, core.object_mt)
  local go_on = options.go_on or nothing
  local all = gather(list, go_on)
  for _, entry in ipairs(list) do
    go_on()
    local operation, method = operation_of(all, entry, options)
    paths[entry.path] = paths[entry.path] or {}
    paths[entry.path][method] = operation
  end
  local schemas = all:all()
  schemas.Problem = responses.problem
  if jobs.describe(paths, list, security.of(nil, options)) then
    schemas.Job = jobs.schema
  end
  local document = {
    openapi = versions[options.version] or versions["3.1"],
    jsonSchemaDialect = "https://json-schema.org/draft/2020-12/schema",
    info = members.merged({ title = "Operations", version = "1.0.0" }, options.info),
    servers = options.servers or { { url = options.prefix == "" and "/" or options.prefix } },
    tags = setmetatable(tags_of(paths), core.array_mt), paths = paths,
    components = { schemas = schemas, responses = responses.shared, securitySchemes = options.authorized
      and security.schemes(list, options) or nil },
  }
  return options.version == "3.0" and version30.document(document) or document
end

return out
