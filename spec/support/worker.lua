--- A worker of the specs, as a process: serves a few operations over a transport. Arguments: transport, URL; of Redis
--- its mode, and further options as JSON.
local json = require("operations.base.json")
local operations = require("operations")
local work = require("spec.support.work")

operations.run(function()
  local options = arg[3] and (arg[4] and json.decode(arg[4]) or { mode = arg[3] })
  local transport = assert(operations.transports[arg[1]](arg[2], options))
  local map = operations.call_map(transport, { log = function() end })
  operations.call_handler(work(), map)
  io.stdout:write("ready\n")
  io.stdout:flush()
  while true do
    operations.sleep(3600)
  end
end)
