--- A running subscription: the handler is a coroutine, each value it yields is one event in an envelope of its own.
--- The consumer pulls, so a slow one holds the producer back.
local argument = require("operations.argument")
local compat = require("operations.compat")
local core = require("operations.core")
local errors = require("operations.error")
local scheduler = require("operations.scheduler")

local subscription = {}

---@class operations.Subscription
---@operator call: operations.Envelope?
local Subscription = {}
Subscription.__index = Subscription

-- What outlives the handle for a moment when it is collected. Nothing in here may reach the handle.
---@class operations.SubscriptionState
---@field co thread
---@field operation table
---@field context operations.Context
---@field deadline? integer  ms since the epoch
---@field deferred function[]
---@field running boolean  inside next()
---@field closing boolean
---@field ended boolean  cleanup has run

local function run_deferred(state)
  for i = #state.deferred, 1, -1 do
    local fn = state.deferred[i]
    state.deferred[i] = nil
    local ok, raised = pcall(fn)
    if not ok then
      state.context.log("error", ("%s: cleanup failed: %s"):format(state.operation.id, tostring(raised)))
    end
  end
end

--- Ends the handler and runs its cleanup, exactly once.
local function finish(state)
  if state.ended then
    return
  end
  state.ended, state.closing = true, true
  if coroutine.status(state.co) == "suspended" then
    local ok, raised = compat.close(state.co)
    if not ok and raised ~= nil then
      state.context.log("error", ("%s: cleanup failed: %s"):format(state.operation.id, tostring(raised)))
    end
  end
  run_deferred(state)
end

-- What the coroutine returns before its handler's results: tells the end from an event.
local RETURNED = {}

--- Prepares the handler's coroutine; it runs from the first `next`.
---@param operation table
---@param input any  already validated
---@param context operations.Context
---@param deadline? integer  ms since the epoch
---@return operations.Subscription
function subscription.new(operation, input, context, deadline)
  local handler = operation.handler
  local state = { operation = operation, context = context, deadline = deadline, deferred = {}, running = false }
  rawset(context, "_subscription", state)
  rawset(context, "emit", coroutine.yield)
  rawset(context, "defer", function(fn)
    argument.expect(fn, "function", 1, "defer")
    state.deferred[#state.deferred + 1] = fn
  end)
  state.co = coroutine.create(function()
    scheduler.deadline(deadline)
    return RETURNED, handler(input, context)
  end)
  return setmetatable({
    _state = state,
    _sentinel = compat.finalizer(function()
      finish(state)
    end),
  }, Subscription)
end

local function fail(state, failure, traceback)
  finish(state)
  return nil, state.operation:failure(failure, traceback)
end

--- Takes up what the handler's coroutine did: yielded a value, returned (value, failure) or raised.
local function take(state, ok, event, value, failure)
  state.running = false
  if state.closing then
    finish(state)
    return nil, errors.new("ABORTED", state.operation.id .. " was closed")
  elseif not ok then
    return fail(state, event, debug.traceback(state.co, tostring(event)))
  elseif event ~= RETURNED then
    return state.operation:answer(event)
  elseif value == nil and failure ~= nil then
    return fail(state, failure)
  end
  finish(state)
  return nil
end

--- The next event; waits for it.
---@return operations.Envelope?  nil at the end
---@return operations.Error? err  nil when the handler just ended
function Subscription:next()
  local state = self._state
  if state.ended then
    return nil
  elseif state.running then
    error("subscription:next() is already waiting", 2)
  elseif state.deadline and core.now() >= state.deadline then
    return fail(state, errors.new("TIMEOUT", state.operation.id .. ": deadline passed", { deadline = state.deadline }))
  end
  state.running = true
  return take(state, scheduler.resume(state.co))
end

local next_event = Subscription.next

--- Ends the subscription and runs the handler's cleanup. Closing twice does nothing.
function Subscription:close()
  local state = self._state
  state.closing = true
  if state.running then
    scheduler.interrupt(state.co, errors.new("ABORTED", state.operation.id .. " was closed"))
  else
    finish(state)
  end
end

--- `for envelope in subscription do`: raises the error object when the handler failed.
function Subscription:__call()
  local envelope, err = next_event(self)
  if err ~= nil then
    error(err, 0)
  end
  return envelope
end

Subscription.__close = Subscription.close

return subscription
