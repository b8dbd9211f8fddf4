--- An operation that takes its time, for specs of tasks: `pages` times 20 ms.
local operations = require("operations")

return { namespace = "report", name = "write", description = "Writes a report", _meta = { task = "optional" },
  inputSchema = { type = "object", properties = { pages = { type = "integer" } }, required = { "pages" } },
  handler = function(input, context)
    for page = 1, input.pages do
      operations.sleep(0.02)
      context.progress(page, input.pages, "writing")
    end
    return { pages = input.pages }
  end }
