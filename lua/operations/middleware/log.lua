--- One line of JSON for each call.
local argument = require("operations.base.argument")
local hold = require("operations.task.hold")
local json = require("operations.base.json")
local layer = require("operations.middleware.layer")
local printable = require("operations.base.printable")
local scheduler = require("operations.task.scheduler")

local log = {}

---@class operations.CallLogEntry
---@field time integer  ms since the epoch, when the call began
---@field operation string
---@field type string
---@field requestId string
---@field parentRequestId? string
---@field traceparent? string
---@field identity? string  the identity's id
---@field ms integer
---@field code? string  of the error
---@field message? string  of the error
---@field retryable? boolean
---@field mayHaveRun? boolean

local function to_stderr(line)
  io.stderr:write(line, "\n")
end

-- Texts from callers and handlers may contain any bytes.
local function readable(text)
  if text == nil then
    return nil
  end
  text = tostring(text)
  return json.encode(text) and text or (text:gsub("[\128-\255]", "?"))
end

local function entry_of(id, spec, context, start, err)
  local identity = context.identity
  return {
    time = start, operation = id, type = spec.type, requestId = readable(context.requestId),
    parentRequestId = readable(context.parentRequestId), traceparent = readable(context.traceparent),
    identity = identity and readable(identity.id), ms = scheduler.host().now() - start,
    code = err and readable(err.code), message = err and readable(err.message),
    retryable = err and err.retryable, mayHaveRun = err and err.mayHaveRun,
  }
end

local sorted = { sort_keys = true }

--- Writes a line when a call or subscription has ended: a JSON object whose members are sorted by name. It has neither
--- the input nor the result.
---@param write? fun(line: string)  default: to stderr
---@return operations.Middleware
function log.new(write)
  argument.optional(write, "function", 1, "log")
  write = write or to_stderr
  return layer.new(function(inner, spec)
    local id = layer.id(spec)
    local function over(err, context, start)
      layer.tell(context, id, write,
        printable.json(assert(json.encode(entry_of(id, spec, context, start, err), sorted))))
    end
    return function(input, context)
      return layer.follow(hold.new(over, context, scheduler.host().now()), inner, input, context)
    end
  end)
end

return log
