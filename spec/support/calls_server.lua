--- Serves what specs call (calls.lua) over WebSocket, as a program: PORT.
local calls = require("spec.support.calls")
local operations = require("operations")

operations.run(function()
  local options = calls.hub_options()
  options.port = tonumber(arg[1])
  local hub = assert(operations.transports.websocket_hub(options))
  operations.sleep(3600)
  hub:close()
end)
