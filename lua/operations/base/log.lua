--- Where a log goes when nobody says.
local log = {}

--- Warnings and errors go to stderr.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
function log.to_stderr(level, message)
  if level == "warn" or level == "error" then
    io.stderr:write("operations: ", level, ": ", message, "\n")
  end
end

return log
