-- /code/mcp: an MCP server whose clients write programs, one call of which a policy asks about.

local function make()
  local operations = require("operations") -- a local of this file is lost when nginx ends its coroutine
  operations.process.allow(true)
  local registry = operations.registry({ policy = { { match = "tasks.remove", action = "ask", name = "removals" } } })
  assert(registry:register({ namespace = "tasks", name = "remove", handler = function(input)
    return { removed = input.id, worker = ngx.worker.pid() }
  end }))
  assert(registry:register({ namespace = "tasks", name = "runs", handler = function()
    return ngx.shared.notes:incr("program runs", 1, 0)
  end }))
  return assert(operations.to_http(registry, { prefix = "/code",
    mcp = operations.to_mcp(registry, { state_secret = "of all workers", code = true }) }))
end

package.loaded["spec.code"] = package.loaded["spec.code"] or make()
package.loaded["spec.code"]:serve_request()
