-- /echo...: what arrived, as JSON: method, uri (path as sent), args (by name; a repeated one is a list), headers
-- (lower-case names; likewise), body, protocol, connection (a number). The field X-Protocol has the protocol as well.
local cjson = require("cjson")

ngx.req.read_body()
local body = ngx.req.get_body_data()
if not body and ngx.req.get_body_file() then
  local file = io.open(ngx.req.get_body_file(), "rb")
  body = file:read("*a")
  file:close()
end
ngx.header["Content-Type"], ngx.header["X-Protocol"] = "application/json", ngx.var.server_protocol
ngx.print(cjson.encode({
  method = ngx.req.get_method(),
  uri = ngx.var.request_uri,
  args = ngx.req.get_uri_args(),
  headers = ngx.req.get_headers(),
  body = body or "",
  protocol = ngx.var.server_protocol,
  connection = ngx.var.connection,
}))
