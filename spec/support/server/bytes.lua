-- /bytes?size=N: N bytes with a Content-Length. /bytes/endless?note=KEY: until the client goes; notes how many were
-- taken from us under KEY. /bytes/events: the same with server-sent events of JSON. /bytes/lines?size=N: JSON lines.
local args = ngx.req.get_uri_args()
local block = ("0123456789abcdef"):rep(4096)

ngx.header["Content-Type"] = "application/octet-stream"
if ngx.var.uri == "/bytes" then
  local size = tonumber(args.size)
  ngx.header["Content-Length"] = size
  while size > 0 do
    ngx.print(block:sub(1, size))
    ngx.flush(true)
    size = size - #block
  end
  return
end
if ngx.var.uri == "/bytes/lines" then
  ngx.header["Content-Type"] = "application/x-ndjson"
  local line = '{"text":"' .. ("x"):rep(10000) .. '"}\n'
  for _ = 1, tonumber(args.size) / #line do
    ngx.print(line)
  end
  return
elseif ngx.var.uri == "/bytes/events" then
  ngx.header["Content-Type"] = "text/event-stream"
  block = ('data: {"text":"' .. ("x"):rep(16384) .. '"}\n\n'):rep(4)
end
local sent = 0
ngx.on_abort(function()
  ngx.shared.notes:set(args.note .. ".end", "aborted")
  ngx.exit(499)
end)
while ngx.print(block) and ngx.flush(true) do
  sent = sent + #block
  if args.note then
    ngx.shared.notes:set(args.note, sent)
  end
end
if args.note then -- a write may fail before the abort is noticed
  ngx.shared.notes:set(args.note .. ".end", "aborted")
end
