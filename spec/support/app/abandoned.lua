-- /abandoned: begins a subscription and drops it; with ?keep, not before the worker ends. Says how many cleaned up.
local operations = require("operations")

local notes = ngx.shared.notes
local registry = operations.registry()
assert(registry:register({
  namespace = "abandoned",
  name = "soon",
  type = "subscription",
  handler = function(_, context)
    context.defer(function()
      operations.sleep(0.001)
      notes:incr("cleaned", 1, 0)
    end)
    coroutine.yield("begun")
  end,
}))
local subscription = assert(registry:subscribe("abandoned.soon"))
assert(subscription:next().data == "begun")
if ngx.req.get_uri_args().keep then
  package.loaded["abandoned.kept"] = subscription
end
subscription = nil -- luacheck: ignore 311
collectgarbage()
collectgarbage()
operations.sleep(0.001)
ngx.say(notes:get("cleaned") or 0)
