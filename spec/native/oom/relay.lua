-- A relay that nobody connects to, dropped and closed.
local reactor_module = require("operations.reactor")

return function()
  local reactor = assert(reactor_module.new())
  local relay, port, token = reactor:relay()
  assert(relay, port)
  assert(port > 0 and #token > 0)
  relay:close()
  reactor:close()
end
