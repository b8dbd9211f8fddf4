--- Discovery: the operations by which a peer tells what it offers, and the import of them on the other side.
local argument = require("operations.base.argument")
local catalog = require("operations.registry.catalog")
local marked = require("operations.base.marked")
local marks = require("operations.base.marks")
local registry = require("operations.registry")
local T = require("operations.schema.type")

local call_services = {}

local function offered(spec, direct)
  return direct or not (spec._meta and spec._meta.exposed == false)
end

--- The ids of all that a registry offers.
---@param served operations.Registry
---@param direct boolean
---@return string[]
function call_services.offers(served, direct)
  local ids = { "services.list", "services.schema" }
  for _, spec in ipairs(served:specs({ schemas = false })) do
    if offered(spec, direct) then
      ids[#ids + 1] = spec.namespace .. "." .. spec.name
    end
  end
  return ids
end

local function list(served, direct)
  return function(input)
    local specs = marks.array()
    for _, spec in ipairs(served:specs(input)) do
      if offered(spec, direct) then
        specs[#specs + 1] = marked.spec(spec)
      end
    end
    return { operations = specs }
  end
end

local function describe(served, direct)
  return function(input)
    local spec = served:get_spec(input.operationId)
    if not spec or not offered(spec, direct) then
      return nil, catalog.not_found(input.operationId, "no operation '%s'")
    end
    return marked.spec(spec)
  end
end

--- Makes `services.list` (the specs of all that is offered, filtered as `registry:specs` does) and `services.schema`
--- (one of them, by `operationId`).
---@param served operations.Registry
---@param direct boolean  in process what is not offered to others is told of as well
---@return operations.Registry
function call_services.new(served, direct)
  local self = registry.new()
  assert(self:register_all({
    {
      namespace = "services",
      name = "list",
      type = "query",
      description = "The specs of the operations that this peer offers.",
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

-- Where many processes serve, the one that was asked knows only its own operations.
local function add_others(specs, call_map, filter)
  local known = { ["services.list"] = true, ["services.schema"] = true }
  for _, spec in ipairs(specs) do
    known[tostring(spec.namespace) .. "." .. tostring(spec.name)] = true
  end
  for _, id in ipairs(not filter and call_map:offered() or {}) do
    local envelope = not known[id] and call_map:call("services.schema", { operationId = id })
    if envelope then
      specs[#specs + 1] = envelope.data
    end
  end
end

--- Registers the specs that the peer of a call map offers: `describe` shows them and inputs are validated here, calls
--- go there when the registry routes to the map.
---@param into operations.Registry
---@param call_map { call: function }
---@param filter? { namespace?: string, type?: string, tag?: string }
---@return string[]? ids
---@return operations.Error? err
function call_services.import(into, call_map, filter)
  argument.object(into, "register_all", "registry", 1, "import")
  argument.object(call_map, "call", "call map", 2, "import")
  argument.optional(filter, "table", 3, "import")
  local envelope, err = call_map:call("services.list", filter)
  if not envelope then
    return nil, err
  end
  local data = envelope.data
  local specs = type(data) == "table" and type(data.operations) == "table" and data.operations or {}
  add_others(specs, call_map, filter)
  return into:register_all(specs, { replace = true })
end

return call_services
