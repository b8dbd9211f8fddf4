-- /kept/closed: answers as if the connection were kept, and closes it. /kept/taken: answers, takes the next request
-- on it, and closes it without a word.
local socket = assert(ngx.req.socket(true))
socket:send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
if ngx.var.uri == "/kept/taken" then
  socket:settimeout(10000)
  local length, line = 0, socket:receive()
  while line and line ~= "" do
    length = tonumber(line:lower():match("^content%-length: (%d+)")) or length
    line = socket:receive()
  end
  socket:receive(length)
end
