-- /cookie?set=LINE&set=LINE&to=URL: sets the cookies, and redirects there when told to.
local args = ngx.req.get_uri_args()
ngx.header["Set-Cookie"] = args.set
if args.to then
  ngx.status = 302
  ngx.header["Location"] = args.to
end
ngx.print(ngx.var.http_cookie or "none")
