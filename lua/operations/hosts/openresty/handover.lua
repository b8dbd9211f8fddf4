--- The connection of OpenResty's running request as the handle of a byte stream, once the request was answered with
--- another protocol.
local coroutines = require("operations.hosts.openresty.coroutines")
local semaphores = require("ngx.semaphore")

local handover = {}

local LONGEST = 0x7fffffff -- ms
local PIECE = 65536 -- bytes read at once, if nginx's buffer holds as many
-- Seconds in which the other side must end after our last bytes: nginx cannot close only our side.
local LINGER = 0.2

---@class operations.OpenrestyConnection
---@field _out string[]  not yet sent
---@field _unsent integer  bytes, including those being sent
---@field _unread? string
---@field _finishing? boolean  no more bytes are accepted
---@field _cancelled? boolean  events are no longer reported
local Connection = {}
Connection.__index = Connection

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
      coroutines.sleep_on(self._wanted)
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
      coroutines.sleep_on(self._given)
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

-- The body of a light thread.
local function run(work, self)
  local ok, raised = pcall(work, self)
  if not ok then
    ngx.log(ngx.ERR, "operations: ", raised)
    lose(self, tostring(raised))
  end
end

--- The unread bytes.
---@return string?
function Connection:receive()
  local bytes = self._unread
  self._unread = nil
  if bytes and self._reader_waits then
    self._wanted:post(1)
  end
  return bytes
end

-- Takes over the socket when the answer begins; nginx logs the answer's status.
local function start(self, answer)
  ngx.status = tonumber(answer:match("^HTTP/1%.1 (%d+)"))
  local socket, err = ngx.req.socket(true)
  if not socket then
    return lose(self, err)
  end
  socket:settimeouts(LONGEST, LONGEST, LONGEST)
  self._socket = socket
  self._reader, self._writer = ngx.thread.spawn(run, read, self), ngx.thread.spawn(run, write, self)
end

local function wake_writer(self)
  if self._writer_waits then
    self._writer_waits = false
    self._given:post(1)
  end
end

--- Queues bytes, all or none. The first ones must be the answer's head, written by the code that took over the
--- connection.
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

--- Accepts no more bytes.
function Connection:finish_sending()
  self._finishing = true
  wake_writer(self)
end

--- Ends the connection at once.
function Connection:cancel()
  if not self._cancelled then
    self._cancelled, self._finishing = true, true
    self._wanted:post(1)
    self._over:post(1)
  end
end

--- Hands over the connection of the running request, starting with the answer's head; returns when it was cancelled.
---@param options { queue: integer }  bytes
---@param on_event fun(event: "data"|"drain"|"done"|"error", kind: string?, message: string?)
---@param fn fun(connection: operations.OpenrestyConnection)  may wait
function handover.take_over(options, on_event, fn)
  if ngx.req.http_version() >= 2 then -- HTTP/2 cannot hand over a connection
    return ngx.exit(505)
  end
  local self = setmetatable({
    _unread = ngx.req.raw_header(), _queue = options.queue, _on_event = on_event, _out = {}, _unsent = 0,
    _wanted = semaphores.new(0), _given = semaphores.new(0), _over = semaphores.new(0),
  }, Connection)
  -- With `lua_check_client_abort on`, nginx would end the request without a word.
  ngx.on_abort(function()
    lose(self, "the client has closed the connection")
  end)
  local ok, raised = pcall(fn, self)
  if not ok then
    self:cancel()
  end
  while not self._cancelled do
    coroutines.sleep_on(self._over)
  end
  if self._socket then
    ngx.thread.kill(self._reader)
    ngx.thread.kill(self._writer)
  end
  if not ok then
    error(raised, 0)
  end
end

return handover
