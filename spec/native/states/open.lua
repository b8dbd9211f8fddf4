--- Leaves everything open: a listener, a request and a subscription of it, a child process, timers, tasks. The state is
--- closed meanwhile.
local operations = require("operations")
local T = operations.type

local registry = operations.registry()
assert(registry:register({
  namespace = "clock", name = "wait", type = "query", inputSchema = T.object({}),
  handler = function() operations.sleep(60) end,
}))
assert(registry:register({
  namespace = "clock", name = "ticks", type = "subscription", inputSchema = T.object({}),
  handler = function()
    while true do
      coroutine.yield(1)
      operations.sleep(0.001)
    end
  end,
}))

local loop = operations.loop()
operations.spawn(function()
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0 }))
  local url = ("http://127.0.0.1:%d/clock/"):format(listener.port)
  operations.spawn(operations.http.request, { url = url .. "wait" })
  operations.spawn(function()
    local child = assert(operations.process.spawn({ "cat" }))
    return child:read_line()
  end)
  for _ in assert(registry:subscribe("clock.ticks", {})) do end
end)
for _ = 1, 20 do
  loop:turn()
end
