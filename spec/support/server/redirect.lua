-- /redirect?to=URL&status=302: a redirect. /redirect/loop: one to itself. /redirect/count/N: N times, then /echo.
local args = ngx.req.get_uri_args()
local to = args.to
if ngx.var.uri == "/redirect/loop" then
  to = "/redirect/loop"
elseif not to then
  local n = tonumber((ngx.var.uri:match("^/redirect/count/(%d+)$")))
  to = n > 1 and "/redirect/count/" .. n - 1 or "/echo/end"
end
ngx.status = tonumber(args.status or 302)
ngx.header["Location"] = to
ngx.print("moved")
