-- A Unix socket that is listened at and connected to.
local reactor_module = require("operations.reactor")

return function()
  local reactor = assert(reactor_module.new())
  local path = os.tmpname()
  os.remove(path)
  local listener = reactor:listen({ path = path })
  local stream = listener and reactor:connect_path({ path = path, window = 100, queue = 100 })
  if stream then
    stream:transmit("x")
  end
  reactor:close()
  os.remove(path)
  assert(stream, "not enough memory")
end
