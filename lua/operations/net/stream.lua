--- Byte streams for protocols: outgoing connections by libcurl (names, proxies, TLS), and accepted ones. Received bytes
--- go to a function piece by piece; sent bytes are queued. A stream that is collected is closed.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local idn = require("operations.base.idn")
local limits = require("operations.base.limits")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")

local stream = {}

---@class operations.StreamOptions
---@field tls? boolean
---@field ca_file? string  PEM; default: the system's
---@field cert_file? string  ours, PEM
---@field key_file? string
---@field key_password? string
---@field proxy? string  URL; default: as the environment says, "": none
---@field public_only? boolean  connects to public addresses only
---@field connect_timeout? number  ms, default 10,000

---@class operations.Stream
---@field on_closed? fun()  called once, when it is closed from here
local Stream = {}
Stream.__index = Stream

local function failure(kind, message)
  return errors.new("TRANSPORT_LOST", message, { kind = kind })
end

local passing = { dns = true, connect = true, timeout = true }

-- The error of a failed connect: nothing was sent.
local function unconnected(kind, message)
  local err = failure(kind, message)
  err.retryable, err.mayHaveRun = passing[kind] == true, false
  return err
end

local function tell(self, bytes, err)
  local on_chunk = self._on_chunk
  if on_chunk then
    if bytes == nil then
      self._on_chunk = nil
    end
    on_chunk(bytes, err)
  end
end

local function wake_writers(self)
  local writers = self._writers
  if writers then
    self._writers = nil
    waiters.wake(writers)
  end
end

local function stop_watching(self)
  local stop = self._stop_watching
  if stop then
    self._stop_watching = nil
    stop()
  end
end

-- The end is reported once, when there is a function for it.
local function end_with(self, err)
  self._ended, self._err = true, err
  stop_watching(self)
  tell(self, nil, err)
  wake_writers(self)
end

-- One read is enough: later bytes cause an event of their own. A layer may find the end of the stream in the bytes.
local function hand_over(self)
  if not self._on_chunk then
    return
  end
  local bytes, ended, kind, message = self._handle:receive()
  if bytes then
    self._silent = self._silent and 0
    self._on_chunk(bytes)
  end
  if ended and not self._ended then
    end_with(self, kind and failure(kind, message))
  end
end

-- The connection has ended.
local function finish(self, err)
  hand_over(self)
  if not self._ended then
    end_with(self, err)
  end
end

-- Makes the function that takes the events of the handle.
local function taker(self)
  return function(event, kind, message)
    if event == "data" then
      hand_over(self)
    elseif event == "drain" then
      wake_writers(self)
    elseif event == "done" then
      finish(self)
    elseif event == "error" then
      finish(self, failure(kind, message))
    end
  end
end

--- Sets the function that takes received bytes piece by piece, and nil at the end (with an error object unless the
--- other side ended the stream). It must not wait or raise.
---@param on_chunk fun(bytes: string?, err: operations.Error?)
function Stream:each_chunk(on_chunk)
  argument.expect(on_chunk, "function", 1, "each_chunk")
  self._on_chunk = on_chunk
  hand_over(self)
  if self._ended then
    end_with(self, self._err)
  end
end

--- Stops handing over bytes until `each_chunk` is called again; a fast sender is held back meanwhile.
function Stream:pause()
  self._on_chunk = nil
end

--- Tests the connection until it ends: calls `ask` every `ms`, which makes the other side send something, and `lost`
--- after `most` such intervals without a byte.
---@param ms number
---@param most integer
---@param ask fun(): boolean?  true: this interval does not count
---@param lost fun()  must close the stream
function Stream:watch(ms, most, ask, lost)
  local function look()
    if self._silent >= most then
      return lost()
    end
    self._stop_watching = scheduler.host().timer(ms, look)
    self._silent = self._silent + (ask() and 0 or 1)
  end
  self._silent = 0
  self._stop_watching = scheduler.host().timer(ms, look)
end

--- Queues bytes, all or none, if there is room. Never waits.
---@param bytes string
---@param urgent? boolean  also where there is none: for what is small and seldom
---@return boolean sent
---@return "full"|"closed"|nil why
function Stream:offer(bytes, urgent)
  if type(bytes) ~= "string" then
    argument.expect(bytes, "string", 1, "offer")
  end
  local sent = self._handle:transmit(bytes, urgent)
  if sent == "sent" then
    return true
  end
  return false, sent
end

-- Waits until there is room in the queue, or the queue is empty, or the stream has ended.
local function wait_for_room(self)
  local raised = scheduler.try_await(function(wake)
    self._writers = self._writers or {}
    return waiters.add(self._writers, wake)
  end)
  if raised ~= nil then
    return (errors.from(raised))
  end
end

--- Queues bytes, all or none; waits while the queue is full.
---@param bytes string
---@return true?
---@return operations.Error? err  ABORTED, TIMEOUT, TRANSPORT_LOST
function Stream:write(bytes)
  if type(bytes) ~= "string" then
    argument.expect(bytes, "string", 1, "write")
  end
  local sent = self._handle:transmit(bytes)
  while sent == "full" do
    local err = wait_for_room(self)
    if err then
      return nil, err
    end
    sent = self._handle:transmit(bytes)
  end
  if sent == "sent" then
    return true
  end
  return nil, self._err or failure("closed", "the stream is closed")
end

--- Waits until all queued bytes were sent.
---@return true?
---@return operations.Error? err  ABORTED, TIMEOUT, TRANSPORT_LOST
function Stream:flush()
  while (self._handle:unsent(true) or 0) > 0 do
    local err = wait_for_room(self)
    if err then
      return nil, err
    end
  end
  if self._handle:unsent() then
    return true
  end
  return nil, self._err or failure("closed", "the stream is closed")
end

--- The number of queued bytes.
---@return integer
function Stream:unsent()
  return self._handle:unsent() or 0
end

--- The address of the other side of an accepted stream.
---@return string? address  numeric; "unix:" for a Unix socket; nil when the connection is gone
---@return integer? port
function Stream:peer()
  return self._handle:peer()
end

--- The TLS session of an accepted stream; nil during the handshake and without TLS.
---@return operations.TlsPeer?
function Stream:tls()
  return self._layer and self._layer.peer_tls
end

--- Ends our side when all queued bytes were sent; the other side may still send.
function Stream:finish()
  self._handle:finish_sending()
end

--- Closes the stream at once. Nothing more is handed over.
function Stream:close()
  self._on_chunk = nil
  stop_watching(self)
  self._handle:cancel()
  if not self._ended then
    end_with(self)
  end
  local on_closed = self.on_closed
  if on_closed then
    self.on_closed = nil
    on_closed()
  end
end

local lingering = {} -- stream -> function that stops its timer

--- Ends our side when all queued bytes were sent, and closes the stream when the other side has ended as well, or after
--- `ms`. Nothing more is handed over.
---@param ms number
function Stream:linger(ms)
  local function close()
    local stop = lingering[self]
    if stop then
      lingering[self] = nil
      stop()
      self:close()
    end
  end
  lingering[self] = scheduler.host().timer(ms, close)
  stop_watching(self)
  self:finish()
  self:each_chunk(function(bytes)
    if bytes == nil then
      close()
    end
  end)
end

local function settings(host, port, options)
  host = idn.ascii(host) or host
  local authority = host:find(":", 1, true) and "[" .. host .. "]" or host
  return {
    url = ("%s://%s:%d"):format(options.tls and "https" or "http", authority, port),
    window = limits.window, queue = limits.send_queue,
    connect_timeout = options.connect_timeout or limits.connect_timeout,
    ca_file = options.ca_file, cert_file = options.cert_file, key_file = options.key_file,
    key_password = options.key_password, proxy = options.proxy, public_only = options.public_only,
  }
end

-- Connects; calls `wake` with the result.
local function start(self, given, wake)
  local take = taker(self)
  local handle, why, text = scheduler.host().start("connect", given, function(event, ...)
    if wake and (event == "head" or event == "error") then
      local woken = wake
      wake = nil
      return woken(event, ...)
    end
    return take(event, ...)
  end)
  if not handle then
    return wake("error", why, text)
  end
  self._handle = handle
  return function()
    handle:cancel()
  end
end

local function check_port(port, name)
  if type(port) ~= "number" or port % 1 ~= 0 or port < 0 or port > 65535 then
    error(("bad argument #2 to '%s' (port expected, got %s)"):format(name, number_text.of(port)), 3)
  end
end

--- Connects. Waits until the connection is made.
---@param host string
---@param port integer
---@param options? operations.StreamOptions
---@return operations.Stream?
---@return operations.Error? err  TRANSPORT_LOST, details.kind "dns", "connect", "tls", "timeout", ...; ABORTED, TIMEOUT
function stream.connect(host, port, options)
  argument.expect(host, "string", 1, "connect")
  check_port(port, "connect")
  argument.optional(options, "table", 3, "connect")
  options = options or {}
  local self = setmetatable({}, Stream)
  local raised, event, kind, message = scheduler.try_await(function(wake)
    return start(self, settings(host, port, options), wake)
  end)
  if raised ~= nil then
    return nil, (errors.from(raised))
  elseif event == "error" then
    return nil, unconnected(kind, ("%s:%d: %s"):format(host, port, message))
  end
  return self
end

--- Connects to a Unix socket of a process of the same user. Does not wait.
---@param path string
---@return operations.Stream?
---@return operations.Error? err  TRANSPORT_LOST, details.kind "connect": no process listens, or one of another user
function stream.connect_path(path)
  argument.expect(path, "string", 1, "connect_path")
  local self = setmetatable({}, Stream)
  local handle, message = scheduler.host().start("connect_path", { path = path, window = limits.window,
    queue = limits.send_queue }, taker(self))
  if not handle then
    return nil, unconnected("connect", ("%s: %s"):format(path, message))
  end
  self._handle = handle
  return self
end

--- Takes over the connection of the current request of nginx. The head of the request comes as the first bytes. Returns
--- when the stream was closed. Only in OpenResty, in a phase that may wait.
---@param on_stream fun(stream: operations.Stream)  may wait
function stream.take_over(on_stream)
  argument.expect(on_stream, "function", 1, "take_over")
  local host = scheduler.host()
  if not host.take_over then
    error(("the host '%s' handles no requests whose connections could be taken over"):format(host.name), 2)
  end
  local self = setmetatable({}, Stream)
  host.take_over({ queue = limits.send_queue }, taker(self), function(handle)
    self._handle = handle
    on_stream(self)
  end)
end

--- Takes over stdin or stdout of the program: nothing else may read or write it from then on. What other code or child
--- processes write to stdout goes to stderr.
---@param which "stdin"|"stdout"
---@return operations.Stream?
---@return operations.Error? err
function stream.of_program(which)
  local self = setmetatable({}, Stream)
  local handle, message = scheduler.host().start(which, { window = limits.window, queue = limits.send_queue },
    taker(self))
  if not handle then
    return nil, failure("open", ("%s: %s"):format(which, message))
  end
  self._handle = handle
  return self
end

---@class operations.Listener
---@field port integer  0: of a Unix socket
local Listener = {}
Listener.__index = Listener

-- Makes an accepted stream without its handle, and the function that takes the events of the handle.
local function prepare(security)
  local accepted = setmetatable({}, Stream)
  local up = taker(accepted)
  if not security then
    return accepted, up
  end
  local layer = security:layer(up)
  accepted._layer = layer
  return accepted, function(event, kind, message)
    return layer:event(event, kind, message)
  end
end

local ACCEPTS = 64 -- connections accepted before others get their turn

local function accept_all(self)
  local count = 0
  local handle
  repeat
    local accepted, take = prepare(self._security)
    handle = scheduler.host().start("accept", {
      listener = self._handle, window = limits.window, queue = limits.send_queue,
    }, take)
    if handle then
      accepted._handle = accepted._layer and accepted._layer:begin(handle) or handle
      self._on_stream(accepted)
    end
    count = count + 1
  until not handle or self._closed or count == ACCEPTS
  if handle and not self._closed then
    self._again = scheduler.host().timer(0, function()
      if not self._closed then
        accept_all(self)
      end
    end)
  end
end

-- Listens with the options `given`; `name` is the address, for the error.
local function listen(given, name, on_stream, security)
  local self = setmetatable({ _on_stream = on_stream, _security = security }, Listener)
  local handle, message = scheduler.host().start("listen", given, function()
    if not self._closed then
      accept_all(self)
    end
  end)
  if not handle then
    local is_name = given.host and given.host:find("[^%x:.]") and not given.host:find("%", 1, true)
    return nil, failure("listen", ("%s: %s"):format(name, is_name and "expected a numeric address" or message))
  end
  self._handle, self.port = handle, handle:port()
  return self
end

--- Accepts connections until it is closed and calls `on_stream` for each; it must not wait or raise. A listener that is
--- collected is closed.
---@param host string  a numeric address
---@param port integer  0: any free one
---@param on_stream fun(stream: operations.Stream)
---@param options? { backlog?: integer, security?: operations.Security }  backlog: connections that wait to be accepted,
---  default 128; security: its streams speak TLS
---@return operations.Listener?
---@return operations.Error? err
function stream.listen(host, port, on_stream, options)
  argument.expect(host, "string", 1, "listen")
  check_port(port, "listen")
  argument.expect(on_stream, "function", 3, "listen")
  argument.optional(options, "table", 4, "listen")
  options = options or {}
  return listen({ host = host, port = port, backlog = options.backlog }, ("%s:%d"):format(host, port), on_stream,
    options.security)
end

--- Listens at a Unix socket. The file is removed when the listener is closed; a stale file is replaced.
---@param path string
---@param on_stream fun(stream: operations.Stream)
---@param options? { mode?: integer, backlog?: integer, security?: operations.Security }  mode: permission bits of the
---  file, default 384 (0600)
---@return operations.Listener?
---@return operations.Error? err
function stream.listen_path(path, on_stream, options)
  argument.expect(path, "string", 1, "listen_path")
  argument.expect(on_stream, "function", 2, "listen_path")
  argument.optional(options, "table", 3, "listen_path")
  options = options or {}
  return listen({ path = path, mode = options.mode, backlog = options.backlog }, path, on_stream, options.security)
end

--- Stops accepting connections. Accepted ones stay open.
function Listener:close()
  self._closed = true
  self._handle:cancel()
end

return stream
