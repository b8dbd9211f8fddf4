-- /background?url=URL: tasks that belong to no request begin to wait: in a loop over a subscription to the server-sent
-- events of the URL, in a sleep, for a request. Without a URL: do they?
local http = require("operations.net.http")
local operations = require("operations")

local notes, url = ngx.shared.notes, ngx.req.get_uri_args().url
if not url then
  return ngx.say(notes:get("background") or "begun")
end

local registry = operations.registry()
assert(registry:register({ namespace = "a", name = "watch", type = "subscription", handler = function()
  local stream = assert(http.open({ url = url }))
  while true do
    coroutine.yield(assert(stream:read()))
  end
end }))
ngx.timer.at(0, function()
  operations.spawn(operations.sleep, 1000)
  operations.spawn(function()
    assert(http.request({ url = url }))
  end)
  operations.spawn(function()
    for _ in assert(registry:subscribe("a.watch")) do
      notes:set("background", "waiting")
    end
  end)
end)
ngx.say("begun")
