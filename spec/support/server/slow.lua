-- /slow?head=SECONDS&body=SECONDS&note=KEY: waits before the headers, then before the body. Notes under KEY "started",
-- then "aborted" when the client went away, else "finished".
local args = ngx.req.get_uri_args()
local notes, key = ngx.shared.notes, args.note

local function note(text)
  if key then
    notes:set(key, text)
  end
end

note("started")
ngx.on_abort(function()
  note("aborted")
  ngx.exit(499)
end)
if args.head then
  ngx.sleep(tonumber(args.head))
end
ngx.header["Content-Type"] = "text/plain"
ngx.send_headers()
ngx.flush(true)
if args.body then
  ngx.sleep(tonumber(args.body))
end
ngx.print("late")
note("finished")
