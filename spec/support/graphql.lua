--- GraphQL services for specs: event streams without a network, and a server of graphql-transport-ws.
local core = require("operations.core")
local codec = require("operations.websocket").codec
local handshake = require("operations.net.handshake")
local json = require("operations.base.json")
local streams = require("operations.net.stream")

local graphql = {}

-- A stream of the HTTP client that gives these pieces, then ends.
local function stream_of(status, headers, pieces)
  local at, stream = 0, { status = status, headers = headers, closed = 0 }
  function stream.read()
    at = at + 1
    return pieces[at]
  end
  function stream.close()
    stream.closed = stream.closed + 1
  end
  return stream
end

--- An HTTP client whose streams give these pieces. `sent` are the requests, each with the decoded body as `json`.
---@param pieces string[]
---@param status? integer
---@param content_type? string
---@return { open: function, sent: table[] }
function graphql.events(pieces, status, content_type)
  local client = { sent = {} }
  function client.open(message)
    message.json = json.decode(message.body)
    client.sent[#client.sent + 1] = message
    client.stream = stream_of(status or 200, { ["content-type"] = content_type or "text/event-stream" }, pieces)
    return client.stream
  end
  return client
end

local function respond(stream, request, is_refused)
  if is_refused then
    return stream:offer("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", true)
  end
  local accepted = handshake.accept(request, "graphql-transport-ws", function() end)
  local lines = { "HTTP/1.1 101 Switching Protocols" }
  for name, value in pairs(accepted.headers) do
    lines[#lines + 1] = ("%s: %s"):format(name, value)
  end
  stream:offer(table.concat(lines, "\r\n") .. "\r\n\r\n", true)
end

---@class spec.GraphqlConnection
---@field request table  of the handshake: target, headers
---@field send fun(message: table|string)
---@field close fun(code: integer, reason: string)
---@field drop fun()
---@field received table[]

--- Listens for connections of graphql-transport-ws. `on_message(connection, message)` is called for each message.
---@param on_message fun(connection: spec.GraphqlConnection, message: table)
---@return { url: string, connections: spec.GraphqlConnection[], close: fun(), refuses: function? }
function graphql.sockets(on_message)
  local self = { connections = {} }
  local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
    local bytes, frames, connection = "", codec(true, 1048576), { received = {}, stream = stream }
    self.connections[#self.connections + 1] = connection
    function connection.send(message)
      stream:offer(frames:text(type(message) == "string" and message or assert(json.encode(message))), true)
    end
    function connection.close(code, reason)
      stream:offer(frames:close(code, reason), true)
    end
    function connection.drop()
      stream:close()
    end
    local function take(piece)
      local _, list = frames:feed(piece)
      for i = 1, #list, 2 do
        if list[i] == "text" then
          local message = json.decode(list[i + 1])
          table.insert(connection.received, message)
          on_message(connection, message)
        elseif list[i] == "close" then
          connection.closed = list[i + 1]
        end
      end
      local answer = frames:output()
      if answer then
        stream:offer(answer, true)
      end
    end
    stream:each_chunk(function(piece)
      if not piece then
        connection.ended = true
      elseif connection.request then
        take(piece)
      else
        bytes = bytes .. piece
        local request, _, rest = handshake.reader()(bytes)
        if request then
          connection.request = request
          respond(stream, request, self.refuses and self.refuses(request))
          if rest ~= "" then
            take(rest)
          end
        end
      end
    end)
  end))
  self.url = "http://127.0.0.1:" .. listener.port .. "/graphql"
  function self.close()
    listener:close()
    for _, connection in ipairs(self.connections) do
      connection.drop()
    end
  end
  return self
end

--- The SHA-256 of a text in hexadecimal.
function graphql.hash(text)
  return (core.sha256(text):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

return graphql
