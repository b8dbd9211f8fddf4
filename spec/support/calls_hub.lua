--- The hubs of the application of ours that is an OpenResty, those of a worker: "calls" as the programs of calls.lua
--- have it, "strict" for nobody and messages of 1,000 bytes, "silent" for those that answer pings soon.
local calls = require("spec.support.calls")
local operations = require("operations")

local hubs = { newest = nil } -- the call map of the newest connection to "calls"

local function hub(name, options)
  options.port = false
  hubs[name] = assert(operations.transports.websocket_hub(options))
end

local options = calls.hub_options()
options.drain = 1000
options.on_connection = function(map)
  hubs.newest = map
end
hub("calls", options)
hub("strict", { registry = calls.registry(), log = options.log, max_message = 1000 })
hub("silent", { registry = calls.registry(), log = options.log, ping_interval = 50 })
return hubs
