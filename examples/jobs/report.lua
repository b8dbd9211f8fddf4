-- An operation for workers: `operations worker --redis URL --reliable --lua examples/jobs/report.lua`.
local operations = require "operations"

return {
  namespace = "report", name = "write",
  description = "Writes a report. A page takes a while.",
  inputSchema = { type = "object", required = { "pages" },
    properties = { pages = { type = "integer", minimum = 1 }, seconds = { type = "number", default = 1 } } },
  handler = function(input, context)
    for page = 1, input.pages do
      operations.sleep(input.seconds)
      context.progress(page, input.pages, "page " .. page)
    end
    return { pages = input.pages, attempt = context.attempt }
  end,
}
