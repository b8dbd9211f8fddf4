-- /calls, /calls/strict, /calls/silent: the hubs of spec/support/calls_hub.lua; /calls/NAME/connections: how many one
-- has; /calls/back: what calls.who says on the other side of the newest connection.
local hubs = require("spec.support.calls_hub")

local name, question = ngx.var.uri:match("^/calls/?(%l*)(.*)$")
if name == "back" then
  local envelope, err = hubs.newest:call("calls.who")
  ngx.say(envelope and envelope.data or tostring(err))
elseif question == "/connections" then
  ngx.say(hubs[name].connections)
else
  hubs[name ~= "" and name or "calls"]:serve_request()
end
