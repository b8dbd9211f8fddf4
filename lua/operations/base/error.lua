--- Error objects `{ code, message, details }`: what an expected failure returns, and how what a handler raised
--- becomes one.
local argument = require("operations.base.argument")
local core = require("operations.core")

local errors = {}

---@class operations.Error
---@field code string  one of the codes below, or one of the operation's errorSchemas
---@field message string  for the person who reads it
---@field details any  what a program needs: for VALIDATION_ERROR an array of issues
---@field retryable? boolean  does trying again make sense? nil: nobody knows
---@field mayHaveRun? boolean  false: what was called surely did nothing; true: it may have; nil: nobody knows
---@field retryAfter? number  ms that whoever was called asks to wait before another try

--- Codes of the library itself. Adapters add `HTTP_<status>`; operations declare theirs in `errorSchemas`.
errors.codes = {
  OPERATION_NOT_FOUND = "OPERATION_NOT_FOUND",
  ACCESS_DENIED = "ACCESS_DENIED",
  VALIDATION_ERROR = "VALIDATION_ERROR",
  OUTPUT_INVALID = "OUTPUT_INVALID", -- the result does not fit its schema, and on_mismatch is "fail"
  TIMEOUT = "TIMEOUT",
  ABORTED = "ABORTED",
  EXECUTION_ERROR = "EXECUTION_ERROR",
  UNKNOWN_ERROR = "UNKNOWN_ERROR",
  -- of calls to other processes
  UNAVAILABLE = "UNAVAILABLE", -- nobody there serves it
  BUSY = "BUSY", -- too much is under way
  DRAINING = "DRAINING", -- the peer is about to leave
  TRANSPORT_LOST = "TRANSPORT_LOST",
  WORKER_LOST = "WORKER_LOST",
  POISON = "POISON", -- it killed every worker that tried
}

errors.mt = core.error_mt

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

--- Is `value` an error object of this library?
---@type fun(value: any): boolean
errors.is_error = core.is_error

--- The declared code that a message is or starts with ("NOT_FOUND: no such task"), and what follows it.
local function declared(message, schemas)
  local text = message:gsub("^[^\n]-:%d+: ", "", 1) -- the position that error() puts in front
  for _, schema in ipairs(schemas) do
    local code = schema.code
    if text == code then
      return code, schema.description or code
    elseif text:sub(1, #code + 1) == code .. ":" then
      return code, (text:sub(#code + 2):gsub("^ +", ""))
    end
  end
end

-- Where errors that nobody foresaw were raised, until that is logged. No part of them: remote callers see those.
local tracebacks = setmetatable({}, { __mode = "k" })

--- The traceback of an error that nobody foresaw and nobody logged.
---@param err any
---@return string?
function errors.traceback(err)
  return tracebacks[err]
end

--- The same, for logging: it is returned once.
---@param err any
---@return string?
function errors.take_traceback(err)
  local traceback = tracebacks[err]
  tracebacks[err] = nil
  return traceback
end

--- `tostring`, also of what raises when it is asked.
---@param value any
---@return string
function errors.text(value)
  if type(value) == "string" then
    return value -- calls nothing: little stack is left after an overflow
  end
  local ok, text = pcall(tostring, value)
  return ok and tostring(text) or ("a %s whose __tostring fails"):format(type(value))
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

--- Turns whatever a handler raised or returned as its failure into an error object. A string that starts with a
--- declared code takes that code; a table with `code` and `message` is taken at its word.
---@param failure any
---@param schemas? table  the operation's errorSchemas
---@param traceback? string  kept with the error when nobody foresaw it
---@return operations.Error err
---@return boolean expected  false when nobody foresaw it: its traceback belongs in the log
function errors.from(failure, schemas, traceback)
  if errors.is_error(failure) then
    return failure, true
  elseif type(failure) == "string" then
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

--- Marks a handler that only passes its call on, as adapters make them: `mayHaveRun` of its errors is that of the call.
---@generic Handler: function
---@param handler Handler
---@param inner? function  what the handler is wrapped around: it counts as a relay only where that is one, or where
---  it was marked before
---@return Handler handler
function errors.relay(handler, inner)
  relays[handler] = relays[handler] or inner == nil or relays[inner] or nil
  return handler
end

--- The error as the caller of a handler gets it. A handler that ran may have done something before it failed:
--- `mayHaveRun = false` was said of what it called, and is left out.
---@param err operations.Error
---@param handler? function  nil: there is none here, the call was passed on
---@return operations.Error err  a copy where something is left out
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
