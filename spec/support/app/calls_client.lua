-- /calls_client?url=URL: what calls.process says there, over a connection that the worker keeps; with &watch=1 a task
-- that belongs to no request goes on to watch its ticks.
local operations = require("operations")

local kept = package.loaded["spec.calls_client"] or {}
package.loaded["spec.calls_client"] = kept

local args = ngx.req.get_uri_args()
if not kept.map then
  kept.map = operations.call_map(assert(operations.transports.websocket(args.url, { token = "secret" })))
end
if args.watch then
  require("operations.task").detach(function()
    for _ in assert(kept.map:subscribe("calls.ticks")) do
      kept.ticks = (kept.ticks or 0) + 1
    end
  end)
end
ngx.say(assert(kept.map:call("calls.process")).data)
