--- One connection of the HTTP server. It reads, handles and answers requests one after the other, in their order. It
--- has a task only while it serves a request.
local codec = require("operations.http_server")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local pool = require("operations.server.pool")
local request_reader = require("operations.server.request_reader")
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

---@class operations.HttpConnection
---@field limit number|false  ms since the epoch: until then what it waits for must have happened
---@field idle number|false  ms since the epoch: since then it waits for the first byte of a request
---@field peer { address: string?, port: integer?, tls: false|operations.TlsPeer }
---@field register fun(fn: fun())  has `fn` called when the caller of the request leaves
---@field _met boolean  `peer.tls` is set: the TLS handshake is over when a request arrives
---@field _stream operations.Stream
---@field _bytes string  came and were not read, from `_from` on
---@field _wait operations.Wait  the same for every wait for bytes of a body
---@field _asleep boolean  it waits for bytes of the next request
---@field _begun boolean  some of these have come
---@field _request operations.ServerRequest|false  that is read, handled or answered
---@field _unread boolean  the body of the request has not come to its end
---@field _head operations.RequestHead  of the request
---@field _body_err? operations.Error
---@field _now number|false  ms since the epoch, when nothing was waited for since
---@field _ended? boolean  the other side sends no more, or the connection is closed
local Connection = {}
Connection.__index = Connection

-- Calls the handler. Its errors go to the log; the caller gets status 500.
local function handle(self, request)
  local ok, response = xpcall(self._handle, waiting.traced, request)
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
  local unsent = self._stream:unsent()
  if unsent == 0 or unsent == self._queued then
    return waiting.wake(self)
  end
  self._queued = unsent
  waiting.watch(self, self._options.write_timeout, on_idle)
end

-- Answers one request. Returns true if the connection stays open.
local function serve_one(self, request)
  self._count, self._left, self._leaving, self._heartbeat = self._count + 1, false, false, false
  local response = handle(self, request)
  if response.status == 101 then
    self._request = false
    response_writer.upgrade(self, response)
    return false
  end
  local keep = not self._ended and response_writer.respond(self, response, request.method == "HEAD")
  self._request = false
  return keep and (not self._unread or request_reader.discard(self))
end

-- Serves the requests that have arrived, at most IN_A_ROW. Returns false if the connection has ended.
local function serve_row(self)
  for _ = 1, IN_A_ROW do
    local request, status, reason = request_reader.next(self)
    if not request then
      if status then
        self._head = { minor = 1, keep_alive = false }
        response_writer.respond(self, response_writer.problem(status, reason))
      end
      return status == nil
    elseif not serve_one(self, request) then
      return false
    elseif self._from > #self._bytes then
      return true
    end
  end
  return true
end

-- Serves the requests that have arrived, then waits for the next one. Returns true if the connection has ended.
local function serve(self)
  local goes_on = serve_row(self)
  if goes_on and self._from <= #self._bytes then
    pool.add(self) -- at the end of the queue
    return false
  elseif not goes_on or request_reader.is_over(self) then
    if not self._upgraded then
      response_writer.finish(self)
    end
    return true
  elseif not self._begun then
    self._queued = false
    self.idle = waiting.watch(self, self._options.keep_alive, on_idle, self._now)
  end
  waiting.sleep(self)
  return false
end

--- Begins to wait for requests. `on_end` is called once, when the connection has ended or was upgraded.
---@param on_end fun()
function Connection:begin(on_end)
  self._on_end = on_end
  self.idle = waiting.watch(self, self._options.head_timeout)
  self._asleep = true
  self._stream:each_chunk(self._take)
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
  if self._request then
    waiting.leave(self, "draining")
  end
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
    limit = unset, idle = false, peer = { address = address, port = port,
      tls = false },
    _stream = stream, _handle = handler, _options = settings, _bytes = "", _from = 1, _count = 0,
    _parser = parser, _wait = waiters.new(), _request = unset, _head = unset, _left = unset, _leaving = unset,
    _heartbeat = unset, _expired = false,
    _waiting = false, _asleep = unset, _begun = false, _unread = false, _queued = unset, _now = false,
    _paused = false, _met = false,
  }, Connection)
  self._take = waiting.taker(self)
  self.register = function(fn)
    return waiting.register(self, fn)
  end
  return self
end

return connection
