-- Frames that are made and read, masked, in pieces, with a ping among them, whichever allocation fails.
local websocket = require("operations.websocket")

local message = ("x"):rep(70000)

return function()
  local client, server = websocket.codec(false, 100000), websocket.codec(true, 100000)
  local bytes = assert(client:text(message)) .. assert(client:ping("?"))
  local count, pong = 0, nil
  for at = 1, #bytes, 30000 do
    local open, messages = server:feed(bytes:sub(at, at + 29999))
    assert(open)
    for i = 1, #messages, 2 do
      count = count + #messages[i + 1]
    end
    pong = server:output() or pong
  end
  assert(count == #message + 1 and pong)
  local open, messages = client:feed(pong .. assert(server:text(message)) .. "\x81\x80abcd") -- a mask: a violation
  assert(not open and messages[4] == message and client:output())
  assert(server:close(1000, "over"))
end
