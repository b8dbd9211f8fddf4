--- The API that pages of other origins are tried on: `lua api.lua ORIGIN` serves it to the pages of ORIGIN and prints
--- its URL.
local operations = require("operations")

local T = operations.type
local registry = operations.registry()
local paid, statuses = 0, {}

assert(registry:register_all({
  { namespace = "task", name = "add", type = "query", inputSchema = T.object({ a = T.integer(), b = T.integer() }),
    handler = function(input) return input.a + input.b end },
  { namespace = "task", name = "pay", inputSchema = T.object({ n = T.integer() }), handler = function()
    paid = paid + 1
    return operations.http_envelope({ paid = paid }, { statusCode = 201,
      headers = { location = "/payments/" .. paid } })
  end },
  { namespace = "task", name = "cached", type = "query", _meta = { http = { cache = true } },
    handler = function() return ("x"):rep(10000) end },
  { namespace = "task", name = "statuses", type = "query", handler = function() return statuses end },
  { namespace = "task", name = "watch", type = "subscription", inputSchema = T.object({ events = T.integer() }),
    handler = function(input, context)
      for i = 1, input.events do
        context.emit(i)
        operations.sleep(0.3)
      end
    end },
}))

local server = assert(operations.to_http(registry, { origins = { arg[1] }, idempotency = true, mcp = true,
  authorize = function(request)
    return request.token == "secret" and { id = "page", scopes = {} } or nil
  end, anonymous = true, access_log = function(entry)
    statuses[#statuses + 1] = entry.operation == "task.cached" and entry.status or nil
  end }))
local listener = assert(server:listen({ port = 0 }))
print(("http://127.0.0.1:%d"):format(listener.port))
io.stdout:flush()
operations.sleep(600)
