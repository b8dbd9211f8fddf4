--- The hub's side of WebSocket (RFC 6455): listens, and serves a registry to all authorized spokes.
local argument = require("operations.base.argument")
local call_handler = require("operations.calls.handler")
local call_map = require("operations.calls.map")
local caller = require("operations.server.caller")
local connection = require("operations.calls.websocket.connection")
local core = require("operations.core")
local disclosure = require("operations.base.disclosure")
local errors = require("operations.base.error")
local handshake = require("operations.net.handshake")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local members = require("operations.base.members")
local request_head = require("operations.server.request_head")
local response_writer = require("operations.server.response_writer")
local scheduler = require("operations.task.scheduler")
local streams = require("operations.net.stream")
local task = require("operations.task")
local url = require("operations.base.url")

local websocket_hub = {}

---@class operations.HubOptions
---@field host? string  numeric address, default "127.0.0.1"
---@field port? integer|false  default: any free one, see `hub.port`; false: does not listen, see `serve_request`
---@field tls? operations.TlsOptions  spokes connect by wss, with TLS 1.2 or newer
---@field registry? operations.Registry  what spokes may call
---@field authorize? fun(request: operations.WebSocketRequest): operations.Identity?, string?  the identity of a
---  connection; nil refuses it. It may wait; any callable value. Default: no identity
---@field origins? string[]  of web pages that may connect; default: none
---@field on_connection? fun(call_map: operations.CallMap, peer: operations.Peer)  called with each connection; the call
---  map calls the spoke
---@field max_connections? integer  default 1,024
---@field max_requests? integer  requests of one spoke at once, default 1,024
---@field upstream_errors? operations.UpstreamErrors  as of `call_handler`
---@field max_identity_streams? integer  subscriptions of one identity or, without one, connection, default 128
---@field max_message? integer
---@field ping_interval? number
---@field handshake_timeout? number
---@field drain? number  ms for running requests when nginx ends the worker (`serve_request`), default 5,000; endless
---  subscriptions are lost then
---@field log? fun(level: string, message: string, details: any)

local option_kinds = {
  host = "string", port = "number or boolean", tls = "table", registry = "table", authorize = "function or table",
  origins = "table", on_connection = "function", max_connections = "number", max_requests = "number",
  max_identity_streams = "number", upstream_errors = "string",
  max_message = "number", ping_interval = "number", handshake_timeout = "number", drain = "number", log = "function",
}

---@class operations.Hub
---@field port? integer
---@field connections integer  open connections of this worker
local Hub = {}
Hub.__index = Hub

local function report(name, raised)
  task.on_error(raised, errors.traced(name .. ": " .. errors.text(raised)))
end

-- Calls a function of the options. Its errors are logged here, not sent to the client.
local function call(name, fn, ...)
  return xpcall(fn, function(raised)
    report(name, raised)
  end, ...)
end

-- The identity returned by `authorize`.
local function authorized(authorize, request)
  local ok, identity, reason = call("authorize", authorize, request)
  if ok and identity and type(identity) ~= "table" then
    ok = report("authorize", ("an identity expected, got %s"):format(type(identity)))
  end
  if not ok then
    return nil, 500, "the authorization failed"
  elseif not identity and errors.is_error(reason) then
    report("authorize", reason)
    return nil, 503, "credentials cannot be checked now"
  elseif not identity then
    return nil, 401, type(reason) == "string" and reason or "not authorized"
  end
  return { identity = identity }
end

-- The client's identity; nil, status and reason when it may not connect.
local function identify(self, request)
  local authorize = self._options.authorize
  local origin = request.headers.origin -- set by web pages
  if origin and not members.contains(self._options.origins, origin) then
    return nil, 403, "this origin may not connect"
  elseif not authorize then
    return {}
  end
  return authorized(authorize, request)
end

-- In place of a stream before the connection is open.
local nowhere = { close = function() end, linger = function() end, pause = function() end, offer = function() end }

function nowhere.write()
  return nil, errors.new("TRANSPORT_LOST", "the connection is not open yet", { kind = "closed" })
end

-- Tracks a stream until it is closed.
local function keep(self, stream)
  self._streams[stream] = true
  stream.on_closed = function()
    self._streams[stream] = nil
    if self._emptied and not next(self._streams) then
      self._emptied()
    end
  end
end

-- The call map for an authorized spoke.
local function make_map(self, peer)
  local options = self._options
  local transport = connection.new(nowhere, true, peer, options)
  local map = call_map.new(transport, { log = options.log })
  self._maps[map], self.connections = transport, self.connections + 1
  transport.on_end = function()
    self._maps[map], self._handlers[map], self.connections = nil, nil, self.connections - 1
  end
  if options.registry then
    self._handlers[map] = call_handler.new(options.registry, map, { max_requests = options.max_requests,
      max_identity_streams = options.max_identity_streams, upstream_errors = options.upstream_errors },
      self._streams_of)
  end
  return map, transport
end

local function accept(self, request, peer)
  local on_connection = self._options.on_connection
  local map, transport = make_map(self, peer)
  if on_connection and not call("on_connection", on_connection, map, peer) then
    map:close()
    return handshake.refuse(500, "the connection failed")
  end
  return handshake.accept(request, connection.protocol, function(stream, rest)
    keep(self, stream)
    transport:take_over(stream, rest)
  end)
end

--- Answers the request that opens a connection: status 101 and a function that takes it over, or a refusal. HTTP
--- servers mount a hub by it. May wait.
---@param request operations.ServerRequest
---@return operations.ServerResponse
function Hub:handle(request)
  local flaw = request_head.path_flaw((request_head.split(request.target)))
  if flaw then
    return handshake.refuse(400, flaw)
  end
  local status, reason = handshake.flaw(request, connection.protocol)
  local peer
  if not status then
    peer, status, reason = identify(self, handshake.opening(request))
  end
  if not peer then
    return handshake.refuse(status, reason, caller.challenge(self._options.authorize))
  elseif self._closed then
    return handshake.refuse(503, "the hub is closed")
  elseif self.connections >= (self._options.max_connections or limits.connections) then
    return handshake.refuse(503, "too many connections")
  end
  return accept(self, request, peer)
end

local function listen(self, options)
  local opened, err = listener.listen({
    host = options.host, port = options.port or nil, tls = options.tls, max_connections = options.max_connections,
    head_timeout = options.handshake_timeout or limits.handshake_timeout, log = options.log,
  }, function(request)
    return self:handle(request)
  end)
  if not opened then
    return nil, err
  end
  self._listener, self.port = opened, opened.port
  return self
end

--- Listens for spokes.
---@param options operations.HubOptions
---@return operations.Hub?
---@return operations.Error? err
function websocket_hub.listen(options)
  argument.expect(options, "table", 1, "websocket_hub")
  argument.options(options, option_kinds, "websocket_hub")
  disclosure.check(options.upstream_errors, "websocket_hub", 2)
  caller.check(options.authorize, "websocket_hub", 2)
  for _, origin in ipairs(options.origins or {}) do
    if not url.is_origin(origin) then
      error(("bad option 'origins' to 'websocket_hub' (an origin such as \"https://app.example\" expected, got %q)")
        :format(tostring(origin)), 2)
    end
  end
  local self = setmetatable({
    connections = 0, _options = options, _streams = {}, _maps = {}, _handlers = {}, _streams_of = {},
  }, Hub)
  if options.port == false then
    return self
  end
  return listen(self, options)
end

--- Reads certificates, keys and client_ca of the option `tls` again, for new connections; see `listener:reload`.
---@return true?
---@return operations.Error? err  VALIDATION_ERROR: names the file
function Hub:reload()
  if self._listener then
    return self._listener:reload()
  end
  return true
end

-- Reads the one request of a connection and answers it.
local function admit(self, stream)
  local timeout = self._options.handshake_timeout or limits.handshake_timeout
  local request, response, rest = handshake.within(timeout, handshake.collect, stream, handshake.reader())
  if request then
    response = self:handle(request)
  elseif not response.status then
    return stream:close() -- it has ended
  end
  local upgrades, now = response.status == 101, scheduler.now()
  stream:offer((response_writer.bytes(response, { now = now, connection = not upgrades and "close" or nil })), true)
  if upgrades then
    return response.upgrade(stream, rest)
  end
  stream:linger(limits.close_grace)
end

-- A function of its own: when nginx ends the coroutine of a request, closures lose the local variables that they share
-- with a function that has not returned.
local function close_at_exit(self, host)
  self._leave = host.on_exit(function()
    self:close(self._options.drain or limits.drain)
  end)
end

--- Serves the running request as a connection to the hub, in OpenResty, in a `content_by_lua` of a location; returns
--- when the connection has ended. Refused clients get an HTTP answer. `authorize` runs in the request and can use
--- `ngx.var` and `ngx.ctx`.
function Hub:serve_request()
  local host = scheduler.host()
  if host.on_exit and not self._leave then
    close_at_exit(self, host)
  end
  streams.take_over(function(stream)
    keep(self, stream)
    local ok, raised = pcall(admit, self, stream)
    if not ok then
      stream:close()
      error(raised, 0)
    end
  end)
end

-- Lets running requests end, sends their answers, and waits until the connections have ended.
local function drain(self, stop)
  local draining = {}
  for map, transport in pairs(self._maps) do
    draining[#draining + 1] = function()
      local handler = self._handlers[map]
      if handler then
        handler:drain(stop - core.now())
      end
      transport:close(math.max(limits.close_grace, stop - core.now()))
      map:close()
      return true
    end
  end
  task.all(draining)
  handshake.within(stop - core.now(), scheduler.try_await, function(wake)
    self._emptied = wake
    if not next(self._streams) then
      wake()
    end
  end)
end

--- Accepts no more connections, lets running requests end (for at most `grace` ms) and closes all connections.
---@param grace? number  ms, default 0
function Hub:close(grace)
  argument.optional(grace, "number", 1, "close")
  self._closed = true
  if self._listener then
    self._listener:close()
  end
  if self._leave then
    self._leave()
  end
  if grace and grace > 0 then
    drain(self, core.now() + grace)
  end
  for map in pairs(self._maps) do
    map:close()
  end
end

return websocket_hub
