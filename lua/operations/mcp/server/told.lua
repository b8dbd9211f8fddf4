--- The message of a failure for the caller. Messages that may contain internals go to the log.
local problem = require("operations.server.problem")

local told = {}

--- May the caller learn the message? Logs it where not.
---@param call operations.mcp.ServerCall
---@param err operations.Error
---@param name string  of what failed, for the log
---@param route? { id: string, spec: operations.Spec }  of an operation that failed
---@return boolean
function told.is(call, err, name, route)
  local options = call.server.options
  local _, public = problem.status(err, route)
  if public or options.expose_errors or call.round and err.code == "INPUT_REQUIRED" then
    return true
  end
  options.log("error", ("%s: %s"):format(name, tostring(err)))
  return false
end

return told
