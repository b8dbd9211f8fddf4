-- /published/...: events of one publisher for the readers at all workers.
local operations = require("operations")

local function make()
  local registry = operations.registry()
  local events = package.loaded["spec.events"] -- made before nginx forked
  assert(registry:register_all({
    { namespace = "room", name = "watch", type = "subscription", handler = function(_, context)
      local feed, err = events:subscribe("room", context.lastEventId)
      if feed then
        context.emit({ worker = ngx.worker.pid(), gap = feed.gap }) -- its place is known now
      end
      return feed, err
    end },
    { namespace = "room", name = "say", inputSchema = operations.type.object({ n = operations.type.integer() }),
      handler = function(input)
        return { id = assert(events:publish("room", input)), worker = ngx.worker.pid() }
      end },
  }))
  return assert(operations.to_http(registry, { prefix = "/published" }))
end

package.loaded["spec.published"] = package.loaded["spec.published"] or make()
package.loaded["spec.published"]:serve_request()
