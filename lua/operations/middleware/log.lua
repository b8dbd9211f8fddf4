--- One line of JSON for each call.
local argument = require("operations.base.argument")
local core = require("operations.core")
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

-- A member and the comma behind it.
local function member(name, value)
  return value == nil and "" or name .. json.encode(value) .. ","
end

-- The same, of a text. Those of callers and handlers may contain any bytes.
local function text(name, value)
  if value == nil then
    return ""
  end
  value = tostring(value)
  return name .. (json.encode(value) or json.encode((value:gsub("[\128-\255]", "?")))) .. ","
end

-- The members are sorted by name. `fixed`: those of the operation.
local function line_of(fixed, context, start, err)
  local identity, failed = context.identity, err or {}
  local line = "{" .. text('"code":', failed.code) .. text('"identity":', identity and identity.id)
    .. member('"mayHaveRun":', failed.mayHaveRun) .. text('"message":', failed.message)
    .. member('"ms":', scheduler.now() - start) .. fixed.operation
    .. text('"parentRequestId":', context.parentRequestId) .. text('"requestId":', context.requestId)
    .. member('"retryable":', failed.retryable) .. member('"time":', start)
    .. text('"traceparent":', context.traceparent) .. fixed.type .. "}"
  return core.is_plain(line) and line or printable.json(line)
end

--- Writes a line when a call or subscription has ended: a JSON object whose members are sorted by name. It has neither
--- the input nor the result.
---@param write? fun(line: string)  default: to stderr
---@return operations.Middleware
function log.new(write)
  argument.optional(write, "function", 1, "log")
  write = write or to_stderr
  return layer.new(function(inner, spec)
    local id = layer.id(spec)
    local fixed = { operation = text('"operation":', id), type = '"type":' .. json.encode(spec.type) }
    local followed = layer.followed(inner, function(err, context, start)
      layer.tell(context, id, write, line_of(fixed, context, start, err))
    end)
    return function(input, context)
      return followed(input, context, scheduler.now())
    end
  end)
end

return log
