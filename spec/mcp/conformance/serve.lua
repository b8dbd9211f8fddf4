--- The conformance fixtures as a server over HTTP: `lua serve.lua`, or by `luafile` in Neovim; says its port.
local operations = require("operations")
local fixture = require("spec.mcp.conformance.server")

operations.run(fixture.offer_others)
local listener = assert(fixture.server:listen())
io.stdout:write(("port %d\n"):format(listener.port))
io.stdout:flush()
if not rawget(_G, "vim") then
  operations.run(operations.sleep, 3600)
end
