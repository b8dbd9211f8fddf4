--- The connection of a request of OpenResty as a byte stream's handle, with the methods and events of the reactor's.
--- Its socket belongs to the request: one light thread of it reads, one writes, and others leave word with them.
local semaphores = require("ngx.semaphore")

local openresty_connection = {}

local FOREVER = 0x7fffffff -- ms
local PIECE = 65536 -- bytes read at once, if nginx's buffer holds as many
-- nginx cannot end our side alone: so many seconds has the other side to end what we have sent the last bytes of.
local LINGER = 0.2

---@class operations.OpenrestyConnection
---@field _out string[]  not yet sent
---@field _unsent integer  bytes, of those that are being sent too
---@field _unread? string
---@field _finishing? boolean  nothing more is queued
---@field _cancelled? boolean  nobody listens any more
local Connection = {}
Connection.__index = Connection

local function wait(semaphore)
  local ok, err
  repeat
    ok, err = semaphore:wait(FOREVER / 1000)
  until ok or err ~= "timeout"
end

local function tell(self, ...)
  if not self._cancelled and not self._ended then
    self._on_event(...)
  end
end

local function lose(self, why)
  self._finishing = true
  tell(self, "error", "reset", why)
  self._ended = true
end

local function read(self)
  local bytes, err
  repeat
    while self._unread and not self._cancelled do
      self._reader_waits = true
      wait(self._wanted)
      self._reader_waits = false
    end
    bytes, err = self._socket:receiveany(PIECE)
    if bytes then
      self._unread = bytes
      tell(self, "data")
    end
  until not bytes
  if err ~= "closed" then
    return lose(self, err)
  end
  tell(self, "done")
  self._ended = true
end

local function write(self)
  while true do
    while #self._out == 0 do
      if self._finishing then
        ngx.sleep(LINGER)
        tell(self, "done")
        return
      end
      self._writer_waits = true
      wait(self._given)
      self._writer_waits = false
    end
    local pieces, length = self._out, self._unsent
    self._out = {}
    local sent, err = self._socket:send(pieces)
    if not sent then
      return lose(self, err)
    end
    self._unsent = self._unsent - length
    if self._refused and self._unsent < self._queue then
      self._refused = false
      tell(self, "drain")
    end
  end
end

-- What a thread does.
local function run(work, self)
  local ok, raised = pcall(work, self)
  if not ok then
    ngx.log(ngx.ERR, "operations: ", raised)
    lose(self, tostring(raised))
  end
end

--- What came and was not taken.
---@return string?
function Connection:receive()
  local bytes = self._unread
  self._unread = nil
  if bytes and self._reader_waits then
    self._wanted:post(1)
  end
  return bytes
end

-- The socket is taken when the answer begins, whose status is for nginx to log.
local function start(self, answer)
  ngx.status = tonumber(answer:match("^HTTP/1%.1 (%d+)"))
  local socket, err = ngx.req.socket(true)
  if not socket then
    return lose(self, err)
  end
  socket:settimeouts(FOREVER, FOREVER, FOREVER)
  self._socket = socket
  self._reader, self._writer = ngx.thread.spawn(run, read, self), ngx.thread.spawn(run, write, self)
end

local function wake_writer(self)
  if self._writer_waits then
    self._writer_waits = false
    self._given:post(1)
  end
end

--- Queues bytes, all or none. The first are the answer's head, from who took the connection over.
---@param bytes string
---@param urgent? boolean
---@return "sent"|"full"|"closed"
function Connection:transmit(bytes, urgent)
  if not self._socket and not self._finishing then
    start(self, bytes)
  end
  if self._finishing then
    return "closed"
  elseif not urgent and self._unsent >= self._queue then
    self._refused = true
    return "full"
  end
  self._out[#self._out + 1], self._unsent = bytes, self._unsent + #bytes
  wake_writer(self)
  return "sent"
end

--- Takes no more bytes.
function Connection:finish_sending()
  self._finishing = true
  wake_writer(self)
end

--- Ends it at once.
function Connection:cancel()
  if not self._cancelled then
    self._cancelled, self._finishing = true, true
    self._wanted:post(1)
    self._over:post(1)
  end
end

--- Hands over the connection of the request that runs here, from its head on; returns when it was cancelled.
---@param options { queue: integer }  bytes
---@param on_event fun(event: "data"|"drain"|"done"|"error", kind: string?, message: string?)
---@param fn fun(connection: operations.OpenrestyConnection)  may wait
function openresty_connection.take_over(options, on_event, fn)
  if ngx.req.http_version() >= 2 then -- has no connection to give away
    return ngx.exit(505)
  end
  local self = setmetatable({
    _unread = ngx.req.raw_header(), _queue = options.queue, _on_event = on_event, _out = {}, _unsent = 0,
    _wanted = semaphores.new(0), _given = semaphores.new(0), _over = semaphores.new(0),
  }, Connection)
  local ok, raised = pcall(fn, self)
  if not ok then
    self:cancel()
  end
  while not self._cancelled do
    wait(self._over)
  end
  if self._socket then
    ngx.thread.kill(self._reader)
    ngx.thread.kill(self._writer)
  end
  if not ok then
    error(raised, 0)
  end
end

return openresty_connection
