--- A peer of the reference protocol: it knows five events, each `{ type, id = "", payload }`, and announces nothing.
--- Over WebSocket, as client and as server; in process, as one end of a pair.
local base64 = require("operations.base.base64")
local json = require("operations.base.json")
local streams = require("operations.net.stream")
local task = require("operations.task")
local websocket = require("operations.websocket")

local five_events = {}

-- The fields of payloads. `credit` and `ttl` are how a request of ours announces: the schemas of the reference are
-- open, so that it takes them; `reason` is of the contract.
local fields = {
  ["call.requested"] = { requestId = true, operationId = true, input = true, parentRequestId = true, deadline = true,
    idleTimeout = true, identity = true, metadata = true, credit = true, ttl = true },
  ["call.responded"] = { requestId = true, output = true },
  ["call.completed"] = { requestId = true },
  ["call.aborted"] = { requestId = true, reason = true },
  ["call.error"] = { requestId = true, code = true, message = true, details = true },
}

local Peer = {}
Peer.__index = Peer

local function new()
  return setmetatable({ got = {}, counts = {}, strange = {} }, Peer)
end

-- Notes what it does not know; what it was asked is answered in a task of its own.
local function take(self, name, payload, id)
  self.got[#self.got + 1] = { type = name, id = id, payload = payload }
  self.counts[name] = (self.counts[name] or 0) + 1
  for field in pairs(payload) do
    if not (fields[name] and fields[name][field]) then
      self.strange[#self.strange + 1] = name .. "." .. field
    end
  end
  if name == "call.requested" and self.serve then
    task.detach(self.serve, payload)
  end
end

--- Sends an event; waits while there is no room.
---@param name string
---@param payload table
function Peer:send(name, payload)
  if self.transport then
    return self.transport:send(name, payload, self.asker)
  end
  return self.stream:write(self.codec:text((assert(json.encode({ type = name, id = "", payload = payload })))))
end

--- Answers a request with `n` events, whose data are `{ n, text }`, and completes it.
---@param id string
---@param n integer
---@param text? string
---@return integer sent
function Peer:burst(id, n, text)
  self.sent = 0
  for i = 1, n do
    if not self:send("call.responded", { requestId = id, output = { data = { n = i, text = text },
      meta = { source = "local", operationId = "a.stream", timestamp = 1 } } }) then
      return self.sent
    end
    self.sent = i
  end
  self:send("call.completed", { requestId = id })
  return self.sent
end

--- Reads what comes, from its start on or again.
function Peer:read()
  self.stream:each_chunk(function(bytes)
    if not bytes then
      self.ended = true
      return
    end
    local _, list = self.codec:feed(bytes)
    for i = 1, #list, 2 do
      if list[i] == "text" then
        local event = assert(json.decode(list[i + 1]))
        take(self, event.type, event.payload, event.id)
      end
    end
    local answer = self.codec:output()
    if answer then
      self.stream:offer(answer, true)
    end
  end)
end

-- Collects the head of a message of HTTP; then the stream is paused.
local function head_of(stream)
  local head = ""
  stream:each_chunk(function(bytes)
    head = head .. (bytes or "")
    if head:find("\r\n\r\n", 1, true) then
      stream:pause()
    end
  end)
  while not head:find("\r\n\r\n", 1, true) do
    task.sleep(0.001)
  end
  return head
end

local SUBPROTOCOL = "Sec-WebSocket-Protocol: ops.v1.json\r\n"

--- Connects to a hub.
---@param port integer
---@param bare? boolean  it names no subprotocol
function five_events.connect(port, bare)
  local self = new()
  self.stream, self.codec = assert(streams.connect("127.0.0.1", port)), websocket.codec(false, 2 ^ 24)
  self.stream:offer("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    .. "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    .. (bare and "" or SUBPROTOCOL) .. "\r\n")
  self.head = head_of(self.stream)
  assert(self.head:find("^HTTP/1.1 101"))
  self:read()
  return self
end

--- Listens for one spoke.
---@param bare? boolean  it names no subprotocol
---@return operations.Listener
---@return table peer
function five_events.listen(bare)
  local self = new()
  local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
    self.stream, self.codec = stream, websocket.codec(true, 2 ^ 24)
    task.detach(function()
      local key = head_of(stream):match("Sec%-WebSocket%-Key: (%S+)")
      stream:offer("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        .. base64.encode(websocket.sha1(key .. "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
        .. "\r\n" .. (bare and "" or SUBPROTOCOL) .. "\r\n")
      self:read()
    end)
  end))
  return listener, self
end

--- Is what uses a transport that is not used yet: one end of a pair, or of Redis, where it offers operations.
---@param transport operations.Transport
---@param offers? string[]
function five_events.open(transport, offers)
  local self = new()
  self.transport = transport
  local function deliver(name, payload, from, id)
    self.asker = from
    take(self, name, payload, id)
  end
  transport:open({
    deliver = deliver,
    event = function(event, from)
      if event then -- not one that the transport itself refuses
        deliver(event.type, event.payload, from, event.id)
      end
    end,
    offers = function()
      return offers
    end,
    lost = function() end,
  })
  return self
end

return five_events
