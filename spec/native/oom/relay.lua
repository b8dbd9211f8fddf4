-- A relay that nobody connects to, dropped and closed.
local reactor_module = require("operations.reactor")

return function()
  local reactor = assert(reactor_module.new())
  local relay, path = reactor:relay()
  assert(relay and path:find("/relay$"), path)
  assert(not relay:accept())
  relay:close()
  reactor:close()
end
