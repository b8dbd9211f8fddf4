--- What the servers of serve.lua offer: one validated, cast, enveloped operation, and a stream.
local operations = require("operations")

local T = operations.type
local serve_api = {}

-- The answer of every server, 110 bytes of JSON:
-- {"id":7,"title":"write the documentation of the server","done":false,"owner":"ada","labels":["doc","web","a"]}

---@return operations.Registry
function serve_api.registry()
  local registry = operations.registry()
  assert(registry:register({ namespace = "task", name = "get", type = "query",
    inputSchema = T.object({ id = T.integer() }),
    outputSchema = T.object({ id = T.integer(), title = T.string(), done = T.boolean(), owner = T.string(),
      labels = T.array(T.string()) }),
    handler = function(input)
      return { id = input.id, title = "write the documentation of the server", done = false, owner = "ada",
        labels = { "doc", "web", "a" } }
    end }))
  assert(registry:register({ namespace = "task", name = "watch", type = "subscription",
    handler = function(_, context)
      while true do
        context.emit({ at = operations.local_envelope(nil, "x").meta.timestamp })
        operations.sleep(0.1)
      end
    end }))
  return registry
end

return serve_api
