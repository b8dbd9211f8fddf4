-- Serves the API of the specs until standard input ends; says its port. On plain Lua, and inside Neovim.
local http_api = require("spec.support.http_api")
local operations = require("operations")

local server = http_api.new()
local listener = assert(server:listen({ port = 0 }))
io.stdout:write("port ", listener.port, "\n")
io.stdout:flush()
if not rawget(_G, "vim") then
  operations.sleep(3600)
end
