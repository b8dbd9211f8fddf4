--- A subscription's handler is a coroutine: each yield is one event, and cleanup runs however it ends.
local operations = require("operations")
local T = operations.type

local registry = operations.registry()

assert(registry:register({
  namespace = "clock",
  name = "ticks",
  type = "subscription",
  inputSchema = T.object({ every = T.number({ exclusiveMinimum = 0, default = 0.01 }) }),
  outputSchema = T.integer(),
  handler = function(input, context)
    context.defer(function()
      print("cleaned up")
    end)
    for tick = 1, math.huge do
      coroutine.yield(tick)
      operations.sleep(input.every)
    end
  end,
}))

local ticks = assert(registry:subscribe("clock.ticks"))
for envelope in ticks do
  print(envelope.meta.operationId, envelope.data)
  if envelope.data == 3 then
    break
  end
end
ticks:close()
--> clock.ticks	1
--> clock.ticks	2
--> clock.ticks	3
--> cleaned up
