-- /status/CODE: answers with that status, a header and a JSON body where one is allowed.
local code = tonumber((ngx.var.uri:match("^/status/(%d+)")))
ngx.status = code
ngx.header["X-Status"] = tostring(code)
ngx.header["Content-Type"] = "application/json"
if code ~= 204 and code ~= 304 then
  ngx.say(('{"status":%d,"title":"as asked"}'):format(code))
end
