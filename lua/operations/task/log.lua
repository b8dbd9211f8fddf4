--- The default log: messages of the host, else warnings and errors on stderr.
local hosts = require("operations.hosts")
local printable = require("operations.base.printable")

local log = {}

---@param level "debug"|"info"|"warn"|"error"
---@param message string
function log.write(level, message)
  local write = hosts.current().log
  if write then
    write(level, message)
  elseif (level == "warn" or level == "error") and io then -- a program may have left out `io`
    io.stderr:write("operations: ", level, ": ", printable.message(message), "\n")
  end
end

return log
