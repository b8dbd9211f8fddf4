-- /limited: an operation that may be called 20 times in an hour, by all workers together; says the worker's pid, or the
-- code of the refusal. /limited/metrics: how often it was, as the workers counted.
local operations = require("operations")

local kept = package.loaded["spec.limited"]
if not kept then
  kept = { metrics = operations.middleware.metrics({ store = "notes" }) }
  kept.registry = operations.registry({ middleware = { kept.metrics,
    operations.middleware.rate_limit({ rate = 20, per = 3600000, store = "notes" }) } })
  assert(kept.registry:register({ namespace = "limited", name = "call", handler = function()
    return ngx.worker.pid()
  end }))
  package.loaded["spec.limited"] = kept
end
if ngx.var.uri == "/limited/metrics" then
  return ngx.print(kept.metrics:text())
end
local envelope, err = kept.registry:execute("limited.call")
ngx.say(envelope and envelope.data or err.code)
