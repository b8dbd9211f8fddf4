--- One connection of the HTTP server: requests are read, handled and answered one after the other, in their order.
local codec = require("operations.http_server")
local framing = require("operations.server.framing")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local request_reader = require("operations.server.request_reader")
local response_writer = require("operations.server.response_writer")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
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

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
local IN_A_ROW = 16 -- requests that are served before others have their turn

---@class operations.HttpConnection
---@field limit? number  ms since the epoch: until then what it waits for must have happened
---@field idle? number  ms since the epoch: since then it waits for the first byte of a request
---@field peer { address: string?, port: integer?, tls: false|operations.TlsPeer }
---@field _stream operations.Stream
---@field _bytes string  came and were not read, from `_from` on
---@field _wait operations.Wait  the same for every wait for bytes
---@field _request? operations.ServerRequest  that is read, handled or answered
---@field _unread boolean  the body of the request has not come to its end
---@field _expects boolean  its sender waits for "100 Continue"
---@field _body_err? operations.Error
---@field _now? number  ms since the epoch, when nothing was waited for since
---@field _ended? boolean  the other side sends no more, or the connection is closed
local Connection = {}
Connection.__index = Connection

-- Has a request handled. What goes wrong there is not the caller's business.
local function handle(self, request)
  local ok, response = xpcall(self._handle, waiting.traced, request)
  local flaw
  if ok then
    flaw = framing.flaw(response)
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

-- Nothing came for a while. An answer that is still being read is no idleness.
local function on_idle(self)
  local unsent = self._stream:unsent()
  if unsent == 0 or unsent == self._queued then
    return waiting.wake(self)
  end
  self._queued = unsent
  waiting.watch(self, self._options.write_timeout, on_idle)
end

-- Answers one request. True when the next one may come.
local function serve_one(self, request)
  self._count, self._left, self._leaving, self._heartbeat, self._queued = self._count + 1, nil, nil, nil, nil
  local response = handle(self, request)
  if response.status == 101 then
    self._request = nil
    response_writer.upgrade(self, response)
    return false
  end
  local keep = not self._ended and response_writer.respond(self, response, request.method == "HEAD")
  self._request = nil
  return keep and (not self._unread or request_reader.discard(self))
end

local function serve(self)
  local keep, row = true, 0
  self.idle = waiting.watch(self, self._options.head_timeout)
  self._stream:each_chunk(self._take)
  while keep do
    row = self._from <= #self._bytes and row + 1 or 0
    if row == IN_A_ROW then
      row = 0
      task.sleep(0)
    end
    local request, status, reason = request_reader.next(self)
    keep = request and serve_one(self, request)
    if keep then
      self.idle = waiting.watch(self, self._options.keep_alive, on_idle, self._now)
    elseif status then
      self._minor, self._keep_alive = 1, false
      response_writer.respond(self, response_writer.problem(status, reason))
    end
  end
  if not self._upgraded then
    response_writer.finish(self)
  end
end

--- Serves requests until the connection ends, or is another protocol's.
function Connection:serve()
  local ok, raised = xpcall(serve, waiting.traced, self)
  waiting.forget(self)
  if not ok then
    if not scheduler.cancelled() then
      waiting.report(self, "a connection failed: " .. raised)
    end
    waiting.abort(self)
  end
end

--- Ends the connection at once.
function Connection:abort()
  waiting.abort(self)
end

--- Takes no further request: the running one is answered with `Connection: close`. One that waits for a request ends
--- behind the answer before.
function Connection:drain()
  self._draining = true
  if self.idle and self._waiting then
    self.idle = nil
    waiters.settle(self._wait)
  end
end

--- Is it waiting for a request, with nothing left to be read of the answer before?
---@return boolean
function Connection:is_idle()
  return self.idle ~= nil and self._stream:unsent() == 0
end

--- Calls off the request that is being handled; its answer may still go out.
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

--- The options of connections, with the defaults for those that are not given.
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

--- A connection that is to be served.
---@param stream operations.Stream
---@param handler fun(request: operations.ServerRequest): operations.ServerResponse  may wait
---@param settings operations.ConnectionOptions  of `connection.settings`
---@return operations.HttpConnection
function connection.new(stream, handler, settings)
  local address, port = stream:peer()
  local self = setmetatable({
    limit = unset, idle = unset, peer = { address = address, port = port, tls = false },
    _stream = stream, _handle = handler, _options = settings, _bytes = "", _from = 1, _count = 0,
    _parser = codec.parser(settings.max_head, settings.max_fields, settings.max_target, settings.max_body),
    _wait = waiters.new(), _request = unset, _left = unset, _leaving = unset, _heartbeat = unset, _expired = false,
    _waiting = false, _unread = false,
  }, Connection)
  self._take = function(bytes)
    return waiting.take(self, bytes)
  end
  self._register = function(fn)
    return waiting.register(self, fn)
  end
  return self
end

--- Serves requests over a stream until it ends.
---@param stream operations.Stream
---@param handler fun(request: operations.ServerRequest): operations.ServerResponse  may wait
---@param options? operations.ConnectionOptions
function connection.serve(stream, handler, options)
  connection.new(stream, handler, connection.settings(options)):serve()
end

return connection
