-- /resume?key=KEY&upto=N: events numbered from behind Last-Event-ID, two at a time before the connection breaks in the
-- middle of the next; 503 on every third request; 204 behind the last one.
local args = ngx.req.get_uri_args()
local first = tonumber(ngx.var.http_last_event_id or 0) + 1
if ngx.shared.notes:incr(args.key, 1, 0) % 3 == 0 then
  ngx.exit(503)
elseif first > tonumber(args.upto) then
  ngx.exit(204)
end
ngx.header["Content-Type"] = "text/event-stream"
for i = first, first + 1 do
  ngx.print(("id: %d\ndata: {\"n\":%d}\n\n"):format(i, i))
end
ngx.print("id: 99\ndata: {\"n\":")
ngx.flush(true)
ngx.exit(444)
