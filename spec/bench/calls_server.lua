--- The serving side of calls.lua, as a process: websocket | redis URL MODE.
local operations = require("operations")

local schema = { type = "object", properties = { x = { type = "integer" } } }
local registry = operations.registry()
assert(registry:register({ namespace = "a", name = "b", inputSchema = schema, outputSchema = schema,
  handler = function(input)
    return { x = input.x }
  end }))

operations.run(function()
  local held
  if arg[1] == "websocket" then
    held = assert(operations.transports.websocket_hub({ registry = registry }))
    io.stdout:write(held.port, "\n")
  else
    held = operations.call_map(assert(operations.transports.redis(arg[2], { mode = arg[3] })))
    operations.call_handler(registry, held)
    io.stdout:write("ready\n")
  end
  io.stdout:flush()
  operations.sleep(3600)
  return held
end)
