-- A server of serve.lua on this runtime: says its port and serves until it is killed; by TLS with $TLS_CERT, $TLS_KEY.
package.path = "./?.lua;" .. package.path
local operations = require("operations")
local serve_api = require("spec.bench.serve_api")

local server = assert(operations.to_http(serve_api.registry(), { max_requests = 4096, max_identity_streams = 4096 }))
local cert = os.getenv("TLS_CERT")
operations.run(function()
  local listener = assert(server:listen({ port = 0, max_connections = 4096, max_connection_requests = math.huge,
    tls = cert and { cert = cert, key = os.getenv("TLS_KEY") } }))
  io.stdout:write(listener.port, "\n")
  io.stdout:flush()
  operations.sleep(3600)
end)
