-- /tasks?url=URL&count=N: asks the URL in N tasks, each of which may use what belongs to the request.
local operations = require("operations")
local http = require("operations.net.http")

local args = ngx.req.get_uri_args()
local functions = {}
for i = 1, tonumber(args.count) do
  functions[i] = function()
    ngx.sleep(0.001)
    return ngx.var.uri .. " " .. assert(http.request({ url = args.url })).status
  end
end
for _, line in ipairs(assert(operations.all(functions))) do
  ngx.say(line)
end
