-- /long/...: an API with operations that take their time, and an MCP server at /long/mcp. Their jobs are in the Redis
-- at the global SPEC_REDIS, if there is one.
local operations = require("operations")

local function make()
  local registry, report = operations.registry(), require("spec.support.long_report")
  assert(registry:register(report))
  assert(registry:register({ namespace = "report", name = "needed", handler = report.handler,
    _meta = { task = "required" } }))
  local url, map = rawget(_G, "SPEC_REDIS"), nil
  if url then
    map = operations.call_map(assert(operations.transports.redis(url, { mode = "reliable", vouches = true })))
    operations.call_handler(registry, map)
  end
  return assert(operations.to_http(registry, { prefix = "/long", mcp = true, tasks = map and { map = map } or nil }))
end

package.loaded["spec.long"] = package.loaded["spec.long"] or make()
package.loaded["spec.long"]:serve_request()
