-- /digest/...: HTTP Digest (RFC 7616, MD5, qop=auth) for user "Mufasa", password "Circle of Life": the body that came.
ngx.req.read_body()
local given = ngx.var.http_authorization or ""
local function field(name)
  return given:match(name .. '="([^"]*)"') or given:match(name .. "=([^,%s]+)") or ""
end
local ha1 = ngx.md5("Mufasa:here:Circle of Life")
local ha2 = ngx.md5(ngx.req.get_method() .. ":" .. ngx.var.request_uri)
local expected = ngx.md5(table.concat({ ha1, "nonce1", field("nc"), field("cnonce"), field("qop"), ha2 }, ":"))
if given:find("^Digest ") and field("response") == expected then
  ngx.print("welcome " .. (ngx.req.get_body_data() or ""))
else
  ngx.status = 401
  ngx.header["WWW-Authenticate"] = 'Digest realm="here", qop="auth", algorithm=MD5, nonce="nonce1"'
  ngx.print("who are you?")
end
