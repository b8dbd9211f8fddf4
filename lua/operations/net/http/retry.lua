--- Decides which exchanges are retried, and when. No I/O.
local backoff = require("operations.base.backoff")
local http_failure = require("operations.net.http.failure")
local members = require("operations.base.members")

local retry = {}

---@class operations.RetryPolicy
---@field attempts? integer  attempts including the first, default 3
---@field delay? number  ms before the second attempt unless the server names a time; doubles each time; default 250
---@field max_delay? number  ms; no retry if the server asks for a longer wait; default 30000
---@field jitter? number  random share of a delay, 0 to 1; default 0.5
---@field statuses? integer[]  statuses that are retried; default: the `retryable` ones, 408, 425, 429, 502, 503 and 504

local defaults = { attempts = 3, delay = 250, max_delay = 30000, jitter = 0.5 }

local ranges = { attempts = { 1, 100 }, delay = { 0, math.huge }, max_delay = { 0, math.huge }, jitter = { 0, 1 } }

--- Completes a policy. Raises when it is invalid.
---@param given true|operations.RetryPolicy|nil
---@param level? integer  as for `error`: the function up the stack that the error points at; default 3
---@return operations.RetryPolicy?
function retry.policy(given, level)
  if given == nil or given == false then
    return nil
  elseif given ~= true and type(given) ~= "table" then
    error(("bad option 'retry' (true or table expected, got %s)"):format(type(given)), level or 3)
  end
  local policy = members.copy(defaults)
  for name, value in pairs(given ~= true and given or {}) do
    if name ~= "statuses" and not defaults[name] then
      error(("bad option 'retry' (there is no '%s')"):format(tostring(name)), level or 3)
    end
    policy[name] = value
  end
  for name, range in pairs(ranges) do
    local value, least, most = policy[name], range[1], range[2]
    if type(value) ~= "number" or not (value >= least and value <= most) then
      error(("bad option 'retry' (%s: a number from %d to %s expected)"):format(name, least, tostring(most)),
        level or 3)
    end
  end
  policy.statuses = policy.statuses and members.set(policy.statuses)
  return policy
end

local function delay_of(policy, tries)
  return backoff.spread(backoff.delay(policy.delay, tries, policy.max_delay), -policy.jitter)
end

--- ms until the next attempt, or nil for no retry.
---@param policy operations.RetryPolicy
---@param tries integer  so far
---@param request { once: boolean?, upload: boolean? }  once: it must not run twice; upload: its body cannot be sent
---  again
---@param answer { status: integer, headers: table }?
---@param err operations.Error?
---@return number? ms
function retry.delay(policy, tries, request, answer, err)
  local known = err or http_failure.judge({}, answer.status, answer.headers)
  local is_worth_it = known.retryable
  if answer and policy.statuses then
    is_worth_it = policy.statuses[answer.status]
  end
  if tries >= policy.attempts or not is_worth_it
    or request.upload or request.once and known.mayHaveRun ~= false then
    return nil
  elseif not known.retryAfter then
    return delay_of(policy, tries)
  end
  local asked = known.retryAfter
  return asked <= policy.max_delay and asked + policy.jitter * math.random() * math.min(policy.delay, 1000) or nil
end

return retry
