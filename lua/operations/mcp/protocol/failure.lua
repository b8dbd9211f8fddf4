--- Failures of requests to MCP servers as error objects. Decides about retries: `retryable` and `mayHaveRun`. No I/O.
local errors = require("operations.base.error")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")

local failure = {}

-- `retryable` and `mayHaveRun` by `details.kind`. A server that has ended the session ran nothing; one that is gone
-- ("closed") is restarted for the next call only if configured.
local kinds = {
  timeout = { true, true }, lost = { true, true }, session = { true, false }, closed = { false, true },
  malformed = { false, true }, protocol = { false, true }, size = { false, true }, rounds = { false, true },
  version = { false, false }, task = { nil, true }, tool = { nil, true },
}

-- Error codes that a server returns before it runs anything (JSON-RPC 2.0; MCP 2025-11-25 and 2026-07-28).
local refusals = {
  [-32700] = true, [-32600] = true, [-32601] = true, [-32602] = true, [-32002] = true, [-32042] = true,
  [message.codes.HEADER_MISMATCH] = true, [message.codes.MISSING_CAPABILITY] = true,
  [message.codes.UNSUPPORTED_VERSION] = true,
}

--- The error of a request without a usable answer.
---@param kind string  a key of the table above
---@param text string
---@param details? table  gets the kind
---@return operations.Error  EXECUTION_ERROR, TIMEOUT
function failure.new(kind, text, details)
  details = details or {}
  details.kind = kind
  local err = errors.new(kind == "timeout" and "TIMEOUT" or "EXECUTION_ERROR", text, details)
  err.retryable, err.mayHaveRun = kinds[kind][1], kinds[kind][2]
  return err
end

--- The error of requests that end because the program closes the connection.
---@param text string
---@return operations.Error  ABORTED, kind "closed"
function failure.closed(text)
  local err = errors.new("ABORTED", text, { kind = "closed" })
  err.retryable, err.mayHaveRun = kinds.closed[1], kinds.closed[2]
  return err
end

--- The same error for a request that was not sent.
---@param err operations.Error
---@return operations.Error
function failure.unsent(err)
  local copy = errors.new(err.code, err.message, err.details)
  copy.retryable, copy.mayHaveRun, copy.retryAfter = err.retryable, false, err.retryAfter
  return copy
end

--- The error object of a JSON-RPC error.
---@param answered { code: integer, message: string, data: any }
---@param what string  the method, for people
---@param details? table  additional details
---@return operations.Error  code "MCP_<number>", details { rpcCode, data, ... }
function failure.of_answer(answered, what, details)
  local err = errors.new(("MCP_%d"):format(answered.code), ("%s: %s"):format(what, answered.message),
    members.merged({ rpcCode = answered.code, data = answered.data }, details))
  if refusals[answered.code] then
    err.retryable = false
  end
  err.mayHaveRun = not refusals[answered.code]
  return err
end

return failure
