-- /raw/bytes: as many bytes as asked for, or the number of those that came.
local size = tonumber(ngx.var.arg_size)
if size then
  ngx.header["content-type"], ngx.header["content-length"], ngx.header.etag = "application/octet-stream", size, '"e"'
  for _ = 1, ngx.req.get_method() == "HEAD" and 0 or math.floor(size / 65536) do
    ngx.print(("x"):rep(65536))
    ngx.flush(true)
  end
  ngx.print(ngx.req.get_method() == "HEAD" and "" or ("x"):rep(size % 65536))
else
  ngx.req.read_body()
  local path = ngx.req.get_body_file()
  local file = path and assert(io.open(path))
  ngx.print(file and file:seek("end") or #(ngx.req.get_body_data() or ""))
end
