-- Started here, done after the request: nothing can wait in this phase.
local args = ngx.req.get_uri_args()
require("operations").spawn(require("operations.net.http").request, { url = args.url })
