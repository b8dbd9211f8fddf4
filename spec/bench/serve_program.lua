-- A server of serve.lua on this runtime: says its port and serves until it is killed.
package.path = "./?.lua;" .. package.path
local operations = require("operations")
local serve_api = require("spec.bench.serve_api")

local server = assert(operations.to_http(serve_api.registry(), { max_requests = 4096 }))
operations.run(function()
  local listener = assert(server:listen({ port = 0, max_connections = 4096 }))
  io.stdout:write(listener.port, "\n")
  io.stdout:flush()
  operations.sleep(3600)
end)
