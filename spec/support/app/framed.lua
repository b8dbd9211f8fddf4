-- /framed: an answer in pieces, with fields about the length of the message that do not fit it.
local http = require("operations.hosts.openresty.http")

http.serve(function()
  local pieces = { "12345", "67HTTP/1.1 200 OK\r\n\r\n" }
  local headers = { ["Content-Length"] = "5", ["Transfer-Encoding"] = "identity", Connection = "close" }
  return { status = 200, headers = headers,
    body = function()
      return table.remove(pieces, 1)
    end }
end)
