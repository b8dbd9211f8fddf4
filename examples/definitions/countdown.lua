local operations = require("operations")
local T = operations.type

return {
  namespace = "demo",
  name = "countdown",
  type = "subscription",
  description = "Count down, one event per step",
  inputSchema = T.object({
    from = T.integer({ minimum = 1, default = 3 }),
    pause = T.number({ minimum = 0, default = 0.1, description = "Seconds between two steps." }),
  }),
  outputSchema = T.object({ left = T.integer() }),
  handler = function(input)
    for left = input.from, 0, -1 do
      coroutine.yield({ left = left })
      operations.sleep(input.pause)
    end
  end,
}
