--- Error objects `{ code, message, details }`: what an expected failure returns, and how what a handler raised
--- becomes one.
local argument = require("operations.argument")
local core = require("operations.core")

local errors = {}

---@class operations.Error
---@field code string  one of the codes below, or one of the operation's errorSchemas
---@field message string  for the person who reads it
---@field details any  what a program needs: for VALIDATION_ERROR an array of issues

--- Codes of the library itself. Adapters add `HTTP_<status>`; operations declare theirs in `errorSchemas`.
errors.codes = {
  OPERATION_NOT_FOUND = "OPERATION_NOT_FOUND",
  ACCESS_DENIED = "ACCESS_DENIED",
  VALIDATION_ERROR = "VALIDATION_ERROR",
  TIMEOUT = "TIMEOUT",
  ABORTED = "ABORTED",
  EXECUTION_ERROR = "EXECUTION_ERROR",
  UNKNOWN_ERROR = "UNKNOWN_ERROR",
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

--- Turns whatever a handler raised or returned as its failure into an error object. A string that starts with a
--- declared code takes that code; a table with `code` and `message` is taken at its word.
---@param failure any
---@param schemas? table  the operation's errorSchemas
---@return operations.Error err
---@return boolean expected  false when nobody foresaw it: its traceback belongs in the log
function errors.from(failure, schemas)
  if errors.is_error(failure) then
    return failure, true
  elseif type(failure) == "string" then
    local code, message = declared(failure, schemas or {})
    if code then
      return errors.new(code, message), true
    end
    return errors.new("EXECUTION_ERROR", failure), false
  elseif type(failure) == "table" and type(failure.code) == "string" and type(failure.message) == "string" then
    return errors.new(failure.code, failure.message, failure.details), true
  end
  return errors.new("UNKNOWN_ERROR", tostring(failure), { raw = failure }), false
end

return errors
