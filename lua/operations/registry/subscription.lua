--- A running subscription: the handler is a coroutine; each value it yields is one event in its own envelope. The
--- consumer pulls, so a slow consumer holds the producer back.
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local operation = require("operations.registry.operation")
local scheduler = require("operations.task.scheduler")
local scope = require("operations.task.scope")
local strands = require("operations.task.strand")
local task = require("operations.task")
local task_loops = require("operations.task.loops")
local turn = require("operations.task.turn")

local OWNED = task_loops.OWNED

local answer, report = operation.answer, operation.report
local here, resume = strands.here, coroutine.resume
local EVENT, QUOTA, spend = turn.EVENT, limits.turn_bytes, turn.spend

local subscription = {}

---@class operations.Subscription
---@operator call: operations.Envelope?
local Subscription = {}
Subscription.__index = Subscription

-- The state that outlives a collected handle for a moment. It must not refer to the handle.
---@class operations.SubscriptionState
---@field co thread
---@field strand? operations.Strand  of `co`, once it runs
---@field operation operations.Operation
---@field options operations.RegistryOptions
---@field context operations.Context
---@field deadline? integer  ms since the epoch
---@field deferred? function[]
---@field running boolean  inside next()
---@field open boolean  the handler has begun, there is no deadline, and no event waits: nothing else must be checked
---@field spent integer  see `turn.spend`
---@field finish fun(found: operations.Operation, value: any): operations.Envelope?, any, any
---@field closing boolean
---@field ended boolean  cleanup has run
---@field queue operations.EnvelopeQueue  finished events
---@field finished boolean  the events need no further finishing

-- An error in the log does not stop the cleanup.
local function log_failed_cleanup(state, raised)
  pcall(function()
    state.context.log("error", ("%s: cleanup failed: %s"):format(state.operation:id(), errors.text(raised)))
  end)
end

local function run_deferred(state)
  local deferred = state.deferred or {}
  while #deferred > 0 do -- each may defer more
    local ok, raised = pcall(table.remove(deferred))
    if not ok then
      log_failed_cleanup(state, raised)
    end
  end
end

--- Ends the handler and runs its cleanup, exactly once.
local function finish(state)
  if state.ended then
    return
  end
  state.ended, state.closing, state.open = true, true, false
  local ok, raised = compat.close(state.co)
  if not ok and raised ~= nil then
    log_failed_cleanup(state, raised)
  end
  if state.strand then
    task_loops.close(state.strand)
  end
  run_deferred(state)
  if state.strand then
    scope.close_all(state.strand)
  end
  state.context._running = false
end

-- Marks before other values: the coroutine returns RETURNED before the handler's results, and yields QUEUE before a
-- queue, so that neither can be mistaken for an event. Functions, not tables: an event's `__eq` would be called with a
-- table.
local function RETURNED() end
local function QUEUE() end

--- Finished envelopes of an HTTP answer: [1] is the place taken last; false follows the last envelope. `objects`: the
--- data of all is an unmarked table without [1].
---@alias operations.EnvelopeQueue table

local EMPTY = { 1, false }

-- The next value; nil when the queue is empty.
local function take(queue)
  local at = queue[1] + 1
  local value = queue[at]
  if value then
    queue[at] = false -- does not keep the value alive
    queue[1] = at
    return value
  end
end

-- Is it an iterator: a function, or a table that can be called?
local function is_iterator(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(value) == "function" or type(meta) == "table" and type(meta.__call) == "function"
end

--- The handler of a subscription that may return an iterator: its values are events, as if the handler had yielded
--- them. A second value is the options of `context.emit`.
---@param handler fun(input: any, context: operations.Context): any, any
---@return fun(input: any, context: operations.Context): any, any
function subscription.iterating(handler)
  return function(input, context)
    local value, failure = handler(input, context)
    if not is_iterator(value) then
      return value, failure
    end
    for event, options in value do
      context.emit(event, options)
    end
  end
end

---@class operations.registry.Stream  a prepared call of a subscription
---@field operation operations.Operation
---@field options operations.RegistryOptions
---@field handler function
---@field input any  already validated
---@field context operations.Context
---@field deadline? integer  ms since the epoch

local function on_raise(raised)
  here().traceback = errors.traced(raised, 2)
  return raised
end

-- The body of the handler's coroutine.
local function perform(state)
  state.strand = here()
  if scope.used then
    scope.open()
  end
  scheduler.deadline(state.deadline)
  -- Runs to-be-closed variables, which may wait.
  return RETURNED, xpcall(state.handler, on_raise, state.input, state.context)
end

--- Prepares the handler's coroutine; it runs from the first `next`.
---@param state operations.registry.Stream  the subscription's own from now on
---@return operations.Subscription
function subscription.new(state)
  local context = state.context
  state.running, state.queue = false, EMPTY
  state.open, state.spent, state.finish = false, 0, state.operation.finish
  rawset(context, "_subscription", state)
  rawset(context, "emit", coroutine.yield)
  state.co = coroutine.create(perform)
  return setmetatable({
    _state = state,
    _ready = EMPTY, -- the queue of the state, if nothing else must be checked
    _sentinel = scheduler.finalizer(function()
      if not state.ended then
        task.begin(finish, state) -- cleanup may wait
      end
    end),
  }, Subscription)
end

local function fail(state, failure, traceback)
  finish(state)
  return nil, operation.failure(state.operation, state.options, failure, traceback)
end

--- Emits everything in the queue in order, as `context.emit` does for one value. The consumer takes the events without
--- a switch to the handler, which continues when the queue is empty.
---@param context operations.Context
---@param queue operations.EnvelopeQueue
function subscription.emit_queue(context, queue)
  local state = context._subscription
  if state and context.emit == coroutine.yield and coroutine.running() == state.co then
    coroutine.yield(QUEUE, queue)
    return
  end
  for value in take, queue do -- middleware must see each value
    context.emit(value)
  end
end

local next_event

local function open_queue(self, queue)
  local state = self._state
  local accepts = state.operation:accepts()
  state.open, state.queue, state.finished = false, queue, accepts == "any" or accepts == "object" and queue.objects
  self._ready = state.finished and not state.deadline and queue or EMPTY
  return next_event(self)
end

-- Sets the id of an event, as in `context.emit(value, { id = })`, from which a reader resumes. Envelopes emitted by a
-- handler are copied.
local function numbered(envelope, event, id)
  if id ~= nil then
    envelope = envelope == event and { data = event.data, meta = members.copy(event.meta) } or envelope
    envelope.meta.lastEventId = number_text.of(id)
  end
  return envelope
end

--- An event of many subscriptions: the options of `context.emit` for its value. Each operation makes one envelope of
--- it, which all readers get.
---@class operations.SharedEvent
---@field id string
---@field [operations.Operation] operations.Envelope
local Shared = {}

-- What adapters make of the envelopes of shared events.
local texts = setmetatable({}, { __mode = "k" })

---@param id string
---@return operations.SharedEvent
function subscription.shared_event(id)
  return setmetatable({ id = id }, Shared)
end

--- Where adapters keep the bytes of an envelope that many readers get, by a key of their own: made once for all.
---@param envelope operations.Envelope
---@return table?  nil: it has one reader
function subscription.texts(envelope)
  return texts[envelope]
end

-- What the consumer gets for a value, with the options of `context.emit`: a value that does not fit and must fail ends
-- the subscription.
local function deliver(state, value, options)
  local shared = getmetatable(options) == Shared and options or nil
  if shared and shared[state.operation] then
    return shared[state.operation]
  end
  local envelope, err = answer(state.operation, state.options, value)
  if not envelope then
    finish(state)
    return nil, err
  end
  envelope = type(options) == "table" and numbered(envelope, value, options.id) or envelope
  if shared then
    shared[state.operation], texts[envelope] = envelope, {}
  end
  return envelope
end

-- Errors of a handler that was closed are ignored, unless its cleanup failed.
local function closed(state, event, ok, raised)
  if event == RETURNED and not ok and not (errors.is_error(raised) and raised.code == "ABORTED") then
    log_failed_cleanup(state, raised)
  end
  finish(state)
  return nil, errors.new("ABORTED", state.operation:id() .. " was closed")
end

--- Handles what the handler's coroutine did: it yielded a value or a queue, it returned the results of `xpcall`, or the
--- host failed while it waited.
local function go_on(self, ok, event, returned, value, failure)
  local state = self._state
  state.running = false
  if state.closing then
    return closed(state, event, returned, value)
  elseif ok == nil then
    finish(state)
    error(event, 0)
  elseif not ok then
    return fail(state, event)
  elseif event == QUEUE then
    return open_queue(self, returned)
  elseif event ~= RETURNED then
    state.open = not (state.deadline or scheduler.host().strands)
    return deliver(state, event, returned)
  elseif not returned then
    return fail(state, value, state.strand.traceback)
  elseif value == nil and failure ~= nil then
    return fail(state, failure)
  end
  finish(state)
  return nil
end

-- The next event where more than the handler must be asked.
local function next_checked(self, state)
  if state.ended then
    return nil
  elseif state.running then
    error("subscription:next() is already waiting", 2)
  elseif state.deadline and scheduler.now() >= state.deadline then
    finish(state)
    return nil, operation.late(state.operation, state.deadline, state.strand ~= nil)
  end
  local envelope = take(state.queue)
  if envelope then
    if state.finished then
      return envelope
    end
    return deliver(state, envelope)
  end
  state.running = true
  local failure = spend(state, EVENT) -- the handler may never wait
  if failure ~= nil or state.closing then
    state.running = false
    finish(state)
    return nil, failure ~= nil and errors.from(failure) or errors.new("ABORTED", state.operation:id() .. " was closed")
  end
  if state.strand then
    return go_on(self, scheduler.resume(state.co))
  end
  return go_on(self, scheduler.resume(state.co, state))
end

--- The next event; waits for it.
---@return operations.Envelope?  nil at the end
---@return operations.Error? err  nil when the handler just ended
function Subscription:next()
  local state = self._state
  local spent = state.spent + EVENT
  if not state.open or state.running or spent >= QUOTA then
    return next_checked(self, state)
  end
  local co, strand, outer, saved = state.co, state.strand, here(), strands.current
  state.running, state.spent = true, spent
  strand.task, strand.outer = strand.inside or outer.task, outer
  strands.current = strand
  local ok, event, returned, value, failure = resume(co)
  strands.current = saved
  if returned ~= nil or not ok or state.closing then -- not a plain value: a wait, a queue, the end
    return go_on(self, scheduler.resumed(co, strand, saved, ok, event, returned, value, failure))
  end
  state.running = false -- most events: a value that fits
  local envelope, warning, changes = state.finish(state.operation, event)
  if warning == nil and changes == nil then
    return envelope
  end
  envelope, warning = report(state.operation, state.options, envelope, warning, changes)
  if not envelope then
    finish(state)
  end
  return envelope, warning
end

next_event = Subscription.next

--- Ends the subscription and runs the handler's cleanup. Closing twice does nothing.
function Subscription:close()
  local state = self._state
  state.closing, state.open = true, false
  self._ready = EMPTY
  if state.running then
    scheduler.interrupt(state.co, errors.new("ABORTED", state.operation:id() .. " was closed"), state.strand)
  else
    finish(state)
  end
end

--- `for envelope in subscription do`: raises the error object when the handler failed.
function Subscription:__call(_, first)
  if first == OWNED then
    task_loops.began(self)
  end
  if not self._state.open then
    local ready = self._ready
    local at = ready[1] + 1
    local waiting = ready[at]
    if waiting then
      ready[at] = false
      ready[1] = at
      return waiting
    end
  end
  local envelope, err = next_event(self)
  if err ~= nil then
    error(err, 0)
  end
  return envelope
end

Subscription.__close = Subscription.close

function Subscription:__tostring()
  local state = self._state
  return ("subscription to %s%s"):format(state.operation:id(), state.ended and " (ended)" or "")
end

return subscription
