--- The base of all middleware: wraps a handler so that it never raises and the end of its call is known.
local errors = require("operations.base.error")
local hold = require("operations.task.hold")

local layer = {}

---@alias operations.Middleware fun(handler: function, spec: operations.Spec): function

-- Handlers that return their failures as error objects.
local settled = setmetatable({}, { __mode = "k" })

local function failed(handler, failure, schemas)
  local err = errors.from(failure, schemas, not errors.is_error(failure) and errors.text(failure) or nil)
  return nil, errors.of_handler(err, handler)
end

--- A handler that returns `nil, err` where the given one raised or returned a failure; `err` is an error object whose
--- `mayHaveRun` refers to this handler, not to calls that it made.
---@param handler function
---@param spec operations.Spec
---@return fun(input: any, context: operations.Context): any, operations.Error?
function layer.settle(handler, spec)
  if settled[handler] then
    return handler
  end
  local schemas = spec.errorSchemas
  local function on_raise(raised)
    if errors.is_error(raised) then
      return raised
    end
    return (errors.from(raised, schemas, errors.traced(raised, 2)))
  end
  return function(input, context)
    local ok, value, failure = xpcall(handler, on_raise, input, context)
    if not ok then
      return failed(handler, value, schemas)
    elseif value == nil and failure ~= nil then
      return failed(handler, failure, schemas)
    end
    return value
  end
end

--- Makes a middleware. `build` gets the settled inner handler and returns the one around it, which must be settled too;
--- or nil to leave the operation unchanged.
---@param build fun(inner: fun(input: any, context: operations.Context): any, operations.Error?, spec: operations.Spec):
---  function?
---@param raises? boolean  it calls functions of the program, which may raise
---@return operations.Middleware
function layer.new(build, raises)
  return function(handler, spec)
    local made = build(layer.settle(handler, spec), spec)
    if not made then
      return handler
    end
    settled[made] = not raises or nil
    return errors.relay(made)
  end
end

--- The id of an operation.
---@param spec operations.Spec
---@return string
function layer.id(spec)
  return spec.namespace .. "." .. spec.name
end

--- The error of a call that a middleware refuses: its handler did not run.
---@param code string
---@param message string
---@param details any
---@param retry_after? number  ms; nil: a retry cannot succeed
---@return operations.Error
function layer.refusal(code, message, details, retry_after)
  local err = errors.new(code, message, details)
  err.mayHaveRun, err.retryable, err.retryAfter = false, retry_after ~= nil, retry_after
  return err
end

--- The error that interrupted the wait of a call before its handler ran.
---@param interruption any
---@return operations.Error
function layer.not_begun(interruption)
  local err = errors.from(interruption)
  local copy = errors.new(err.code, err.message, err.details)
  copy.mayHaveRun = false
  return copy
end

local function closed()
  return errors.new("ABORTED", "the subscription was closed")
end

local function release_at_first_event(held, context)
  local emit = rawget(context, "emit")
  if emit then
    rawset(context, "emit", function(...)
      rawset(context, "emit", emit)
      held:release()
      return emit(...)
    end)
  end
end

--- Makes a function that calls the inner handler, then `over(err, context, call, value)`, once. For a closed
--- subscription, and for a call whose coroutine was dropped, the error is ABORTED.
---@param inner fun(input: any, context: operations.Context): any, operations.Error?
---@param over fun(err: operations.Error?, context: operations.Context, call: any, value: any)
---@param at_first_event? boolean  a subscription counts as ended, without an error, at its first `context.emit`
---@return fun(input: any, context: operations.Context, call: any): any, operations.Error?  `call`: what `over` gets
function layer.followed(inner, over, at_first_event)
  local function held_call(input, context, call)
    local value, err
    local held = hold.new(function(failure)
      over(failure, context, call, value)
    end)
    if rawget(context, "_subscription") then
      context.defer(function()
        held:release(closed())
      end)
      if at_first_event then
        release_at_first_event(held, context)
      end
    end
    value, err = inner(input, context)
    held:release(err)
    return value, err
  end
  return function(input, context, call)
    if rawget(context, "_subscription") or hold.is_needed() then
      return held_call(input, context, call)
    end
    local value, err = inner(input, context)
    over(err, context, call, value)
    return value, err
  end
end

--- Has what middleware further inside does with a call counted.
---@param context operations.Context
---@param metrics operations.Metrics
function layer.counts(context, metrics)
  rawset(context, "_metrics", metrics)
end

--- The figures of a call: the innermost `metrics` around this middleware; nil: there is none.
---@param context operations.Context
---@return operations.Metrics?
function layer.metrics(context)
  return rawget(context, "_metrics")
end

--- Counts what a middleware did with a call.
---@param context operations.Context
---@param id string  of the operation
---@param what string  see `Metrics:_note`
function layer.note(context, id, what)
  local metrics = rawget(context, "_metrics")
  if metrics then
    metrics:_note(id, what)
  end
end

--- Calls a function of the program: an error that it raises is logged and does not fail the call.
---@param context operations.Context
---@param id string  of the operation
---@param fn function
---@param ... any
---@return any result
function layer.tell(context, id, fn, ...)
  local ok, result = pcall(fn, ...)
  if ok then
    return result
  end
  pcall(context.report, context, "error", ("%s: middleware: %s"):format(id, errors.text(result)))
end

return layer
