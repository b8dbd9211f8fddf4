-- /calls_strict: a hub that knows nobody and takes messages of 1,000 bytes; /calls_strict/connections: how many it has.
local operations = require("operations")

local hub = package.loaded["spec.calls_strict"]
if not hub then
  local calls = require("spec.support.calls")
  hub = operations.transports.websocket_hub({ registry = calls.registry(), log = function() end, port = false,
    max_message = 1000 })
  package.loaded["spec.calls_strict"] = hub
end
if ngx.var.uri:find("/connections$") then
  return ngx.say(hub.connections)
end
hub:serve_request()
