--- Discovery: two operations by which a peer publishes its operations, and their import by the other side. Both show
--- only operations that the asking identity may call.
local argument = require("operations.base.argument")
local catalog = require("operations.registry.catalog")
local keywords = require("operations.schema.keywords")
local marked = require("operations.base.marked")
local registries = require("operations.registry")
local T = require("operations.schema.type")

local services = {}

local any_schema = { ["$ref"] = "#/$defs/schema" }
local list_schema = { type = "array" }
local by_name = { type = "object", additionalProperties = any_schema }

-- The places of arrays in the value of a keyword, by its shape.
local places = {
  list = list_schema, names = list_schema, name_map = { additionalProperties = list_schema }, map = by_name,
  pattern_map = by_name, schema = any_schema, schemas = { type = "array", items = any_schema },
}

-- The places of arrays in a spec and in its JSON Schemas.
local spec_schema = {
  properties = {
    tags = list_schema, inputSchema = any_schema, outputSchema = any_schema,
    accessControl = { properties = { requiredScopes = list_schema, requiredScopesAny = list_schema } },
    errorSchemas = { type = "array", items = { properties = { schema = any_schema } } },
  },
  ["$defs"] = { schema = { properties = keywords.where(function(row)
    return row.name == "default" and marked.BESIDE or places[row.shape]
  end) } },
}

--- Marks the empty arrays within a spec, its schemas and their defaults, so that the spec can be written as JSON.
---@param spec operations.Spec
---@return operations.Spec  `spec` itself when nothing is marked
function services.marked(spec)
  return marked.value(spec, spec_schema, spec_schema)
end

local own_ids = { "services.list", "services.schema" }

--- The ids of all operations that a registry offers to an identity.
---@param served operations.Registry
---@param direct boolean  in process, also the operations that are not offered to others
---@return string[]
function services.offers(served, direct)
  local ids = { own_ids[1], own_ids[2] }
  for _, spec in ipairs(served:specs({ schemas = false })) do
    if direct or served:visible(spec) ~= "hidden" then
      ids[#ids + 1] = spec.namespace .. "." .. spec.name
    end
  end
  return ids
end

-- In process the program itself asks, unless it names an identity.
local function shows(served, spec, identity, direct)
  if direct then
    return identity == nil or served:visible(spec, identity) ~= "denied"
  end
  return served:visible(spec, identity) == "yes"
end

local function list(served, direct)
  return function(input, context)
    local specs = marked.array()
    for _, spec in ipairs(served:specs(input)) do
      if shows(served, spec, context.identity, direct) then
        specs[#specs + 1] = services.marked(spec)
      end
    end
    return { operations = specs }
  end
end

local function describe(served, direct)
  return function(input, context)
    local spec = served:get_spec(input.operationId)
    if not spec or not shows(served, spec, context.identity, direct) then
      return nil, catalog.not_found(input.operationId, "no operation '%s'")
    end
    return services.marked(spec)
  end
end

--- Makes `services.list` (the specs of the operations that the caller may see, filtered as in `registry:specs`) and
--- `services.schema` (one of them, by `operationId`).
---@param served operations.Registry
---@param direct boolean  in process, also the operations that are not offered to others
---@return operations.Registry
function services.new(served, direct)
  local self = registries.new()
  assert(self:register_all({
    {
      namespace = "services",
      name = "list",
      type = "query",
      description = "The specs of the operations that this peer offers to the caller.",
      inputSchema = T.object({
        namespace = T.optional(T.string()), type = T.optional(T.string()), tag = T.optional(T.string()),
      }),
      handler = list(served, direct),
    },
    {
      namespace = "services",
      name = "schema",
      type = "query",
      description = "The spec of one operation.",
      inputSchema = T.object({ operationId = T.string() }),
      handler = describe(served, direct),
    },
  }))
  return self
end

-- With many serving processes, the one that was asked knows only its own operations.
local function add_others(specs, call_map, filter, call)
  local known = { [own_ids[1]] = true, [own_ids[2]] = true }
  for _, spec in ipairs(specs) do
    known[tostring(spec.namespace) .. "." .. tostring(spec.name)] = true
  end
  for _, id in ipairs(not filter and call_map:offered() or {}) do
    local envelope = not known[id] and call_map:call("services.schema", { operationId = id }, call)
    if envelope then
      specs[#specs + 1] = envelope.data
    end
  end
end

---@class operations.ImportOptions
---@field identity? operations.Identity  imports the operations that it may see
---@field normalize? "cast"|"force"|"off"  results are also finished here by these two; without them only if the
---  registry fails on results that do not fit
---@field on_mismatch? "warn"|"fail"
---@field validate? "on"|"warn"|"off"  of inputs, before they are sent; default "on"

local import_options = { identity = "table", normalize = "string", on_mismatch = "string", validate = "string" }

--- Registers the specs that the peer of a call map offers: `describe` shows them, inputs are validated here, and calls
--- go to the peer if the registry routes to the map.
---@param into operations.Registry
---@param call_map { call: function }
---@param filter? { namespace?: string, type?: string, tag?: string }
---@param options? operations.ImportOptions
---@return string[]? ids
---@return operations.Error? err
function services.import(into, call_map, filter, options)
  argument.object(into, "register_all", "registry", 1, "import")
  argument.object(call_map, "call", "call map", 2, "import")
  argument.optional(filter, "table", 3, "import")
  argument.optional(options, "table", 4, "import")
  options = options or {}
  argument.options(options, import_options, "import")
  local call = { identity = options.identity }
  local envelope, err = call_map:call("services.list", filter, call)
  if not envelope then
    return nil, err
  end
  local data = envelope.data
  local specs = type(data) == "table" and type(data.operations) == "table" and data.operations or {}
  add_others(specs, call_map, filter, call)
  for _, spec in ipairs(specs) do
    if type(spec) == "table" then -- other values are refused below
      spec.normalize, spec.on_mismatch = options.normalize, options.on_mismatch
      spec.fill, spec.validate = "required", options.validate -- the peer fills in its other defaults
    end
  end
  return into:register_all(specs, { replace = true })
end

return services
