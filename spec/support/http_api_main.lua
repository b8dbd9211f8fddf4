-- Serves the API of the specs; says its port. On plain Lua, and inside Neovim. Numbers are options of
-- to_http and listen in $HTTP_API ("max_body=1"); $TLS_CERT and $TLS_KEY are the files of TLS.
local http_api = require("spec.support.http_api")
local operations = require("operations")

local options = { http = {}, listen = { port = 0 } }
for name, value in (os.getenv("HTTP_API") or ""):gmatch("([%l_]+)=(%d+)") do
  options[name == "max_body" and "http" or "listen"][name] = tonumber(value)
end
if os.getenv("TLS_CERT") then
  options.listen.tls = { cert = os.getenv("TLS_CERT"), key = os.getenv("TLS_KEY") }
end

local server = http_api.new(options.http)
local listener = assert(server:listen(options.listen))
io.stdout:write("port ", listener.port, "\n")
io.stdout:flush()
if not rawget(_G, "vim") then
  operations.sleep(3600)
end
