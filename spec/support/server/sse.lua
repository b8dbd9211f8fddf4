-- /sse?count=N&delay=SECONDS&note=KEY&retry=MS: N server-sent events with id, event "tick" and JSON data {"n":i},
-- each flushed by itself. /sse/raw?data=TEXT: exactly these bytes. Notes as /slow does.
local args = ngx.req.get_uri_args()
local key = args.note

ngx.header["Content-Type"] = "text/event-stream"
ngx.header["Cache-Control"] = "no-store"
ngx.header["X-Last-Event-Id"] = ngx.var.http_last_event_id
if ngx.var.uri == "/sse/raw" then
  ngx.print(args.data)
  return
end
ngx.on_abort(function()
  if key then
    ngx.shared.notes:set(key, "aborted")
  end
  ngx.exit(499)
end)
if args.retry then
  ngx.print("retry: ", args.retry, "\n\n")
end
for i = 1, tonumber(args.count or 3) do
  if not ngx.print(("id: %d\nevent: tick\ndata: {\"n\":%d}\n\n"):format(i, i)) then
    return
  end
  ngx.flush(true)
  if args.delay then
    ngx.sleep(tonumber(args.delay))
  end
end
if key then
  ngx.shared.notes:set(key, "finished")
end
