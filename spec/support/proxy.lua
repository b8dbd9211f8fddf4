--- A network that can be cut: a proxy in front of a server on this machine. While it is cut, what is sent does not
--- arrive, and nobody is told; when it heals, all of it arrives, as TCP has it.
local operations = require("operations")
local streams = require("operations.net.stream")

local proxy = {}

---@class spec.Proxy
---@field port integer
local Proxy = {}
Proxy.__index = Proxy

local function pass(self, from, to)
  from:each_chunk(function(bytes)
    local function go()
      if bytes then
        to:offer(bytes, true)
      else
        to:close()
      end
    end
    if self._held then
      self._held[#self._held + 1] = go
    else
      go()
    end
  end)
end

local function connect(self, port, stream)
  self._streams[#self._streams + 1] = stream
  local behind = streams.connect("127.0.0.1", port)
  if not behind then
    return stream:close()
  end
  self._streams[#self._streams + 1] = behind
  pass(self, stream, behind)
  pass(self, behind, stream)
end

---@param port integer  of the server
---@param host? string  where it listens, default "127.0.0.1"
---@return spec.Proxy
function proxy.start(port, host)
  local self = setmetatable({ _streams = {} }, Proxy)
  self._listener = assert(streams.listen(host or "127.0.0.1", 0, function(stream)
    operations.spawn(connect, self, port, stream)
  end))
  self.port = self._listener.port
  return self
end

function Proxy:cut()
  self._held = self._held or {}
end

function Proxy:heal()
  local held = self._held or {}
  self._held = nil
  for _, go in ipairs(held) do
    go()
  end
end

--- Breaks all connections that go through it.
function Proxy:reset()
  local broken = self._streams
  self._streams, self._held = {}, self._held and {}
  for _, stream in ipairs(broken) do
    stream:close()
  end
end

function Proxy:stop()
  self._listener:close()
  self:reset()
end

return proxy
