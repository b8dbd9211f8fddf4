-- /guarded?accept=TOKEN: 401, saying what came, unless it came with this bearer token; then the body that came.
ngx.req.read_body()
if ngx.var.http_authorization == "Bearer " .. ngx.req.get_uri_args().accept then
  ngx.print(ngx.req.get_body_data() or "welcome")
else
  ngx.status = 401
  ngx.header["Content-Type"] = "application/json"
  ngx.header["X-Seen"] = ngx.var.http_authorization
  ngx.print(('{"message":"no good: %s"}'):format(ngx.var.http_authorization or "nothing"))
end
