--- The serving side of spec/calls/exact_spec.lua, as a process: websocket, or redis URL MODE. Its operation gives back
--- the integer that it gets.
local operations = require("operations")

local registry = operations.registry({ log = function() end })
assert(registry:register({ namespace = "exact", name = "id", outputSchema = { type = "integer" },
  inputSchema = { type = "object", required = { "id" }, properties = { id = { type = "integer" } } },
  handler = function(input)
    return input.id
  end }))

operations.run(function()
  local held
  if arg[1] == "websocket" then
    held = assert(operations.transports.websocket_hub({ registry = registry, log = function() end }))
    io.stdout:write("ws://127.0.0.1:", held.port, "\n")
  else
    held = operations.call_map(assert(operations.transports.redis(arg[2], { mode = arg[3] })))
    operations.call_handler(registry, held)
    io.stdout:write(arg[2], "\n")
  end
  io.stdout:flush()
  operations.sleep(3600)
  return held
end)
