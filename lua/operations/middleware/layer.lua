--- What all middleware is made of: a handler around a handler that never raises, and knows when its call has ended.
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
---@return operations.Middleware
function layer.new(build)
  return function(handler, spec)
    local made = build(layer.settle(handler, spec), spec)
    if not made then
      return handler
    end
    settled[made] = true
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

--- What is to be called with the failure of a call, or nil, when it has ended. Subscriptions also end when they are
--- closed: `fn` is told ABORTED then. It is called once.
---@param context operations.Context
---@param fn fun(err: operations.Error?)
---@return fun(err: operations.Error?)
function layer.ending(context, fn)
  local defer = rawget(context, "defer")
  if not defer then
    return fn
  end
  local over = false
  local function finish(err)
    if not over then
      over = true
      fn(err)
    end
  end
  defer(function()
    finish(closed())
  end)
  return finish
end

--- Calls what the program gave: what that raises is logged and costs no call.
---@param context operations.Context
---@param id string  of the operation
---@param fn function
---@param ... any
function layer.tell(context, id, fn, ...)
  local ok, raised = pcall(fn, ...)
  if not ok then
    pcall(context.log, "error", ("%s: middleware: %s"):format(id, errors.text(raised)))
  end
end

return layer
