-- A subscription is read to its end, another is closed early; each cleans up once, or logs why it cannot.
local operations = require("operations")

local cleaned, logged = 0, ""
local registry = operations.registry({
  log = function(_, message)
    logged = message
  end,
})
assert(registry:register({
  namespace = "clock",
  name = "tick",
  type = "subscription",
  handler = function(input, context)
    context.defer(function()
      cleaned = cleaned + 1
    end)
    for i = 1, input.n do
      coroutine.yield({ i = i })
    end
  end,
}))

return function()
  cleaned, logged = 0, ""
  local sum = 0
  for envelope in assert(registry:subscribe("clock.tick", { n = 5 })) do
    sum = sum + envelope.data.i
  end
  assert(sum == 15 and cleaned == 1, logged)
  local subscription = assert(registry:subscribe("clock.tick", { n = 5 }))
  local envelope, err = subscription:next()
  assert(envelope and envelope.data.i == 1, tostring(err))
  subscription:close()
  assert(cleaned == 2, logged)
end
