-- /proxy?url=URL&times=N: calls an operation, on this request's own thread, that calls another, which asks the URL.
local operations = require("operations")
local http = require("operations.net.http")

local args = ngx.req.get_uri_args()
local registry = operations.registry()

assert(registry:register_all({
  {
    namespace = "upstream",
    name = "get",
    handler = function(input)
      return { status = assert(http.request({ url = input.url })).status }
    end,
  },
  {
    namespace = "gateway",
    name = "get",
    handler = function(input, context)
      local envelope = assert(context.env.upstream.get({ url = input.url }))
      if not ngx.headers_sent then
        ngx.header["X-Handler"] = ngx.var.uri -- what only works in the request's own thread
        ngx.header["X-Worker"] = ngx.worker.pid()
      end
      return envelope.data
    end,
  },
}))
for _ = 1, tonumber(args.times or 1) do
  ngx.say(assert(registry:execute("gateway.get", { url = args.url })).data.status)
end
