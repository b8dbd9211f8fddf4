-- /leaving: what is to be done when the worker ends raises.
local operations = require("operations")

require("operations.task.scheduler").host().on_exit(function()
  error("leaving: raised", 0)
end)
require("operations.task").detach(pcall, operations.sleep, 60)
