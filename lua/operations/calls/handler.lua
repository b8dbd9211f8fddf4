--- Serves the requests that arrive at a call map from a registry, each in its own task.
local argument = require("operations.base.argument")
local call_event = require("operations.calls.event")
local catalog = require("operations.registry.catalog")
local disclosure = require("operations.base.disclosure")
local errors = require("operations.base.error")
local identity_key = require("operations.base.identity_key")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local services = require("operations.calls.services")
local task = require("operations.task")

local call_handler = {}

---@class operations.CallHandler
---@field active integer  requests being served now
local CallHandler = {}
CallHandler.__index = CallHandler

-- Ends a request with what its caller may read of an error.
local function fail(self, request, err)
  if not self._map:is_direct() then
    local seen, _, hidden = disclosure.read(err, self._upstream_errors)
    if hidden then
      self._map._log("error", ("%s: %s"):format(request.operationId, tostring(err)))
    end
    err = seen
  end
  return request:fail(err)
end

-- Logs a request that has ended. An error raised by the program's log function does not affect it.
local function tell(self, request, err)
  local write, identity = self._access_log, request.identity
  if request.began then
    local ok, raised = pcall(write, { time = request.began, requestId = request.requestId,
      operation = request.operationId, identity = identity and identity.id, code = err and err.code,
      ms = scheduler.now() - request.began })
    if not ok then
      self._map._log("error", "access_log failed: " .. errors.text(raised))
    end
  end
end

-- The owner of the share that a subscription takes: its identity or, without one, its connection.
local function owner_of(self, request)
  local identity = request.identity
  return identity and identity.id ~= nil and identity_key.of(identity) or self
end

-- Counts a subscription; nil when its owner has too many.
local function begin_stream(self, request)
  local streams_of, owner = self._streams_of, owner_of(self, request)
  local count = (streams_of[owner] or 0) + 1
  if count > self._max_streams then
    return nil
  end
  streams_of[owner] = count
  return owner
end

local function end_stream(self, owner)
  local count = self._streams_of[owner] - 1
  self._streams_of[owner] = count > 0 and count or nil
end

local function send_stream(self, request, registry)
  local subscription, err = registry:subscribe(request.operationId, request.input, request)
  if not subscription then
    fail(self, request, err)
    return err
  end
  local envelope
  envelope, err = subscription:next()
  while envelope and request:respond(envelope) do
    envelope, err = subscription:next()
  end
  subscription:close()
  if err then
    fail(self, request, err)
  elseif not envelope then
    request:complete()
  end
  return err
end

local function stream(self, request, registry)
  local owner = begin_stream(self, request)
  if not owner then
    local err = call_event.error({ code = "BUSY", retryable = true, mayHaveRun = false,
      message = ("%d subscriptions of this caller are running, no more are accepted"):format(self._max_streams) })
    request:fail(err)
    return err
  end
  local ok, result = pcall(send_stream, self, request, registry)
  end_stream(self, owner)
  if not ok then
    error(result, 0)
  end
  return result
end

local function answer(self, request, registry)
  local envelope, err = registry:execute(request.operationId, request.input, request)
  if not envelope then
    fail(self, request, err)
    return err
  end
  request.streams = request.credit ~= nil -- a call subscribed to as a stream
  if request:respond(envelope) and request.streams then
    request:complete()
  end
end

-- The reason for refusing every request, or nil.
local function refusal(self)
  if self.active >= self._max then
    return call_event.error({ code = "BUSY", retryable = true, mayHaveRun = false,
      message = ("%d requests are running, no more are accepted"):format(self.active) })
  end
  return self._draining
end

-- The registry that has an id: its own, or that of the services. None when the request would be routed back to the
-- other side, or others must not see the operation.
local function registry_of(self, id)
  local registry, map = self._registry, self._map
  local kind, exposed, looks = registry:type_of(id)
  if not kind and self._services:type_of(id) then
    return self._services
  elseif not exposed and not map:is_direct() or registry:routes_to(map) and not registry:get_handler(id) then
    return nil, catalog.not_found(id, "no operation '%s'")
  end
  return registry, nil, kind, looks
end

local function cancel(err, request)
  request.worker:cancel(err)
end

local function work(self, request, registry)
  local ok, err = true, nil
  if not request.ended then
    request.worker, request.on_abort = task.current(), cancel
    ok, err = pcall(request.streams and stream or answer, self, request, registry)
    request.on_abort = nil
  end
  self:leave()
  if not ok then
    err = errors.from(err)
    fail(self, request, err)
  end
  tell(self, request, err)
end

local function serve(self, request)
  local registry, err, kind = registry_of(self, request.operationId)
  err = err or refusal(self)
  request.began = self._access_log and registry ~= self._services and scheduler.now()
  if err then
    tell(self, request, err)
    return request:fail(err)
  end
  request.streams = kind == "subscription" or not kind and request.credit ~= nil -- not registered here: by the request
  self.active = self.active + 1
  task.detach(work, self, request, registry)
end

-- The first event of a subscription that was called.
local function first(registry, id, input, context)
  local subscription, err = registry:subscribe(id, input, context)
  if not subscription then
    return nil, err
  end
  local envelope
  envelope, err = subscription:next()
  subscription:close()
  return envelope, err
end

--- Begins a call that was made in this program.
---@param id string
---@return function? fn  to be called with the registry, the id, the input and a context
---@return operations.Registry|operations.Error
---@return boolean? looks  does it use the context?
function CallHandler:enter(id)
  if self.active >= self._max or self._draining then
    return nil, refusal(self)
  end
  local registry, unknown, kind, looks = registry_of(self, id)
  if not registry then
    return nil, unknown
  end
  self.active = self.active + 1
  if kind == "subscription" then
    return first, registry, true
  end
  return registry.execute, registry, looks
end

--- Ends a call that `enter` began.
function CallHandler:leave()
  self.active = self.active - 1
  if self.active == 0 and self._idle then
    self._idle()
  end
  local wake = self._freed
  if wake then
    self._freed = nil
    wake()
  end
end

-- How many more requests are accepted; `wake` is called once when there is room again.
local function room(self, wake)
  local left = self._draining and 0 or math.max(0, self._max - self.active)
  if wake then
    self._freed = left == 0 and wake or nil
  end
  return left
end

local option_kinds = { max_requests = "number", max_identity_streams = "number", upstream_errors = "string",
  access_log = "function" }

---@class operations.CallHandlerOptions
---@field max_requests? integer  served at once, default 1,024; further ones fail with BUSY
---@field max_identity_streams? integer  subscriptions of one identity or, without one, of this connection; default: no
---  limit
---@field upstream_errors? operations.UpstreamErrors  what callers in other processes read of the errors that an API or
---  MCP server behind an operation answered: "client" (default), of an API 4xx except 401, 403 and 407; "all"; "none"
---@field access_log? fun(entry: { time: integer, requestId: string, operation: string, identity: string?,
---  code: string?, ms: integer })  called for each request of another process when it has ended

--- Serves the requests that arrive at `call_map` from `registry`. Operations with `_meta.exposed = false` are served in
--- process only. Also serves `services.list` and `services.schema`, by which the other side imports specs.
---@param registry operations.Registry
---@param call_map operations.CallMap
---@param options? operations.CallHandlerOptions
---@param streams_of? table<any, integer>  running subscriptions by owner, where several handlers share the limit
---@return operations.CallHandler
function call_handler.new(registry, call_map, options, streams_of)
  argument.object(registry, "type_of", "registry", 1, "call_handler")
  argument.object(call_map, "is_direct", "call map", 2, "call_handler")
  argument.optional(options, "table", 3, "call_handler")
  argument.options(options or {}, option_kinds, "call_handler")
  disclosure.check(options and options.upstream_errors, "call_handler", 2)
  local self = setmetatable({
    active = 0,
    _registry = registry,
    _map = call_map,
    _max = options and options.max_requests or limits.requests,
    _max_streams = options and options.max_identity_streams or streams_of and limits.identity_streams or math.huge,
    _streams_of = streams_of or {},
    _upstream_errors = options and options.upstream_errors,
    _access_log = options and options.access_log,
    _services = services.new(registry, call_map:is_direct()),
  }, CallHandler)
  call_map:serve(function(request)
    return serve(self, request)
  end, { executor = self, offers = function()
    return self._draining and {} or services.offers(registry, call_map:is_direct())
  end, room = function(wake)
    return room(self, wake)
  end })
  return self
end

--- Accepts no more requests (they fail with DRAINING) and waits until the running ones have ended and their answers
--- have left. Requests that still run after `grace` are lost for their callers when the call map is closed.
---@param grace? number  ms, default: no limit
function CallHandler:drain(grace)
  self._draining = call_event.error({ code = "DRAINING", message = "this peer is about to stop", retryable = true,
    mayHaveRun = false })
  self._map:_drain()
  local previous = scheduler.deadline(grace and scheduler.now() + grace)
  if self.active > 0 then
    scheduler.try_await(function(wake)
      self._idle = wake
    end)
  end
  self._map:_drained()
  scheduler.deadline(previous)
end

return call_handler
