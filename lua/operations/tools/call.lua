--- Reads the calls in a model's answer: the operation and input of each, or why it cannot be made.
local core = require("operations.core")
local errors = require("operations.base.error")
local guard = require("operations.registry.guard")
local json = require("operations.base.json")
local parameters = require("operations.tools.parameters")

local call = {}

--- One call that a model asks for.
---@class operations.ToolCall
---@field id? string  from the vendor
---@field name? string  of the tool
---@field operationId? string
---@field input any
---@field error? operations.Error  why it cannot be made

local MAX_NAME = 200 -- bytes of a name shown in a message

local function shown(name)
  return type(name) == "string" and ("%q"):format(name:sub(1, MAX_NAME):gsub("%c", "?")) or "without a name"
end

--- The error for an unknown tool.
---@param name any
---@param near? string  the name that may be meant, in parentheses
---@return operations.Error
function call.unknown(name, near)
  local err = errors.new("OPERATION_NOT_FOUND", ("there is no tool %s%s"):format(shown(name), near or ""))
  err.retryable, err.mayHaveRun = false, false
  return err
end

--- The error for arguments that do not fit.
---@param message string
---@param issues? table[]
---@return operations.Error
function call.invalid(message, issues)
  local err = errors.new("VALIDATION_ERROR", message, issues)
  err.mayHaveRun = false
  return err
end

local invalid = call.invalid

--- The arguments as an object; OpenAI sends them as a text.
---@param raw any
---@return table?
---@return operations.Error? err  VALIDATION_ERROR
function call.arguments(raw)
  local value = raw
  if type(raw) == "string" then
    local err
    value, err = json.decode(raw:find("%S") and raw or "{}")
    if value == nil then
      return nil, invalid("the arguments are not JSON: " .. err.message)
    end
  elseif raw == nil or raw == core.null then
    value = {}
  end
  if type(value) == "table" and next(value) == nil then
    value = setmetatable({}, core.object_mt)
  end
  if core.kind(value) ~= "object" then
    return nil, invalid(("the arguments have to be a JSON object, not %s"):format(tostring(core.kind(value))))
  end
  return value
end

---@param tools operations.Tools
---@param raw { id: any, name: any, arguments: any, may_lack_id: boolean? }
---@param seen table<string, true>  ids of the previous calls
---@return operations.ToolCall
local function read(tools, raw, seen)
  local id, name = raw.id, raw.name
  local made = { id = type(id) == "string" and id or nil, name = type(name) == "string" and name or nil }
  if made.id and seen[made.id] then
    made.error = invalid(("the id %s repeats that of an earlier call, so this call is not made"):format(shown(made.id)))
    return made
  elseif not made.id and not raw.may_lack_id then
    made.error = invalid("the call has no id")
    return made
  end
  seen[made.id or seen] = true
  local arguments
  arguments, made.error = call.arguments(raw.arguments)
  local target = made.name and tools:_target(made.name, arguments)
  if not target then
    local hidden = made.name and tools._names and tools._names.of_name[made.name]
    if hidden then
      guard.hidden(tools._registry, hidden, { identity = tools._options.identity })
    end
    made.error = call.unknown(raw.name)
    return made
  end
  made.operationId, made.spec, made.own = target.id, target.spec, target.own
  if made.error then
    return made
  elseif target.error then
    made.error = target.error
    return made
  end
  local issues
  made.input, issues = parameters.input(target.parameters, target.arguments)
  made.error = issues[1] and invalid("the arguments do not fit", issues) or nil
  return made
end

--- Reads the calls of an answer. Never raises.
---@param tools operations.Tools
---@param response any
---@return operations.ToolCall[]
function call.all(tools, response)
  local list, seen = {}, {}
  for i, raw in ipairs(type(response) == "table" and tools._format.calls(response) or {}) do
    list[i] = read(tools, raw, seen)
  end
  return list
end

return call
