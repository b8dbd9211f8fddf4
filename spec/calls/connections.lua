--- Call maps that are connected with each other, over every transport. Each function makes one connection:
--- `(registry, options) -> map, handler, close, served`: a call map whose calls the registry serves, its handler (made
--- with `options`), what ends it all, and the call map on the other side.
local operations = require("operations")
local wire = require("spec.support.wire")

local connections = {}

local function quiet() end

local function call_map(transport)
  return operations.call_map(transport, { log = quiet })
end

function connections.in_process(registry, options)
  local map = call_map()
  return map, operations.call_handler(registry, map, options), function()
    map:close()
  end, map
end

local function between(one, other)
  return function(registry, options)
    local map, served = call_map(one), call_map(other)
    return map, operations.call_handler(registry, served, options), function()
      served:close()
      map:close()
    end, served
  end
end

function connections.pair(...)
  return between(operations.transports.pair())(...)
end

function connections.wire(...)
  return between(wire.pair())(...)
end

local function websocket(hub, options)
  return assert(operations.transports.websocket("ws://127.0.0.1:" .. hub.port, options))
end

function connections.spoke_to_hub(registry, options)
  local handler, served
  local hub = assert(operations.transports.websocket_hub({ log = quiet, on_connection = function(to_spoke)
    served, handler = to_spoke, operations.call_handler(registry, to_spoke, options)
  end }))
  local map = call_map(websocket(hub))
  return map, handler, function()
    map:close()
    hub:close()
  end, served
end

function connections.hub_to_spoke(registry, options)
  local map
  local hub = assert(operations.transports.websocket_hub({ log = quiet, on_connection = function(to_spoke)
    map = to_spoke
  end }))
  local served = call_map(websocket(hub))
  return map, operations.call_handler(registry, served, options), function()
    served:close()
    hub:close()
  end, served
end

--- Over a Redis that is there.
---@param url string
---@param given? operations.RedisOptions
function connections.redis(url, given)
  return function(registry, options)
    local served = call_map(assert(operations.transports.redis(url, given)))
    local handler = operations.call_handler(registry, served, options)
    local map = call_map(assert(operations.transports.redis(url, given)))
    return map, handler, function()
      map:close()
      served:close()
    end, served
  end
end

return connections
