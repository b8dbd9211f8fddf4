-- /flaky?key=KEY&fail=N&status=503&after=TEXT: the first N requests under KEY get the status, with TEXT as Retry-After;
-- the one after is told how many there were.
local args, notes = ngx.req.get_uri_args(), ngx.shared.notes
local count = notes:incr(args.key, 1, 0)
if count <= tonumber(args.fail) then
  if args.status == "drop" then
    ngx.exit(444)
  end
  ngx.status = tonumber(args.status or 503)
  ngx.header["Retry-After"] = args.after
  ngx.print("not now")
else
  ngx.print(count)
end
