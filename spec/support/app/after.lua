-- /after: a block that goes on after its answer, until /after?answered=1 says that the answer was read.
local http = require("operations.hosts.openresty.http")
local notes = ngx.shared.notes

if ngx.var.arg_answered then
  notes:set("answered", true)
  return ngx.say("noted")
end
http.serve(function()
  return { status = 200, headers = {}, body = "out" }
end)
while not notes:get("answered") do
  ngx.sleep(0.01)
end
notes:set("after", "ran")
