local operations = require("operations")
local T = operations.type

return {
  namespace = "demo",
  name = "summary",
  type = "query",
  description = "Count the tasks of the HTTP API",
  inputSchema = T.object(),
  outputSchema = T.object({ open = T.integer(), done = T.integer(), titles = T.array(T.string()) }),
  handler = function(_, context)
    local tasks = assert(context.env.tasks.list({}))
    local summary = { open = 0, done = 0, titles = operations.array({}) }
    for i, task in ipairs(tasks.data) do
      local state = task.done and "done" or "open"
      summary[state] = summary[state] + 1
      summary.titles[i] = task.title
    end
    return summary
  end,
}
