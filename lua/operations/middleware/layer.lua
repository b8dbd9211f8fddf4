--- The base of all middleware: a handler around a handler that never raises, and knows when its call has ended.
local errors = require("operations.base.error")

local layer = {}

---@alias operations.Middleware fun(handler: function, spec: operations.Spec): function

-- Handlers that return their failures as error objects.
local settled = setmetatable({}, { __mode = "k" })

local function failed(handler, failure, schemas)
  local err = errors.from(failure, schemas, not errors.is_error(failure) and errors.text(failure) or nil)
  return nil, errors.of_handler(err, handler)
end

local function outcome(handler, schemas, ok, value, failure)
  if not ok then
    return failed(handler, value, schemas)
  elseif value == nil and failure ~= nil then
    return failed(handler, failure, schemas)
  end
  return value
end

--- The handler as one that returns `nil, err` where it raised or returned a failure; `err` is an error object, of which
--- `mayHaveRun` is true of this handler, not of what it called.
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
    return (errors.from(raised, schemas, debug.traceback(errors.text(raised), 2)))
  end
  return function(input, context)
    return outcome(handler, schemas, xpcall(handler, on_raise, input, context))
  end
end

--- Makes a middleware. `build` gets the handler inside, settled, and returns the one around it, which has to be settled
--- as well; or nil, where it leaves the operation as it is.
---@param build fun(inner: fun(input: any, context: operations.Context): any, operations.Error?, spec: operations.Spec):
---  function?
---@param raises? boolean  it calls what the program gave, which may raise
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
---@param retry_after? number  ms; without it trying again makes no sense
---@return operations.Error
function layer.refusal(code, message, details, retry_after)
  local err = errors.new(code, message, details)
  err.mayHaveRun, err.retryable, err.retryAfter = false, retry_after ~= nil, retry_after
  return err
end

--- What interrupted the wait of a call whose handler did not run yet.
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

local function at_first_event(context, fn)
  local emit = rawget(context, "emit")
  rawset(context, "emit", function(...)
    rawset(context, "emit", emit)
    fn()
    return emit(...)
  end)
end

-- The same of a subscription, which also ends when it is closed; and at its first event, where that is enough.
local function follow_stream(inner, input, context, early, over, a, b, c)
  local ended = false
  local function finish(err)
    if not ended then
      ended = true
      over(err, a, b, c)
    end
  end
  context.defer(function()
    finish(closed())
  end)
  if early then
    at_first_event(context, finish)
  end
  local value, err = inner(input, context)
  finish(err)
  return value, err
end

--- Calls the handler inside, and `over(err, a, b, c)` once when the call has ended; of a subscription that was closed
--- `err` is ABORTED.
---@param inner fun(input: any, context: operations.Context): any, operations.Error?
---@param input any
---@param context operations.Context
---@param early boolean  a subscription counts as ended, without an error, at its first `context.emit`
---@param over fun(err: operations.Error?, a: any, b: any, c: any)
---@param a any
---@param b any
---@param c any
---@return any value
---@return operations.Error? err
function layer.follow(inner, input, context, early, over, a, b, c)
  if rawget(context, "defer") then
    return follow_stream(inner, input, context, early, over, a, b, c)
  end
  local value, err = inner(input, context)
  over(err, a, b, c)
  return value, err
end

--- Calls what the program gave: what that raises is logged and costs no call.
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
  pcall(context.log, "error", ("%s: middleware: %s"):format(id, errors.text(result)))
end

return layer
