--- How a call ends: with data that is printed, or an error that is told, and the exit code of either.
local core = require("operations.core")
local key_hint = require("operations.cli.key_hint")
local output = require("operations.cli.output")

local outcome = {}

-- A failure leaves no file.
local function discard(answer)
  if answer.place and answer.place.close then
    answer.place:close()
    answer.place = nil
  end
end

--- Reports an error; the answer that it is goes to standard output with --envelope.
---@param asked operations.cli.Request
---@param err operations.Error
---@return integer code
function outcome.failed(asked, err)
  local details = type(err) == "table" and type(err.details) == "table" and err.details or {}
  discard(asked.answer)
  if asked.answer.options.envelope and type(details.statusCode) == "number" then
    local headers = details.headers or {}
    local meta = { statusCode = details.statusCode, headers = headers, contentType = headers["content-type"] }
    local message = asked.answer:value(core.http_envelope(details.body, meta))
    output.complain("%s", tostring(err))
    return message and output.usage("%s", message) or output.exit_code(err)
  end
  return output.fail(key_hint.add(err, asked.spec.inputSchema))
end

--- Prints the data of an envelope, or all of it, as the options say. That of a tool which failed (MCP: `isError`) is an
--- answer too, but told to the shell.
---@param asked operations.cli.Request
---@param envelope operations.Envelope
---@param pretty boolean|nil  what to do when they do not say; nil: pretty on a terminal
---@return integer code
function outcome.print(asked, envelope, pretty)
  local answer, has_failed = asked.answer, envelope.meta.isError == true
  if has_failed then
    discard(answer)
  end
  local value = envelope
  if not answer.options.envelope then
    value = envelope.data
    if value == nil then
      value = core.null
    end
  end
  local message = answer:value(value, envelope.meta.source, pretty)
  if message then
    return output.usage("%s", message)
  elseif has_failed then
    output.tool_failure(envelope.meta.content)
    return output.codes.EXECUTION_ERROR
  end
  return output.codes.OK
end

--- Ends what was written.
---@param asked operations.cli.Request
---@param code integer
---@return integer code  of what went wrong at last, else `code`
function outcome.finish(asked, code)
  local place = asked.answer.place
  if place and code == output.codes.OK then
    local ok, result = pcall(place.finish, place)
    local message = place.problem or ok and result
    if message then
      return output.usage("%s", message)
    elseif not ok then
      error(result, 0)
    end
  end
  return code
end

return outcome
