--- An operation for specs of workers that are killed: its first worker never ends it.
local operations = require("operations")

return { namespace = "report", name = "write", type = "mutation", description = "Writes a report",
  _meta = { task = "optional" }, inputSchema = { type = "object" },
  handler = function(_, context)
    context.progress(context.attempt, 2)
    if context.attempt == 1 then
      operations.sleep(math.huge)
    end
    return { attempt = context.attempt }
  end }
