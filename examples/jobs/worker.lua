-- A worker in a program of one's own: `lua5.4 examples/jobs/worker.lua URL`. At TERM or Ctrl-C it begins no further
-- job, and gives those that run ten seconds to end; other workers run the rest.
local operations = require "operations"

pcall(operations.run, function()
  local registry = operations.registry()
  assert(registry:register(dofile("examples/jobs/report.lua")))
  local map = operations.call_map(assert(operations.transports.redis(arg[1], { mode = "reliable" })))
  local handler = operations.call_handler(registry, map)
  print("serving")
  io.stdout:flush()
  pcall(operations.sleep, math.huge)
  operations.shield(11000, function()
    handler:drain(10000)
    map:close()
    operations.sleep(0.1) -- until Redis has heard that it leaves
  end)
end)
