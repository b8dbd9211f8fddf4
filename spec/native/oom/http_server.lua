-- A request that is read, and an answer that is made, whichever allocation fails.
local http_server = require("operations.http_server")

local request = "POST http://a?b HTTP/1.1\r\nHost: a\r\nCookie: a\r\nX: 1\r\ncookie: b\r\nx: 2\r\n"
  .. "Transfer-Encoding: chunked\r\n\r\n3;a\r\nabc\r\n2\r\nde\r\n0\r\nX: 3\r\n\r\n"

return function()
  local parser = http_server.parser(65536, 256, 16384, 1000)
  local event, _, head = parser:read(request, 1)
  assert(event == "head" and head.target == "/?b" and head.headers.x == "1, 2" and head.headers.cookie == "a; b"
    and head.body == "abcde")
  local another = http_server.parser(65536, 256, 16384, 1000)
  for i = 1, #request, 7 do
    event = another:read(request:sub(i, i + 6), 1)
  end
  assert(event == "end" or event == "body")
  local bytes = http_server.answer(200, { a = { "b", "c" }, d = 1 }, ("x"):rep(100000), "now", "close", false)
  assert(#bytes > 100000)
end
