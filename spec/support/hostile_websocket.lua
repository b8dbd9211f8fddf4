--- Input that malicious or broken clients send to a hub of WebSocket, and the hub's answers.
local operations = require("operations")
local streams = require("operations.net.stream")

local hostile = {}

local opening = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
  .. "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
  .. "Sec-WebSocket-Protocol: ops.v1.json\r\n"
hostile.opening = opening

--- What a server answers to raw bytes, until it closes the connection or `enough` says so.
---@param port integer
---@param bytes string
---@param enough? fun(got: string): any
---@return string
function hostile.talk(port, bytes, enough)
  local stream = assert(streams.connect("127.0.0.1", port))
  local got, ended = "", false
  stream:each_chunk(function(piece)
    got, ended = got .. (piece or ""), piece == nil
  end)
  assert(stream:write(bytes))
  local stop = os.time() + 30
  while not ended and not (enough and enough(got)) do
    assert(os.time() <= stop, "it never answered")
    operations.sleep(0.001)
  end
  stream:close()
  return got
end

-- Requests, the status of their refusal, and that of the hub's own listener where it is another one than nginx's.
hostile.refusals = {
  { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "426" },
  { opening:gsub("13", "12") .. "\r\n", "426" },
  { opening:gsub("GET", "POST") .. "\r\n", "400" },
  { opening:gsub("dGhl", "x") .. "\r\n", "400" },
  { opening:gsub("ops.v1.json", "other") .. "\r\n", "400" },
  { opening:gsub("Host: localhost\r\n", "") .. "\r\n", "400" },
  { opening .. "no field\r\n\r\n", "400" },
  { opening .. "Origin: https://evil.example\r\n\r\n", "403" },
  { opening .. "X: " .. ("x"):rep(70000), "400", "431" },
  { opening .. "Content-Length: 5\r\n\r\nhello", "400" },
}

local mask = "\0\0\0\0"

-- Frames, and the code of the close frame that ends the connection; messages may have 1,000 bytes.
hostile.frames = {
  ["an unmasked frame"] = { "\129\1x", 1002 },
  ["a reserved bit"] = { "\193\129" .. mask .. "x", 1002 },
  ["a reserved opcode"] = { "\131\129" .. mask .. "x", 1002 },
  ["a stray continuation"] = { "\128\129" .. mask .. "x", 1002 },
  ["a fragmented ping"] = { "\9\129" .. mask .. "x", 1002 },
  ["a ping too long"] = { "\137\254\0\126" .. mask .. ("x"):rep(126), 1002 },
  ["text that is no UTF-8"] = { "\129\130" .. mask .. "\192\128", 1007 },
  ["text that is no JSON"] = { "\129\130" .. mask .. "{]", 1007 },
  ["a binary message"] = { "\130\129" .. mask .. "x", 1003 },
  ["a message too long"] = { "\129\254\3\233" .. mask .. ("x"):rep(1001), 1009 },
  ["a length of 2^62"] = { "\129\255\64\0\0\0\0\0\0\0" .. mask .. "x", 1009 },
  ["a length with the top bit set"] = { "\129\255\255\0\0\0\0\0\0\0" .. mask, 1002 },
  ["a close of one byte"] = { "\136\129" .. mask .. "x", 1002 },
  ["a close whose reason is no UTF-8"] = { "\136\132" .. mask .. "\3\232\192\128", 1007 },
  ["fragments of a message too long"] = { ("\1\129" .. mask .. "x") .. ("\0\129" .. mask .. "x"):rep(1000), 1009 },
  ["a close with a code that is not for the wire"] = { "\136\130" .. mask .. "\3\237", 1002 },
}

return hostile
