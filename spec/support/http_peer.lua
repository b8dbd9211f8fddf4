--- A server of the HTTP engine and raw connections to it, for specs: bytes in, bytes out, in direct style.
local listener = require("operations.server.listener")
local operations = require("operations")
local scheduler = require("operations.task.scheduler")
local stream = require("operations.net.stream")

local http_peer = {}

local Client = {}
Client.__index = Client

--- Connects; `options` as `stream.connect` has them.
function http_peer.connect(port, options)
  local host = options and options.tls and "localhost" or "127.0.0.1"
  local self = setmetatable({ bytes = "", stream = assert(stream.connect(host, port, options)) }, Client)
  self.stream:each_chunk(function(bytes, err)
    self.bytes = self.bytes .. (bytes or "")
    self.ended, self.err = self.ended or bytes == nil, err
    local wake = self._wake
    if wake then
      self._wake = nil
      wake()
    end
  end)
  return self
end

function Client:send(bytes)
  assert(self.stream:write(bytes))
  return self
end

-- Waits until `read(bytes)` is something, or the connection has ended.
local function await(self, read)
  local got = { read(self.bytes) }
  while got[1] == nil and not self.ended do
    scheduler.await(function(wake)
      self._wake = wake
    end)
    got = { read(self.bytes) }
  end
  return got
end

--- Everything until the other side ends.
function Client:rest()
  await(self, function() end)
  return self.bytes
end

--- Waits until a pattern is found in what came; its captures.
function Client:expect(pattern)
  local got = await(self, function(bytes)
    return bytes:match(pattern)
  end)
  return got[1] or error(("%s expected, got %s"):format(pattern, self.bytes), 2)
end

--- One answer with a Content-Length: status, headers (lower case), body; what follows it is left.
function Client:answer()
  local head = self:expect("^(.-\r\n\r\n)()")
  local headers = {}
  for name, value in head:gmatch("\r\n([^:\r\n]+): ([^\r\n]*)") do
    headers[name:lower()] = value
  end
  local length = tonumber(headers["content-length"] or 0)
  local from = #head + 1
  await(self, function(bytes)
    return #bytes >= from + length - 1 or nil
  end)
  local body = self.bytes:sub(from, from + length - 1)
  self.bytes = self.bytes:sub(from + length)
  return tonumber(head:match("^HTTP/1%.1 (%d%d%d) ")), headers, body, head
end

--- Waits for one whole answer with a Content-Length, or for the end; `bytes` has what came.
function Client:expect_end_or_answer()
  await(self, function(bytes)
    local length, body = bytes:match("\r\n[Cc]ontent%-[Ll]ength: (%d+).-\r\n\r\n(.*)$")
    return length and #body >= tonumber(length) or nil
  end)
end

function Client:close()
  self.stream:close()
end

--- Runs `fn(listener, log)` with a server of `handler`; what it logs is in `log`.
function http_peer.with(handler, options, fn)
  return operations.run(function()
    local log = {}
    options.log = options.log or function(_, message)
      log[#log + 1] = message
    end
    local server = assert(listener.listen(options, handler))
    local ok, raised = pcall(fn, server, log)
    server:close()
    if not ok then
      error(raised, 0)
    end
  end)
end

return http_peer
