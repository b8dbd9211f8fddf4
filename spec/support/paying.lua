--- A server of the specs whose answers are in Redis, as one of several processes: says its port. Argument: URL of
--- Redis. A key of a process that died is free 100 ms after the call's timeout.
local limits = require("operations.base.limits")
local operations = require("operations")

limits.idempotency_lease = 100
local registry, ran = operations.registry(), 0
assert(registry:register_all({
  { namespace = "a", name = "pay", handler = function(input)
    ran = ran + 1
    operations.sleep(input.wait)
    return { ran = ran }
  end },
  { namespace = "a", name = "ran", type = "query", handler = function() return ran end },
}))
operations.run(function()
  local server = assert(operations.to_http(registry, { idempotency = operations.middleware.redis(arg[1]) }))
  print(assert(server:listen({ port = 0 })).port)
  io.stdout:flush()
  operations.sleep(600)
end)
