-- /events?url=URL: a subscription to the server-sent events of the URL, sent on as they come.
local operations = require("operations")
local http = require("operations.net.http")

local registry = operations.registry()
assert(registry:register({
  namespace = "events",
  name = "follow",
  type = "subscription",
  handler = function(input)
    local stream = assert(http.open({ url = input.url }))
    local parser = operations.sse_parser()
    for chunk in function() return stream:read() end do
      parser:feed(chunk)
      local event = parser:next()
      while event do
        coroutine.yield(event.data)
        event = parser:next()
      end
    end
  end,
}))
for envelope in assert(registry:subscribe("events.follow", { url = ngx.req.get_uri_args().url })) do
  if not (ngx.say(envelope.data) and ngx.flush(true)) then
    break
  end
end
