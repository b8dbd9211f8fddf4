--- Accepts connections of HTTP clients: how many at once, and how they end.
local argument = require("operations.base.argument")
local connection = require("operations.server.connection")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local response_writer = require("operations.server.response_writer")
local scheduler = require("operations.task.scheduler")
local streams = require("operations.net.stream")
local tls = require("operations.net.tls")
local waiters = require("operations.task.wait")

local listener = {}

---@class operations.ListenOptions : operations.ConnectionOptions
---@field host? string  numeric address, default "127.0.0.1"
---@field port? integer  default: any free one, see `listener.port`
---@field path? string  of a Unix socket, instead of host and port
---@field mode? integer  permission bits of its file, default 384 (0600)
---@field backlog? integer  connections that wait to be accepted, default 128
---@field tls? operations.TlsOptions  clients come by https, with TLS 1.2 or newer
---@field max_connections? integer  default 1,024: beyond them the one that is idle for the longest is closed; when
---  none is idle, the new one is answered 503

local option_kinds = {
  host = "string", port = "number", path = "string", mode = "number", backlog = "number", max_connections = "number",
  max_head = "number", max_fields = "number", max_target = "number", max_body = "number",
  max_connection_requests = "number", head_timeout = "number", body_timeout = "number", keep_alive = "number",
  write_timeout = "number", log = "function", tls = "table",
}

---@class operations.ServerListener
---@field port? integer  nil: of a Unix socket
---@field path? string  of a Unix socket
---@field connections integer  open now
local Listener = {}
Listener.__index = Listener

local NEW = 1000 -- ms; younger connections without a request are not idle

-- Keeps open listeners alive.
local listening = {} -- luacheck: ignore 241

-- A connection has ended. A drained listener has ended with its last connection.
local function forget(self, served)
  self._served[served] = nil
  self.connections = self.connections - 1
  if self.connections == 0 and self._emptied then
    local emptied = self._emptied
    self._emptied = nil
    waiters.wake(emptied)
  end
end

-- The connection that has been idle for longest; nil if all are busy. A new connection does not count as idle: its
-- first request may be on its way.
local function longest_idle(self)
  local found, new = nil, scheduler.now() - NEW
  for served in pairs(self._served) do
    local idle = served.idle
    if idle and (served._count > 0 or idle < new) and (not found or idle < found.idle) and served:is_idle() then
      found = served
    end
  end
  return found
end

---@class operations.RefusedRequest
---@field peer { address: string? }
---@field status integer
---@field code string
---@field bytes integer  of the answer's body

local function too_many()
  return response_writer.problem(503, "too many connections")
end

local function on_stream(self, stream)
  local handler, full = self._handler, self.connections >= self._max
  if full then
    local idle = longest_idle(self)
    if idle then
      idle:drain()
    elseif self.connections >= 2 * self._max then
      return stream:close()
    else
      handler = self._refuse
    end
  end
  local served = connection.new(stream, handler, full and handler == self._refuse and self._refusals or self._settings)
  self._served[served], self.connections = true, self.connections + 1
  served:begin(function()
    forget(self, served)
  end)
end

local function open(self, options)
  local function accept(stream)
    on_stream(self, stream)
  end
  local given = { backlog = options.backlog, mode = options.mode, security = self._security }
  if options.path then
    return streams.listen_path(options.path, accept, given)
  end
  return streams.listen(options.host or "127.0.0.1", options.port or 0, accept, given)
end

-- The TLS of connections; nil without TLS.
local function secure(options, log)
  if options.tls then
    local answer = response_writer.problem(400, "this port speaks TLS: use https")
    local refusal = response_writer.bytes(answer, { now = scheduler.now(), connection = "close" })
    return tls.security(options.tls, { log = log, refusal = refusal }, 3)
  end
end

--- Listens and calls `handler` for each request, until it is closed. The program need not keep it.
---@param options operations.ListenOptions
---@param handler fun(request: operations.ServerRequest): operations.ServerResponse  called in a task for each
---  connection; may wait
---@param refused? fun(refused: operations.RefusedRequest)  called for each request that is answered without `handler`
---@return operations.ServerListener?
---@return operations.Error? err  TRANSPORT_LOST, details.kind "listen"; VALIDATION_ERROR: a file of
---  `tls`; UNAVAILABLE: TLS was not built
function listener.listen(options, handler, refused)
  argument.expect(options, "table", 1, "listen")
  argument.options(options, option_kinds, "listen", 4) -- the caller of server:listen
  argument.expect(handler, "function", 2, "listen")
  local settings = connection.settings(options)
  settings.refused = refused or false
  local security, flaw = secure(options, settings.log)
  if flaw then
    return nil, flaw
  end
  local self = setmetatable({
    connections = 0, path = options.path, _handler = handler, _settings = settings, _served = {},
    _security = security, _refuse = function(request)
      local response = too_many()
      if refused then
        refused({ peer = request.peer, status = 503, code = "BUSY", bytes = #response.body })
      end
      return response
    end,
    _refusals = members.merged(settings, { max_connection_requests = 1 }),
    _max = options.max_connections or limits.connections,
  }, Listener)
  local opened, err = open(self, options)
  if not opened then
    return nil, err
  end
  self._listener, listening[self] = opened, true
  if not options.path then
    self.port = opened.port
  end
  return self
end

--- Reads certificates, keys and client_ca again, for new connections. If a file is wrong, the previous ones stay in
--- use. Does nothing without TLS.
---@return true?
---@return operations.Error? err  VALIDATION_ERROR: names the file
function Listener:reload()
  if self._security then
    return self._security:reload()
  end
  return true
end

-- Stops accepting connections.
local function stop(self)
  listening[self] = nil
  if not self._closed then
    self._closed = true
    self._listener:close()
  end
end

-- Waits until no connection is left, for `ms` at most.
local function wait_for_end(self, ms)
  if self.connections == 0 then
    return
  end
  scheduler.await(function(wake)
    local stop_timer
    self._emptied = self._emptied or {}
    local leave_list = waiters.add(self._emptied, function()
      stop_timer()
      wake()
    end)
    stop_timer = scheduler.host().timer(ms, function()
      if self._emptied then
        leave_list()
      end
      wake()
    end)
    return function()
      stop_timer()
      if self._emptied then
        leave_list()
      end
    end
  end)
end

local function each(self, method)
  local list = {}
  for served in pairs(self._served) do
    list[#list + 1] = served
  end
  for _, served in ipairs(list) do
    served[method](served)
  end
end

--- Stops accepting connections, closes idle ones, and lets running requests end: their answers have `Connection:
--- close`. Requests that still run after `grace` are asked to end ("draining", see `request.left`), and cut off two
--- seconds later. Waits for all that.
---@param grace? number  ms, default 5,000
function Listener:drain(grace)
  argument.optional(grace, "number", 1, "drain")
  stop(self)
  each(self, "drain")
  wait_for_end(self, grace or limits.drain)
  each(self, "cancel")
  if self.connections > 0 then
    wait_for_end(self, limits.close_grace)
  end
  each(self, "abort")
end

--- Stops accepting connections and ends all of them at once.
function Listener:close()
  stop(self)
  each(self, "abort")
end

return listener
