--- OPERATIONS_LOG=mcp: a line on stderr for each message, and each change of a connection, without arguments and
--- results.
local core = require("operations.core")
local json = require("operations.base.json")
local wire_log = require("operations.base.wire_log")

local trace = {}

local is_on = wire_log.has("mcp")

local MESSAGE = 200 -- bytes shown of an error's message

local function named(value)
  local name = type(value.params) == "table" and value.params.name
  return value.method .. (type(name) == "string" and " " .. name or "")
end

local function outcome(value)
  local failure, result = value.error, value.result
  if type(failure) == "table" then
    return (" failed: %s %s"):format(tostring(failure.code), tostring(failure.message):sub(1, MESSAGE))
  end
  return type(result) == "table" and result.isError == true and ", isError" or ""
end

-- Writes the line of a message. `running` has the requests without an answer, by direction and id.
local function tell(name, running, way, value)
  local arrow, id = way == "out" and ">" or "<", value.id ~= nil and way .. tostring(value.id) or nil
  if value.method then
    if id then
      running[id] = { named(value), core.monotonic() }
    elseif value.method == "notifications/cancelled" and type(value.params) == "table" then
      running[way .. tostring(value.params.requestId)] = nil
    end
    return wire_log.write("mcp", "%s %s %s%s", name, arrow, named(value), id and (" (id %s)"):format(value.id) or "")
  end
  local key = (way == "out" and "in" or "out") .. tostring(value.id)
  local asked = running[key] or { "no request", core.monotonic() }
  running[key] = nil
  wire_log.write("mcp", "%s %s answer to %s (id %s) in %.1f ms%s", name, arrow, asked[1], tostring(value.id),
    core.monotonic() - asked[2], outcome(value))
end

--- A function that sees the messages of a connection: the given one, or one that tells of them, too.
---@param name string  of the server
---@param watch? fun(way: "in"|"out", message: any)
---@return fun(way: "in"|"out", message: any)?
function trace.watch(name, watch)
  if not is_on then
    return watch
  end
  local running = {}
  return function(way, message)
    local value = type(message) == "string" and json.decode(message) or message
    if type(value) == "table" then
      tell(name, running, way, value)
    end
    if watch then
      watch(way, message)
    end
  end
end

--- A function that sees the states of a connection: the given one, or one that tells of them, too.
---@param name string
---@param state fun(state: operations.mcp.State, err: operations.Error?)
---@return fun(state: operations.mcp.State, err: operations.Error?)
function trace.state(name, state)
  if not is_on then
    return state
  end
  return function(now, err)
    wire_log.write("mcp", "%s is %s%s", name, now, err and ": " .. err.message or "")
    return state(now, err)
  end
end

return trace
