-- A body that comes piece by piece goes to a server in the same process, which answers when it has it all.
local http = require("operations.net.http")
local operations = require("operations")
local stream = require("operations.net.stream")

require("operations.task").on_error = function() end

local PIECE, PIECES = ("x"):rep(5000), 6

local function serve(connection)
  local size = 0
  connection:each_chunk(function(bytes)
    size = size + (bytes and #bytes or 0)
    if bytes and size > PIECES * #PIECE then
      connection:offer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    end
  end)
end

return function()
  local connections, sent = {}, 0
  local listener, message = stream.listen("127.0.0.1", 0, function(connection)
    connections[#connections + 1] = connection
    serve(connection)
  end)
  assert(listener, tostring(message))
  local ok, reply, err = pcall(http.request, {
    method = "POST", url = ("http://127.0.0.1:%d/"):format(listener.port), timeout = 5000, body_size = PIECES * #PIECE,
    body = function()
      sent = sent + 1
      operations.sleep(0)
      return sent <= PIECES and PIECE or nil
    end,
  })
  for _, connection in ipairs(connections) do
    connection:close()
  end
  listener:close()
  assert(ok, reply)
  -- The server's buffers fail as well: then it is gone.
  local is_reset = reply == nil and err.details and err.details.kind == "reset"
  assert(reply and reply.body == "ok", is_reset and "not enough memory for the server" or tostring(err))
end
