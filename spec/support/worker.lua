--- A worker of the specs, as a process: serves a few operations over a transport. Arguments: transport, URL.
local operations = require("operations")

local registry = operations.registry({ log = function() end })
assert(registry:register_all({
  { namespace = "work", name = "pid", handler = function()
    local stat = assert(io.open("/proc/self/stat"))
    local pid = stat:read("*n")
    stat:close()
    return pid
  end },
  { namespace = "work", name = "sleep", handler = function(input)
    operations.sleep(input.seconds)
    return "slept"
  end },
  { namespace = "work", name = "ticks", type = "subscription", handler = function(input)
    for i = 1, input.n or math.huge do
      coroutine.yield(i)
      if input.pause then
        operations.sleep(input.pause)
      end
    end
  end },
}))

operations.run(function()
  local map = operations.call_map(assert(operations.transports[arg[1]](arg[2])), { log = function() end })
  operations.call_handler(registry, map)
  io.stdout:write("ready\n")
  io.stdout:flush()
  while true do
    operations.sleep(3600)
  end
end)
