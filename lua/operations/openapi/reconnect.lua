--- When a stream of server-sent events is opened again (WHATWG HTML, 9.2.3), and when no more.
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local retry = require("operations.net.http.retry")

local reconnect = {}

---@class operations.openapi.Reconnect
---@field attempts? integer  connections in a row that bring no event, default 10
---@field delay? number  ms before the first one when the server names no time, default 1000; doubles each time
---@field max_delay? number  ms, default 30000; a server that asks for more gets up to five minutes
---@field jitter? number  how much longer chance may make a delay: 0.25 is up to a quarter

local defaults = { attempts = limits.reconnects, delay = 1000, max_delay = 30000, jitter = 0.25 }

-- 204 ends a stream; of the others, only these say that it is a matter of time.
local statuses = { [408] = true, [425] = true, [429] = true, [500] = true, [502] = true, [503] = true, [504] = true }

--- Fills a policy in; the problem when it is none.
---@param given boolean|operations.openapi.Reconnect|nil
---@return operations.openapi.Reconnect?
---@return string? problem
function reconnect.policy(given)
  if not given then
    return nil
  end
  local policy = members.copy(defaults)
  for name, value in pairs(given ~= true and given or {}) do
    if not defaults[name] then
      return nil, ("there is no option %q"):format(tostring(name))
    elseif type(value) ~= "number" or value ~= value or value < 0 then
      return nil, name .. ": a number from 0 expected"
    end
    policy[name] = value
  end
  return policy
end

-- Is the failure one that time may heal? No failure is the end of the body.
local function may_heal(err)
  if not err then
    return true
  end
  local details = err.details or {}
  if details.statusCode and details.kind == nil then
    return statuses[details.statusCode] == true
  end
  return retry.passing[details.kind] == true and details.phase ~= "deadline"
end

-- What the server asks for: in its stream, or with the status that refuses us.
local function asked_for(connection, err)
  local headers = err and err.details.headers
  return math.min(math.max(connection.wait or 0, headers and retry.after(headers) or 0), limits.reconnect_wait)
end

--- How long to wait for the next connection, or nil when there shall be none.
---@param policy operations.openapi.Reconnect
---@param connection operations.openapi.Connection
---@param failures integer  connections in a row that brought no event
---@param err operations.Error?  nil: the body ended
---@return number? ms
function reconnect.delay(policy, connection, failures, err)
  if failures > policy.attempts or not may_heal(err) then
    return nil
  end
  local doubled = (connection.wait or policy.delay) * 2 ^ math.min(math.max(failures - 1, 0), 50)
  local delay = math.max(math.min(doubled, policy.max_delay), asked_for(connection, err))
  return delay * (1 + policy.jitter * math.random())
end

return reconnect
