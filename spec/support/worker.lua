--- A worker of the specs, as a process: serves a few operations over a transport. Arguments: transport, URL,
--- of Redis its mode.
local operations = require("operations")
local work = require("spec.support.work")

operations.run(function()
  local transport = assert(operations.transports[arg[1]](arg[2], arg[3] and { mode = arg[3] }))
  local map = operations.call_map(transport, { log = function() end })
  operations.call_handler(work(), map)
  io.stdout:write("ready\n")
  io.stdout:flush()
  while true do
    operations.sleep(3600)
  end
end)
