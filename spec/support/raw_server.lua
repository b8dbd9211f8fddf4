--- A server on a raw socket: what a client sent, byte by byte.
local operations = require("operations")

local raw_server = {}

---@class spec.RawServer
---@field url string
local RawServer = {}
RawServer.__index = RawServer

---@return spec.RawServer
function raw_server.start()
  local child = assert(operations.process.spawn({ "perl", "spec/support/raw_server.pl" }))
  local port = assert(child:read_line())
  return setmetatable({ url = "http://127.0.0.1:" .. port, _child = child }, RawServer)
end

function RawServer:stop()
  self._child:close_stdin()
  self._child:wait()
end

return raw_server
