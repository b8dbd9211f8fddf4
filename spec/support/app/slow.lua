-- /slow/mcp: an MCP server that is a part of an HTTP API, with a tool that takes a while and counts its runs.

local function make()
  local operations = require("operations") -- a local of this file is lost when nginx ends its coroutine
  local registry = operations.registry()
  assert(registry:register({ namespace = "slow", name = "run", handler = function(input, context)
    local runs = ngx.shared.notes:incr("slow runs", 1, 0)
    if input.tells then
      context.progress(1, 2)
    end
    operations.sleep(input.seconds)
    return { runs = runs, worker = ngx.worker.pid() }
  end }))
  return assert(operations.to_http(registry, { prefix = "/slow",
    mcp = operations.to_mcp(registry, { state_secret = "of all workers", heartbeat = 300 }) }))
end

package.loaded["spec.slow"] = package.loaded["spec.slow"] or make()
package.loaded["spec.slow"]:serve_request()
