--- Discovery: two operations by which a peer publishes its operations, and their import by the other side. Both show
--- only operations that the asking identity may call.
local argument = require("operations.base.argument")
local catalog = require("operations.registry.catalog")
local elsewhere = require("operations.registry.elsewhere")
local importing = require("operations.registry.importing")
local keywords = require("operations.schema.keywords")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local operation_spec = require("operations.registry.spec")
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

-- The specs that the peer of a call map offers to an identity; or nil and the error.
local function specs_of(call_map, filter, identity)
  local call = { identity = identity }
  local envelope, err = call_map:call("services.list", filter, call)
  if not envelope then
    return nil, err
  end
  local data = envelope.data
  local found = type(data) == "table" and type(data.operations) == "table" and data.operations or {}
  add_others(found, call_map, filter, call)
  return found
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
  local found, err = specs_of(call_map, filter, options.identity)
  if not found then
    return nil, err
  end
  for _, spec in ipairs(found) do
    if type(spec) == "table" then -- other values are refused below
      importing.finish(spec, options)
    end
  end
  return into:register_all(found, { replace = true })
end

---@class operations.PeerOptions : operations.ImporterOptions
---@field identity? operations.Identity  takes the operations that it may see; calls have the identity of their context

local peer_options = members.merged(importing.kinds, { identity = "table" })

-- A definition of a peer's operation.
local function definition_of(call_map, spec, options)
  local id = spec.namespace .. "." .. spec.name
  local definition = members.merged(spec, { namespace = options.namespace })
  definition.accessControl = nil
  local access = importing.finish(definition, options)
  definition.accessControl = access
  definition._meta = members.merged(spec._meta, { exposed = access ~= nil })
  definition.handler = elsewhere.handler(call_map, id, spec.type == "subscription")
  return definition
end

--- Makes definitions of the operations that the peer of a call map offers, as `from_openapi` does of a document: for
--- `register_all`, with handlers that call the peer, which checks access. A registry can have those of many peers.
---@param call_map operations.CallMap
---@param options? operations.PeerOptions
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string, operation: string? }[]|operations.Error report  of operations left out
function services.from_peer(call_map, options)
  argument.object(call_map, "subscribe", "call map", 1, "from_peer")
  argument.optional(options, "table", 2, "from_peer")
  options = options or {}
  argument.options(options, peer_options, "from_peer")
  local found, err = specs_of(call_map, nil, options.identity)
  if not found then
    return nil, err
  end
  local definitions, report = {}, {}
  for i, given in ipairs(found) do
    local checked, refused = operation_spec.check(given)
    local spec = checked and checked.spec
    local id = spec and spec.namespace .. "." .. spec.name
    if not checked then
      report[#report + 1] = { pointer = ("/operations/%d"):format(i - 1), message = refused.message }
    elseif importing.wants(options, spec, { [spec.name] = true, [id] = true }) then
      definitions[#definitions + 1] = definition_of(call_map, spec, options)
    end
  end
  return definitions, report
end

return services
