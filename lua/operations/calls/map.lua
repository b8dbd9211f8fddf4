--- The map of pending requests over a transport: those made here and those that arrived. Handles the events that
--- arrive, and the loss and return of the transport. Events in, events out; uses no socket and no registry.
local argument = require("operations.base.argument")
local call_event = require("operations.calls.event")
local call_jobs = require("operations.calls.jobs")
local call_pending = require("operations.calls.pending")
local call_request = require("operations.calls.request")
local core = require("operations.core")
local errors = require("operations.base.error")
local hold = require("operations.task.hold")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local members = require("operations.base.members")
local task = require("operations.task")
local task_loops = require("operations.task.loops")
local task_wait = require("operations.task.wait")
local transports = require("operations.calls.transport")

local leave = task.leave

local call_map = {}

local MOST_STOPPED = 1024 -- ids remembered; a peer that continues a forgotten one gets another abort

local MOST = 2 ^ 31 -- events of a window; JSON cannot express infinity

---@class operations.CallMap
local CallMap = members.copy(call_jobs)
CallMap.__index = CallMap

-- The counters only show that something is wrong; the log says what.
local function refuse(self, err)
  self:_count("refused")
  self._log("warn", "refused: " .. err.message, err.details)
  return false
end

-- The pending request of this side for an event; nil for a late event.
local function pending(self, payload)
  local found = self._pending[payload.requestId]
  if not found then
    self:_count("late")
  end
  return found
end

-- Sends an error for a request, even an invalid one: its caller waits for an answer.
local function answer(self, payload, err, peer)
  local plain = not (peer.announced or call_event.announces(payload))
  err.retryable, err.mayHaveRun = false, false
  self._transport:send("call.error", call_event.failure(payload.requestId, err, plain), peer)
end

local arrivals = {}

arrivals["call.requested"] = function(self, payload, peer)
  local id = payload.requestId
  local there = self._requests[id]
  if there then
    local err = errors.new("VALIDATION_ERROR", ("call.requested: %s is being served already"):format(id))
    if there.peer ~= peer then -- another peer chose the same id
      answer(self, payload, err, peer)
    end
    return refuse(self, err)
  end
  local request = call_request.new(self, payload, peer)
  self._requests[id] = request
  if self._serve then
    return self._serve(request)
  end
  request:fail(errors.new("UNAVAILABLE", "this peer serves no operations"))
end

arrivals["call.responded"] = function(self, payload, peer)
  local found, id = pending(self, payload), payload.requestId
  if found then
    found:respond(payload)
  elseif payload.seq == nil and not self._stopped[id] then -- an event of a stream for a call
    self:_stop(id, "the request has ended", peer)
  end
end

arrivals["call.completed"] = function(self, payload)
  local found = pending(self, payload)
  if found then
    found:complete()
  end
end

arrivals["call.error"] = function(self, payload)
  local found = pending(self, payload)
  if found then
    found:fail(call_event.error(payload))
  end
end

arrivals["call.aborted"] = function(self, payload)
  local err = call_event.error({ code = "ABORTED", message = payload.reason or "aborted by the other side",
    mayHaveRun = true })
  local request = self._requests[payload.requestId]
  if request then
    return request:abort(err)
  end
  local found = pending(self, payload)
  if found then
    found:fail(err)
  end
end

arrivals["call.credit"] = function(self, payload, peer)
  local request = self._requests[payload.requestId]
  if request and request.peer == peer then
    request:grant(payload.n)
  else
    self:_count("late")
  end
end

arrivals["call.progress"] = function(self, payload)
  local found = pending(self, payload)
  if found and found.on_progress then
    task.detach(found.on_progress, payload.done, payload.total, payload.message)
  end
end

local function lose(self, err, keeps)
  local waits = self._transport.reconnects and not self._closed
  for id, found in pairs(self._pending) do
    found.interrupted = waits and found.resubscribe
    if not found.interrupted and not (keeps and keeps(id)) then
      found:fail(call_event.error({ code = err.code, message = err.message, details = err.details, retryable = true,
        mayHaveRun = true }))
    end
  end
  if not next(self._pending) then
    self._deadlines:stop()
  end
  for id, request in pairs(self._requests) do
    if not (keeps and keeps(id)) then
      request:abort(err)
    end
  end
end

-- Called when the connection was re-established.
local function resubscribe(self)
  local again = {}
  for id, found in pairs(self._pending) do
    if found.interrupted then
      again[#again + 1], self._pending[id] = found, nil
    end
  end
  for _, found in ipairs(again) do
    found.interrupted = nil
    local payload = found:restart()
    self._pending[payload.requestId] = found
    local ok, err = self._transport:send("call.requested", payload)
    if not ok then
      found:fail(err)
    end
  end
end

-- The receiver that a transport passes its events to.
local function receiver_of(map)
  return {
    announced = true,
    event = function(event, peer, problem)
      if problem then
        return refuse(map, problem)
      end
      local name, payload = call_event.check(event)
      if not name then
        local id = call_event.id_of_request(event)
        if id and not map._requests[id] then
          answer(map, event.payload, payload, peer)
        end
        return refuse(map, payload)
      end
      return arrivals[name](map, payload, peer)
    end,
    deliver = function(name, payload, peer)
      return arrivals[name](map, payload, peer)
    end,
    lost = function(err, keeps)
      lose(map, err, keeps)
    end,
    ready = function()
      resubscribe(map)
    end,
  }
end

local function expire(entry)
  entry:expire()
end

--- Makes a call map over a transport.
---@param transport? operations.Transport  default: in process; this map's own call handler serves the calls
---@param options? { log?: fun(level: string, message: string, details: any) }  default: warnings and errors to stderr
---@return operations.CallMap
function call_map.new(transport, options)
  if transport ~= nil then
    argument.object(transport, "open", "transport", 1, "call_map")
  end
  argument.optional(options, "table", 2, "call_map")
  argument.options(options or {}, { log = "function" }, "call_map")
  local self = setmetatable({
    _transport = transport or transports.loop(),
    _log = options and options.log or log.write,
    _pending = {},
    _requests = {},
    _stopped = {}, _stops = 0, -- ids of ended requests that the other side knows of, and their number
    _counted = { refused = 0, late = 0, duplicate = 0 },
  }, CallMap)
  self._deadlines = task_wait.deadlines(self._pending, expire)
  self._receiver = receiver_of(self)
  self._transport:open(self._receiver)
  return self
end

-- The error of a request that was not sent: nothing ran.
local function unsent(err)
  local retryable = err.retryable
  if err.code == "VALIDATION_ERROR" then
    retryable = false
  end
  return call_event.error({ code = err.code, message = err.message, details = err.details, retryable = retryable,
    mayHaveRun = false, retryAfter = err.retryAfter })
end

local function duplicate(id)
  return unsent(errors.new("VALIDATION_ERROR", ("a request %s is already pending"):format(id)))
end

-- Sends the request; on failure, ends its pending entry.
local function send(self, entry, options)
  local payload = entry.payload
  local id = payload.requestId
  if self._closed then
    return entry:fail(call_event.closed())
  elseif self._pending[id] then
    return entry:fail(duplicate(id))
  end
  self._pending[id], self._stopped[id] = entry, nil
  entry.on_progress = options and options.on_progress
  local ok, err = self._transport:send("call.requested", payload, nil, options ~= nil and options.requestId ~= nil)
  if not ok and not entry.ended then
    entry:fail(unsent(err))
  end
end

local function over_here(_, entry)
  entry.map._pending[entry.id] = nil
  entry.executor:leave()
  entry.err = leave(entry.task)
end

local function called_here(entry, held, ok, envelope, err)
  if held then
    held:release()
  else
    over_here(nil, entry)
  end
  if entry.err then
    return nil, entry.err
  elseif entry.deadline and core.now() >= entry.deadline and not (err and err.code == "TIMEOUT") then
    return nil, call_event.late(entry.operation, entry.deadline)
  elseif not ok then
    error(envelope, 0)
  end
  return envelope, err
end

-- In process a call runs in the coroutine that makes it, as a task of its own: abort and close end that one. It gets an
-- id only if someone sees it: the caller who gave it, or a handler that uses its context.
local function call_here(self, executor, id, input, options)
  local given_id = options and options.requestId
  if given_id and self._pending[given_id] then
    return nil, duplicate(given_id)
  end
  local execute, registry, looks = executor:enter(id)
  if not execute then
    return nil, registry
  end
  local given = (options or looks) and call_request.context(options) or nil
  local entry = call_pending.here(self, executor)
  local held = hold.is_needed() and hold.new(over_here, entry)
  entry.id = given and given.requestId or entry
  self._pending[entry.id] = entry
  if options then
    entry.operation, entry.deadline = id, call_request.deadline(options)
  end
  return called_here(entry, held, pcall(execute, registry, id, input, given))
end

--- Calls an operation on the other side and waits for its response.
---@param id string
---@param input? any  default: an empty object
---@param options? operations.CallOptions
---@return operations.Envelope? envelope
---@return operations.Error? err  the operation's error, or TIMEOUT, ABORTED, TRANSPORT_LOST, UNAVAILABLE, BUSY, ...;
---  `err.mayHaveRun` is false when the handler surely was not started, `err.retryable` when a retry may succeed
function CallMap:call(id, input, options)
  argument.self(self, CallMap, "call map", "call")
  if options ~= nil or type(id) ~= "string" then
    call_request.check(id, options, "call")
  end
  local here = self._transport.executor
  local executor = here and here(self._transport)
  if executor then
    return call_here(self, executor, id, input, options)
  end
  local known = self._transport.keeps_jobs and options and self._pending[options.requestId]
  if known and known.join and known.payload.operationId == id then -- the same call
    return known:join(call_request.deadline(options))
  end
  local entry = call_pending.call(self,
    call_request.payload(id, input, options, not here and limits.call_timeout or nil))
  send(self, entry, options)
  return entry:wait()
end

--- Subscribes to an operation on the other side. The consumer pulls events: at most `window` of them are ever
--- unconsumed, or `unconsumed_bytes` when the other side announces no credits.
---@param id string
---@param input? any
---@param options? operations.CallOptions
---@return operations.RemoteSubscription? subscription  `next`, `close`, and usable in a `for`, as local ones
---@return operations.Error? err
function CallMap:subscribe(id, input, options)
  argument.self(self, CallMap, "call map", "subscribe")
  call_request.check(id, options, "subscribe")
  local payload = call_request.payload(id, input, options)
  payload.credit = math.min(options and options.window or limits.unconsumed_events, MOST)
  local entry = call_pending.subscription(self, payload, options)
  send(self, entry, options)
  if entry.err and not entry.ran then
    return nil, entry.err
  end
  local handle = call_pending.handle(entry)
  return handle, nil, task_loops.OWNED, handle -- Lua 5.4's `for` closes the fourth value
end

-- Calls a method of a request that arrived.
local function tell(self, id, method, ...)
  local found = self._requests[id]
  if not found then
    return nil, errors.new("OPERATION_NOT_FOUND", ("no request %s is running"):format(tostring(id)))
  end
  return found[method](found, ...)
end

--- Answers a request that arrived (`serve`). This ends a call; a subscription (`request.streams`) continues, and this
--- waits while its window is full, which requires a task. Raises when the value is not an envelope. Specification:
--- doc/protocol.md, section 3, `call.responded`.
---@param request_id string
---@param envelope operations.Envelope
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND: the request does not run (any more); VALIDATION_ERROR: the
---  envelope cannot be sent; the caller gets that error
function CallMap:respond(request_id, envelope)
  if not core.is_response_envelope(envelope) then
    error(("bad argument #2 to 'respond' (response envelope expected, got %s)"):format(type(envelope)), 2)
  end
  return tell(self, request_id, "respond", envelope)
end

--- Ends a request that arrived (`serve`) with an error. Specification: doc/protocol.md, section 3, `call.error`.
---@param request_id string
---@param code string  see section 6
---@param message string  for people
---@param details? any  left out if it cannot be sent
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND: the request does not run (any more)
function CallMap:emit_error(request_id, code, message, details)
  argument.expect(code, "string", 2, "emit_error")
  argument.expect(message, "string", 3, "emit_error")
  return tell(self, request_id, "fail", errors.new(code, message, details))
end

--- Ends a subscription that arrived (`serve`). Specification: doc/protocol.md, section 3, `call.completed`.
---@param request_id string
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND: the request does not run (any more)
function CallMap:complete(request_id)
  return tell(self, request_id, "complete")
end

--- Aborts a request made here or by the other side, which is told. Does nothing when it has ended.
---@param request_id string
---@param reason? string
function CallMap:abort(request_id, reason)
  argument.self(self, CallMap, "call map", "abort")
  argument.optional(reason, "string", 2, "abort")
  local err = call_event.error({ code = "ABORTED", message = reason or "aborted", mayHaveRun = true })
  local entry, found = self._pending[request_id], self._requests[request_id]
  if entry then
    entry:give_up(err)
  elseif found then
    found:abort(err)
    found:send("call.aborted", call_event.aborted(request_id, err.message))
  elseif self._transport.executor then -- it runs in the coroutine of its caller, whose map alone knows it
    self._transport:send("call.aborted", call_event.aborted(request_id, err.message))
  end
end

---@class operations.Serving  what a call handler adds to its function of requests
---@field executor? operations.Executor  runs calls that were made in this program
---@field offers? fun(): string[]  the ids of served operations
---@field room? fun(wake?: fun()): integer  room for further requests; calls `wake` when there is more

--- Passes every request that arrives to `fn`, which answers it by `respond`, `emit_error` and `complete`, as a call
--- handler does. Replaces the previous `fn`.
---@param fn fun(request: operations.Request)  must not wait; starts a task for that
---@param serving? operations.Serving
function CallMap:serve(fn, serving)
  argument.expect(fn, "function", 1, "serve")
  serving = serving or {}
  local receiver, transport = self._receiver, self._transport
  self._serve = fn
  receiver.executor, receiver.offers, receiver.room = serving.executor, serving.offers, serving.room
  if transport.serves then
    transport:serves()
  end
end

--- Are both ends in this program?
---@return boolean
function CallMap:is_direct()
  return self._transport.executor ~= nil
end

--- The ids of all operations that the other sides are known to serve, on transports with many peers.
---@return string[]?
function CallMap:offered()
  local transport = self._transport
  return transport.offered and transport:offered()
end

--- The number of pending requests made here.
---@return integer
function CallMap:pending_count()
  local n = 0
  for _ in pairs(self._pending) do
    n = n + 1
  end
  return n
end

--- Counts of events since the start: refused (invalid), late (after the end of their request) and duplicate ones.
---@return { refused: integer, late: integer, duplicate: integer }
function CallMap:counted()
  return { refused = self._counted.refused, late = self._counted.late, duplicate = self._counted.duplicate }
end

--- Ends everything: pending requests fail with TRANSPORT_LOST, running ones are aborted.
function CallMap:close()
  if not self._closed then
    self._closed = true
    self._transport:close()
    self._receiver.lost(errors.new("TRANSPORT_LOST", "the call map was closed"))
  end
end

--- Tells the transport that no more requests are served.
function CallMap:_drain()
  local transport = self._transport
  if transport.drains then
    transport:drains()
  end
end

--- Waits until the answers of the requests that have ended have left.
function CallMap:_drained()
  local transport = self._transport
  if transport.drained then
    transport:drained()
  end
end

--- Tells the other side that a request is no longer wanted.
---@param id string
---@param reason string
---@param peer? operations.Peer
function CallMap:_stop(id, reason, peer)
  if self._stops >= MOST_STOPPED then
    self._stopped, self._stops = {}, 0
  end
  self._stopped[id], self._stops = true, self._stops + 1
  self._transport:send("call.aborted", call_event.aborted(id, reason), peer)
end

--- Increments a counter of `counted`.
---@param what "refused"|"late"|"duplicate"
function CallMap:_count(what)
  self._counted[what] = self._counted[what] + 1
end

return call_map
