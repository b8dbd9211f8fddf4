--- The transports that chaos is made over, by delivery mode.
local operations = require("operations")

local transports = {}

-- Shorter than the time that a worker may be stopped: then two of them work on the same request.
local LEASE = 1000

---@param url string
---@param mode "fast"|"reliable"
---@return operations.Transport?
---@return operations.Error? err
function transports.connect(url, mode)
  return operations.transports.redis(url, { mode = mode, lease = LEASE })
end

--- Has a transport tell of the requests that it took.
---@param transport operations.Transport
---@param fn fun(id: string)
function transports.on_accepted(transport, fn)
  local send = transport.send
  function transport.send(self, name, payload, ...)
    local ok, err = send(self, name, payload, ...)
    if ok and name == "call.requested" then
      fn(payload.requestId)
    end
    return ok, err
  end
end

return transports
