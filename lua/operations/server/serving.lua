--- Shared by the HTTP servers: local addresses, host names, waiting for the last request.
local core = require("operations.core")
local errors = require("operations.base.error")
local task = require("operations.task")
local url = require("operations.base.url")

local serving = {}

--- Is a listener with these options reachable from this machine only?
---@param options operations.ListenOptions
---@return boolean
function serving.is_local(options)
  local host = options.host or "127.0.0.1"
  return options.path ~= nil or url.is_loopback(host:find(":", 1, true) and "[" .. host .. "]" or host)
end

--- The error of a listener that is reachable from elsewhere and has no `authorize`.
---@param name string  of the function that made the server
---@param host string
---@return operations.Error
function serving.strangers(name, host)
  return errors.new("ACCESS_DENIED", ("every client that reaches %s could call everything: give %s `authorize`, or "
    .. "`authorize = false` if that is meant"):format(host, name))
end

--- Host names in lower case.
---@param names? any[]
---@return string[]
function serving.in_lower_case(names)
  local lower = {}
  for i, name in ipairs(names or {}) do
    lower[i] = tostring(name):lower()
  end
  return lower
end

--- Waits until no request runs. Sets `on_idle` of the server meanwhile.
---@param server { on_idle: fun()? }
---@param grace? integer  ms, default: as long as it takes
function serving.wait_until_idle(server, grace)
  local previous = task.deadline(grace and core.now() + grace)
  pcall(task.await, function(wake)
    server.on_idle = wake
  end)
  task.deadline(previous)
  server.on_idle = nil
end

return serving
