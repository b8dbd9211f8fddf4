--- The beginning of a connection, as both sides see it.
local core = require("operations.core")
local errors = require("operations.base.error")
local scheduler = require("operations.task.scheduler")

local websocket_opening = {}

-- What both sides must name: the call protocol, its version, its notation.
websocket_opening.protocol = "ops.v1.json"

--- Runs `fn` for at most `ms`.
---@param ms number
---@param fn fun(...): any, any
---@return any result  what it returns, or nil and TIMEOUT
---@return any err
function websocket_opening.within(ms, fn, ...)
  local deadline, outer = core.now() + ms, scheduler.deadline(nil)
  scheduler.deadline(outer and outer < deadline and outer or deadline)
  local result, err = fn(...)
  scheduler.deadline(outer)
  return result, err
end

--- Collects what comes until `read` makes something of it; then the stream is paused.
---@param stream operations.Stream
---@param read fun(bytes: string): any, any  nil: not enough yet
---@return any result
---@return any err
function websocket_opening.collect(stream, read)
  local bytes, waiting, ended = "", nil, nil
  stream:each_chunk(function(piece, err)
    if piece then
      bytes = bytes .. piece
    else
      ended = err or errors.new("TRANSPORT_LOST", "the connection ended in the handshake", { kind = "reset" })
    end
    if waiting then
      waiting()
    end
  end)
  local result, err, detail = read(bytes)
  while result == nil and err == nil and not ended do
    local raised = scheduler.try_await(function(wake)
      waiting = wake
    end)
    waiting = nil
    if raised ~= nil then
      stream:pause()
      return nil, (errors.from(raised))
    end
    result, err, detail = read(bytes)
  end
  stream:pause()
  if result == nil and err == nil then
    return nil, ended
  end
  return result, err, detail
end

return websocket_opening
