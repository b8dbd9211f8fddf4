--- The hub of the application of ours that is an OpenResty: each worker has one.
local calls = require("spec.support.calls")
local operations = require("operations")

local options = calls.hub_options()
options.port, options.drain = false, 1000
return assert(operations.transports.websocket_hub(options))
