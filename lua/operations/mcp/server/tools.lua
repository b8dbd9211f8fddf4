--- Operations as tools: `tools/list` and `tools/call`. Queries and mutations that the caller may see, in the order of
--- their registration.
local caller = require("operations.server.caller")
local core = require("operations.core")
local definition = require("operations.mcp.server.definition")
local interaction = require("operations.mcp.server.interaction")
local marks = require("operations.base.marked")
local message = require("operations.mcp.protocol.message")
local names = require("operations.offer.names")
local problem = require("operations.server.problem")
local tool_result = require("operations.mcp.server.tool_result")

local tools = { methods = {} }

local INVALID_PARAMS = message.codes.INVALID_PARAMS

-- What the registry has to offer, made anew when it changes.
local function offer_of(server)
  local revision = server.registry:revision()
  if server._offer_revision ~= revision then
    local specs = {}
    for _, spec in ipairs(server.registry:specs({ schemas = false })) do
      if spec.type ~= "subscription" then
        specs[#specs + 1] = spec
      end
    end
    local named, flaws = names.assign(specs)
    for _, flaw in ipairs(flaws) do
      server.options.log("warn", flaw.message)
    end
    server._offer_revision, server._offer = revision, { specs = specs, names = named }
  end
  return server._offer
end

local function sight_of(call, id)
  local options = call.server.options
  local sight = call.server.registry:visible(id, call.identity, options.filter)
  return sight == "denied" and options.hide_denied and "hidden" or sight
end

--- The tools that a caller sees.
---@param call operations.mcp.ServerCall
---@return table[]
function tools.listed(call)
  local offer, list = offer_of(call.server), marks.array()
  for _, bare in ipairs(offer.specs) do
    local id = bare.namespace .. "." .. bare.name
    local name = offer.names.of_id[id]
    local spec = name and sight_of(call, id) == "yes" and call.server.registry:get_spec(id)
    if spec then
      list[#list + 1] = definition.of(spec, name, call.modern)
    end
  end
  return list
end

tools.methods["tools/list"] = { cached = true, run = function(call)
  return { tools = tools.listed(call) }
end }

local function unknown(name)
  return nil, { code = INVALID_PARAMS, message = ("unknown tool: %s"):format(name) }
end

-- The operation that a tool is, when the caller may call it.
local function find(call, name)
  local id = offer_of(call.server).names.of_name[name]
  local sight = id and sight_of(call, id)
  if not id or sight == "hidden" then
    return unknown(name)
  elseif sight == "denied" then
    local _, err, status, headers = caller.deny(call.server.registry:get_spec(id), call.identity)
    return nil, { code = message.codes.INVALID_REQUEST, message = err.message, data = err.details, status = status,
      headers = headers }
  end
  return id
end

local function failed(call, id, err)
  local server = call.server
  local spec = server.registry:get_spec(id)
  local _, told = problem.status(err, spec and { id = id, spec = spec })
  return tool_result.of_error(err, told or server.options.expose_errors == true)
end

local function result_of(call, id, envelope, err)
  local result
  if envelope then
    result, err = tool_result.of(envelope, call.modern)
  end
  return result or failed(call, id, err)
end

tools.methods["tools/call"] = { named_by = "name", asks = true, run = function(call)
  local params = call.params
  local input = params.arguments
  if type(params.name) ~= "string" then
    return nil, { code = INVALID_PARAMS, message = "tools/call: name: string expected" }
  elseif input ~= nil and core.kind(input) ~= "object" then
    return nil, { code = INVALID_PARAMS, message = "tools/call: arguments: object expected" }
  end
  local id, failure = find(call, params.name)
  if not id then
    return nil, failure
  end
  return interaction.run(call, function(context)
    local envelope, err = call.server.registry:execute(id, input, context)
    return result_of(call, id, envelope, err)
  end)
end }

--- Tools come and go with the registry's operations.
function tools.capabilities()
  return { tools = { listChanged = true } }
end

return tools
