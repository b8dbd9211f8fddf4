--- Error objects `{ code, message, details }`, which expected failures return, and the conversion of a handler's error
--- to one.
local argument = require("operations.base.argument")
local compat = require("operations.base.compat")
local core = require("operations.core")

local errors = {}

---@alias operations.ErrorCode
---| "OPERATION_NOT_FOUND"
---| "ACCESS_DENIED"
---| "APPROVAL_REQUIRED"
---| "VALIDATION_ERROR"
---| "OUTPUT_INVALID"
---| "TIMEOUT"
---| "ABORTED"
---| "EXECUTION_ERROR"
---| "UNKNOWN_ERROR"
---| "BUSY"
---| "DRAINING"
---| "UNAVAILABLE"
---| "TRANSPORT_LOST"
---| "WORKER_LOST"
---| "PENDING"
---| "POISON"
---| "DETACHED"
---| "RATE_LIMITED"
---| string  HTTP_<status>, MCP_<number>, or a code of the operation's errorSchemas

---@class operations.Error
---@field code operations.ErrorCode
---@field message string  for people
---@field details any  for programs; for VALIDATION_ERROR an array of issues
---@field retryable? boolean  may a retry succeed? nil: unknown
---@field mayHaveRun? boolean  false: the operation surely did not run; true: it may have; nil: unknown
---@field retryAfter? number  ms to wait before a retry, as the peer asks
---@field hint? string  what the caller may do, for people; not told to remote callers

--- Codes of the library itself. Adapters add `HTTP_<status>`; operations declare theirs in `errorSchemas`.
errors.codes = {
  OPERATION_NOT_FOUND = "OPERATION_NOT_FOUND",
  ACCESS_DENIED = "ACCESS_DENIED",
  APPROVAL_REQUIRED = "APPROVAL_REQUIRED", -- a rule of the policy asks a person, and no person can be asked
  VALIDATION_ERROR = "VALIDATION_ERROR",
  OUTPUT_INVALID = "OUTPUT_INVALID", -- the result does not fit its schema, and on_mismatch is "fail"
  TIMEOUT = "TIMEOUT",
  ABORTED = "ABORTED",
  EXECUTION_ERROR = "EXECUTION_ERROR",
  UNKNOWN_ERROR = "UNKNOWN_ERROR",
  -- of calls to other processes
  UNAVAILABLE = "UNAVAILABLE", -- no process serves it
  BUSY = "BUSY", -- too many calls are running
  DRAINING = "DRAINING", -- the peer is about to stop
  TRANSPORT_LOST = "TRANSPORT_LOST",
  WORKER_LOST = "WORKER_LOST",
  PENDING = "PENDING", -- the job has no outcome yet
  POISON = "POISON", -- every worker that tried it died
  DETACHED = "DETACHED", -- it continues as a task of its server, as the caller wished
}

errors.mt = core.error_mt

-- Reporters of test programs join what was raised with other texts.
function errors.mt.__concat(left, right)
  return tostring(left) .. tostring(right)
end

--- Makes an error object; `tostring` gives "CODE: message".
---@param code string
---@param message string
---@param details any
---@return operations.Error
function errors.new(code, message, details)
  argument.expect(code, "string", 1, "error")
  argument.expect(message, "string", 2, "error")
  return setmetatable({ code = code, message = message, details = details }, errors.mt)
end

--- The error of a call that continues as a task of its server, as its caller wished (`context.detach`).
---@param id string  of the task
---@param message string
---@return operations.Error  DETACHED, details { task = id }
function errors.detached(id, message)
  local err = errors.new(errors.codes.DETACHED, message, { task = id })
  err.retryable, err.mayHaveRun = false, true
  return err
end

--- Is `value` an error object of this library?
---@type fun(value: any): boolean
errors.is_error = core.is_error

--- Returns the declared code that a message equals or starts with ("NOT_FOUND: no such task"), and the rest of the
--- message.
local function declared(message, schemas)
  local text = message:gsub("^[^\n]-:%d+: ", "", 1) -- without the position that error() adds
  for _, schema in ipairs(schemas) do
    local code = schema.code
    if text == code then
      return code, schema.description or code
    elseif text:sub(1, #code + 1) == code .. ":" then
      return code, (text:sub(#code + 2):gsub("^ +", ""))
    end
  end
end

-- Tracebacks of unexpected errors, until they are logged. They are not fields of the error, which remote callers see.
local tracebacks = setmetatable({}, { __mode = "k" })

--- The traceback of an unexpected error that was not logged yet.
---@param err any
---@return string?
function errors.traceback(err)
  return tracebacks[err]
end

--- As `traceback`, for logging: returns it only once.
---@param err any
---@return string?
function errors.take_traceback(err)
  local traceback = tracebacks[err]
  tracebacks[err] = nil
  return traceback
end

--- As `tostring`, but never raises.
---@param value any
---@return string
function errors.text(value)
  if type(value) == "string" then
    return value -- without a call: after a stack overflow there is little stack
  end
  local ok, text = pcall(tostring, value)
  return ok and tostring(text) or ("a %s whose __tostring fails"):format(type(value))
end

-- A program may have left out the library `debug`.
local debug_traceback = rawget(_G, "debug") and debug.traceback or function(co, text)
  return type(co) == "thread" and text or co
end

--- As `errors.text`, with a traceback where the program has one: a message handler for `xpcall`.
---@param raised any
---@param level? integer  where it begins: 1 (default) is the caller, which for a message handler is what raised
---@param co? thread  the coroutine that it is of, not the running one
---@return string
function errors.traced(raised, level, co)
  local text = errors.text(raised)
  text = co and debug_traceback(co, text) or debug_traceback(text, (level or 1) + 1)
  return text
end

local retry_kinds = { retryable = "boolean", mayHaveRun = "boolean", retryAfter = "number" }

-- Reads a table as an error object; nil when it is not one. Its metamethods may raise.
local function coded(failure)
  local err
  if type(failure) ~= "table" then
    return nil
  end
  pcall(function()
    local code, message, details = failure.code, failure.message, failure.details
    err = type(code) == "string" and type(message) == "string" and errors.new(code, message, details) or nil
    for name, kind in pairs(err and retry_kinds or {}) do
      local value = failure[name]
      if type(value) == kind then
        err[name] = value
      end
    end
  end)
  return err
end

local function unforeseen(err, traceback)
  tracebacks[err] = traceback
  return err, false
end

--- Turns any failure that a handler raised or returned into an error object. A string that starts with a declared code
--- gets that code; a table with `code` and `message` becomes an error object with these.
---@param failure any
---@param schemas? table  the operation's errorSchemas
---@param traceback? string  kept with the error when it is unexpected
---@return operations.Error err
---@return boolean expected  false for an unexpected error, whose traceback must be logged
function errors.from(failure, schemas, traceback)
  if errors.is_error(failure) then
    return failure, true
  elseif failure == compat.raised_nil then
    failure = nil
  end
  if type(failure) == "string" then
    local code, message = declared(failure, schemas or {})
    if code then
      return errors.new(code, message), true
    end
    return unforeseen(errors.new("EXECUTION_ERROR", failure), traceback)
  end
  local err = coded(failure)
  if err then
    return err, true
  end
  return unforeseen(errors.new("UNKNOWN_ERROR", errors.text(failure), { raw = failure }), traceback)
end

local relays = setmetatable({}, { __mode = "k" })

--- Marks a handler that only forwards its call, as adapters make them: its errors keep the `mayHaveRun` of the call.
---@generic Handler: function
---@param handler Handler
---@param inner? function  the wrapped handler: the outer one counts as a relay only if this is one
---@param destination? string|fun(): string?  where it forwards to: an address or a program
---@return Handler handler
function errors.relay(handler, inner, destination)
  relays[handler] = relays[handler] or inner == nil and (destination or true) or relays[inner] or nil
  return handler
end

--- Where a handler forwards its calls to; nil: unknown, or it does not.
---@param handler function
---@return string?
function errors.destination(handler)
  local destination = relays[handler]
  if type(destination) == "function" then
    local ok, found = pcall(destination)
    destination = ok and found
  end
  return type(destination) == "string" and destination or nil
end

--- The error for the caller of a handler. A handler that ran may have had effects before it failed, so `mayHaveRun =
--- false` of an operation that it called is removed.
---@param err operations.Error
---@param handler? function  nil: there is none here, the call was forwarded
---@return operations.Error err  a copy if something is removed
function errors.of_handler(err, handler)
  if err.mayHaveRun ~= false or not handler or relays[handler] then
    return err
  end
  local copy = setmetatable({}, errors.mt)
  for name, value in next, err do
    copy[name] = value
  end
  copy.mayHaveRun = nil
  return copy
end

return errors
