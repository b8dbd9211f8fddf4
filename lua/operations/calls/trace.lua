--- OPERATIONS_LOG=calls: a line on stderr when the connection of a transport is lost, and one when it is made again.
local core = require("operations.core")
local wire_log = require("operations.base.wire_log")

local trace = {}

local is_on = wire_log.has("calls")

--- Tells that a connection was lost.
---@param address string  without credentials
---@param err operations.Error
---@return number? since  for `connected`; nil: the log is not wanted
function trace.lost(address, err)
  if is_on then
    wire_log.write("calls", "%s: connection lost: %s", address, err.message)
    return core.monotonic()
  end
end

--- Tells that it was made again.
---@param address string
---@param since? number  what `lost` returned
function trace.connected(address, since)
  if since then
    wire_log.write("calls", "%s: connected again after %.0f ms", address, core.monotonic() - since)
  end
end

--- Tells that no further attempt is made.
---@param address string
---@param since? number
---@param err operations.Error
function trace.refused(address, since, err)
  if since then
    wire_log.write("calls", "%s: not connected again: %s", address, err.message)
  end
end

return trace
