--- One connection of the HTTP server. It reads, handles and answers requests one after the other, in their order. It
--- has a task only while it serves a request.
local codec = require("operations.http_server")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local pool = require("operations.server.pool")
local response_writer = require("operations.server.response_writer")
local scheduler = require("operations.task.scheduler")
local waiters = require("operations.task.wait")
local waiting = require("operations.server.waiting")

local connection = {}

---@class operations.ConnectionOptions
---@field max_head? integer  bytes, default 64 KiB
---@field max_fields? integer  of a head, default 256
---@field max_target? integer  bytes, default 16 KiB
---@field max_body? integer  bytes, default 16 MiB
---@field max_connection_requests? integer  that one connection brings, default 1,000
---@field head_timeout? number  ms, default 10,000
---@field body_timeout? number  ms between two pieces, default 30,000
---@field keep_alive? number  ms without a request, default 60,000
---@field write_timeout? number  ms in which no byte of an answer is taken, default 60,000
---@field log? fun(level: string, message: string)  default: warnings and errors go to stderr

local unset = nil -- reserves room in a constructor for a field that is set later; LuaJIT reserves none for `nil` itself
local IN_A_ROW = 16 -- requests served before other connections get their turn
local DISCARDED = 65536 -- bytes of an unread body that are read and dropped to keep the connection

--- A request, as the parser makes it of a head.
---@class operations.RequestHead
---@field method string
---@field target string
---@field headers table<string, string>
---@field keep_alive boolean  the sender wants to keep the connection
---@field minor integer  of its version of HTTP/1
---@field expects boolean  the sender waits for "100 Continue"
---@field body string  what has come of it; "" once that was read
---@field ended boolean  the whole body has come
---@field flaw? operations.Error  why the body cannot be read
---@field left? "left"|"draining"  its caller has left, or it is to end
---@field leaving? fun(reason: "left"|"draining")[]  called then

---@class operations.HttpConnection
---@field idle number|false  ms since the epoch: since then it waits for the first byte of a request
---@field peer { address: string?, port: integer?, tls: false|operations.TlsPeer }
---@field register fun(fn: fun())  has `fn` called when the caller of the current request leaves
---@field _met boolean  `peer.tls` is set: the TLS handshake is over when a request arrives
---@field _stream operations.Stream
---@field _count integer  requests so far
---@field _current operations.RequestHead|false  the request that is read, handled or answered
---@field _input operations.ConnectionInput
---@field _waits operations.ConnectionWaits
---@field _output operations.ConnectionOutput
---@field _draining? boolean  no further request is accepted
---@field _upgraded? boolean  another protocol has the stream
local Connection = {}
Connection.__index = Connection

-- The parser's result for the bytes that have arrived; nil if it needs more.
local function read(self)
  local input = self._input
  if input.from > #input.bytes then
    return nil
  end
  local event, first, second
  event, input.from, first, second = self._parser:read(input.bytes, input.from)
  return event, first, second
end

local function fail(current, code, status, message)
  current.flaw = errors.new(code, message, { statusCode = status })
  return nil, current.flaw
end

-- The next piece of a body that has arrived, nil at the end of the body, false if more is needed.
local function piece_here(self, current)
  local event, first, second = read(self)
  if event == "body" then
    current.ended = second
    return first ~= "" and first or second and nil
  elseif event == "end" then
    current.ended = true
    return nil
  elseif event == "error" then
    return fail(current, "VALIDATION_ERROR", first, second)
  end
  return false
end

-- Waits for more of a body; answers `Expect: 100-continue` first. Returns the error.
local function wait_for_body(self, current)
  if current.expects then
    current.expects = false
    self._stream:offer("HTTP/1.1 100 Continue\r\n\r\n", true)
  end
  self._waits.now = false
  waiting.watch(self, self._options.body_timeout)
  local failure = waiting.await(self)
  waiting.unwatch(self)
  if self._input.ended then
    waiting.leave(self, "left")
  end
  if failure ~= nil then
    return (errors.from(failure))
  elseif self._waits.expired then
    return select(2, fail(current, "TIMEOUT", 408, "the body of the request came too slowly"))
  end
end

-- The next piece of the body, nil at its end, nil and an error if it cannot be read.
local function read_body(self, current)
  local piece = current.body
  if piece ~= "" then
    current.body = ""
    return piece
  end
  while not current.ended and not current.flaw do
    local bytes, err = piece_here(self, current)
    if bytes ~= false then
      return bytes, err
    elseif self._input.ended then
      return fail(current, "ABORTED", 499, "the caller left before the end of the body")
    end
    err = wait_for_body(self, current)
    if err then
      return nil, err
    end
  end
  return nil, current.flaw
end

local function body_reader(self, current)
  return function()
    if self._current ~= current then
      return nil, errors.new("ABORTED", "the request was answered: its body cannot be read any more")
    end
    return read_body(self, current)
  end
end

-- Reads and drops the rest of a body that the handler did not read. Returns false if it is too long, takes longer than
-- `body_timeout`, or cannot be read.
local function discard(self, current)
  local size, stop = 0, scheduler.now() + self._options.body_timeout
  repeat
    local piece, err = read_body(self, current)
    size = size + #(piece or "")
    if err or size > DISCARDED or scheduler.now() > stop then
      return false
    end
  until not piece
  return true
end

-- The request for the handler.
local function request_of(self, current)
  if not self._met then
    self._met, self.peer.tls = true, self._stream:tls() or false
  end
  return {
    method = current.method, target = current.target, headers = current.headers,
    body = current.ended and current.body or body_reader(self, current), peer = self.peer, left = self.register,
    path = unset, is_local = unset, -- room for fields that are set later: growing a table costs more than a new one
  }
end

-- A part of a head has arrived.
local function begin(self)
  local input = self._input
  if not input.begun then
    input.begun, self.idle = true, false
    if self._count > 0 then -- the limit of the first one began with the connection
      waiting.watch(self, self._options.head_timeout)
    end
  end
end

-- The next request, if its head has arrived; else nil, with the status and the reason if it cannot be read.
local function next_request(self)
  local input, waits = self._input, self._waits
  if input.from <= #input.bytes then
    local event, head, reason = read(self)
    if event == "head" and not input.ended then -- otherwise the caller has left
      input.begun, waits.expired, waits.limit, self.idle = false, false, false, false
      return head
    elseif event == "error" then
      return nil, head, reason -- the status
    end
    begin(self)
  end
  if waits.expired and input.begun then
    return nil, 408, "the head of the request came too slowly"
  end
end

-- Will there be no further request?
local function is_over(self)
  local input = self._input
  return input.ended or self._waits.expired or self._draining and not input.begun or false
end

-- Calls the handler. Its errors go to the log; the caller gets status 500.
local function handle(self, current)
  local ok, response = xpcall(self._handle, errors.traced, request_of(self, current))
  local flaw
  if ok then
    flaw = response_writer.flaw(response)
  else
    flaw = response
  end
  if flaw then
    if not scheduler.cancelled() then
      waiting.report(self, "a request could not be handled: " .. flaw)
    end
    return response_writer.problem(500, "the request could not be handled")
  end
  return response
end

-- The connection was idle for `keep_alive`. It is not idle while the client still reads an answer.
local function on_idle(self)
  local unsent, output = self._stream:unsent(), self._output
  if unsent == 0 or unsent == output.queued then
    return waiting.wake(self)
  end
  output.queued = unsent
  waiting.watch(self, self._options.write_timeout, on_idle)
end

-- Answers one request. Returns true if the connection stays open.
local function serve_one(self, current)
  self._count, self._current = self._count + 1, current
  local response = handle(self, current)
  if response.status == 101 then
    response_writer.upgrade(self, response)
    self._current = false
    return false
  end
  local keep = not self._input.ended and response_writer.respond(self, response, current.method == "HEAD")
  self._current = false
  return keep and (current.ended or discard(self, current))
end

-- Serves the requests that have arrived, at most IN_A_ROW. Returns false if the connection has ended.
local function serve_row(self)
  local input = self._input
  for _ = 1, IN_A_ROW do
    local head, status, reason = next_request(self)
    if not head then
      if status then
        local response, refused = response_writer.problem(status, reason), self._options.refused
        self._current = { minor = 1, keep_alive = false, ended = true }
        response_writer.respond(self, response)
        if refused then
          refused({ peer = self.peer, status = status, code = status == 408 and "TIMEOUT" or "VALIDATION_ERROR",
            bytes = #response.body })
        end
        self._current = false
      end
      return status == nil
    elseif not serve_one(self, head) then
      return false
    elseif input.from > #input.bytes then
      return true
    end
  end
  return true
end

-- Serves the requests that have arrived, then waits for the next one. Returns true if the connection has ended.
local function serve(self)
  local goes_on, input = serve_row(self), self._input
  if goes_on and input.from <= #input.bytes then
    pool.add(self) -- at the end of the queue
    return false
  elseif not goes_on or is_over(self) then
    if not self._upgraded then
      response_writer.finish(self)
    end
    return true
  end
  self._output.queued = 0
  waiting.sleep(self, not input.begun and self._options.keep_alive or nil, on_idle)
  return false
end

--- Begins to wait for requests. `on_end` is called once, when the connection has ended or was upgraded.
---@param on_end fun()
function Connection:begin(on_end)
  self._on_end = on_end
  self.idle = waiting.watch(self, self._options.head_timeout)
  self._waits.asleep = true
  self._stream:each_chunk(self._input.take)
end

local function forget(self)
  waiting.forget(self)
  self._on_end()
end

--- Serves the requests that have arrived. The workers call it.
function Connection:serve()
  if serve(self) then
    forget(self)
  end
end

--- Ends the connection after an error of the server itself.
---@param raised string
function Connection:fail(raised)
  if not scheduler.cancelled() then
    waiting.report(self, "a connection failed: " .. raised)
  end
  waiting.abort(self)
  forget(self)
end

--- Ends the connection at once.
function Connection:abort()
  waiting.abort(self)
end

--- Accepts no further request: the current one is answered with `Connection: close`; an idle connection ends when its
--- last answer was sent.
function Connection:drain()
  self._draining = true
  if self.idle then
    self.idle = false
    waiting.go_on(self)
  end
end

--- Is it waiting for a request, with its last answer sent?
---@return boolean
function Connection:is_idle()
  return self.idle and self._stream:unsent() == 0
end

--- Cancels the request that is being handled; its answer may still be sent.
function Connection:cancel()
  waiting.leave(self, "draining")
end

local defaults = {
  max_head = limits.headers, max_fields = limits.request_fields, max_target = limits.request_target,
  max_body = limits.body, max_connection_requests = limits.connection_requests, head_timeout = limits.head_timeout,
  body_timeout = limits.body_timeout, keep_alive = limits.keep_alive, write_timeout = limits.write_timeout,
  log = log.write,
}

--- The options of connections, with defaults.
---@param options? operations.ConnectionOptions
---@return operations.ConnectionOptions
function connection.settings(options)
  local settings = {}
  for name, default in pairs(defaults) do
    local given = options and options[name]
    settings[name] = given == nil and default or given
  end
  return settings
end

--- A connection that `begin` serves.
---@param stream operations.Stream
---@param handler fun(request: operations.ServerRequest): operations.ServerResponse  may wait
---@param settings operations.ConnectionOptions  of `connection.settings`
---@return operations.HttpConnection
function connection.new(stream, handler, settings)
  local address, port = stream:peer()
  local parser = codec.parser(settings.max_head, settings.max_fields, settings.max_target, settings.max_body)
  local self = setmetatable({
    idle = false, peer = { address = address, port = port, tls = false }, register = unset, _met = false, _count = 0,
    _stream = stream, _handle = handler, _options = settings, _parser = parser, _current = false, _on_end = unset,
    _output = { queued = 0, chunked = false, heartbeat = unset }, _input = unset, _waits = unset,
  }, Connection)
  self._input = { bytes = "", from = 1, begun = false, paused = false, ended = false, take = waiting.taker(self) }
  self._waits = { connection = self, limit = false, on_limit = unset, expired = false, now = false, awaited = false,
    asleep = false, wait = waiters.new() }
  self.register = function(fn)
    return waiting.register(self, fn)
  end
  return self
end

return connection
