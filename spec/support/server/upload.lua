-- /upload?note=KEY: takes a body as it comes (one with a length); notes under KEY how many bytes there were so far,
-- and answers with that.
-- /upload/refused: answers 413 at once, reading nothing.
local args, notes = ngx.req.get_uri_args(), ngx.shared.notes
if ngx.var.uri == "/upload/refused" then
  ngx.status = 413
  ngx.header["Connection"] = "close"
  ngx.print("too large")
  return
end
local size = 0
if ngx.var.http_transfer_encoding then -- nginx gives chunks as a whole only
  ngx.req.read_body()
  size = #(ngx.req.get_body_data() or "")
end
local socket = not ngx.var.http_transfer_encoding and ngx.req.socket()
while socket do
  socket:settimeout(30000)
  local bytes = socket:receiveany(65536)
  if not bytes then
    break
  end
  size = size + #bytes
  if args.note then
    notes:set(args.note, size)
  end
end
ngx.print(size)
