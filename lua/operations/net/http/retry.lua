--- Which exchanges are worth another try, and when. No I/O.
local backoff = require("operations.base.backoff")
local core = require("operations.core")
local header_field = require("operations.net.http.header_field")
local members = require("operations.base.members")

local retry = {}

---@class operations.RetryPolicy
---@field attempts? integer  all tries together, default 3
---@field delay? number  ms before the second try when the server names no time; doubles each time; default 250
---@field max_delay? number  ms; a server that wants us to wait longer is not asked again; default 30000
---@field jitter? number  share of a delay that chance decides, 0 to 1; default 0.5
---@field statuses? integer[]  answers to try again after, default 408, 425, 429, 502, 503 and 504

local defaults = { attempts = 3, delay = 250, max_delay = 30000, jitter = 0.5 }

-- Too early, too many, and the gateways' statuses: none says that the request itself is at fault.
local statuses = { [408] = true, [425] = true, [429] = true, [502] = true, [503] = true, [504] = true }

--- Kinds of failures that another try may not meet again.
retry.passing = { dns = true, connect = true, reset = true, truncated = true, timeout = true }

local ranges = { attempts = { 1, 100 }, delay = { 0, math.huge }, max_delay = { 0, math.huge }, jitter = { 0, 1 } }

--- Fills a policy in. Raises when it is none.
---@param given true|operations.RetryPolicy|nil
---@return operations.RetryPolicy?
function retry.policy(given)
  if given == nil or given == false then
    return nil
  elseif given ~= true and type(given) ~= "table" then
    error(("bad option 'retry' (true or table expected, got %s)"):format(type(given)), 4)
  end
  local policy = members.copy(defaults)
  policy.statuses = statuses
  for name, value in pairs(given ~= true and given or {}) do
    if name ~= "statuses" and not defaults[name] then
      error(("bad option 'retry' (there is no '%s')"):format(tostring(name)), 4)
    end
    policy[name] = value
  end
  for name, range in pairs(ranges) do
    local value, least, most = policy[name], range[1], range[2]
    if type(value) ~= "number" or not (value >= least and value <= most) then
      error(("bad option 'retry' (%s: a number from %d to %s expected)"):format(name, least, tostring(most)), 4)
    end
  end
  if policy.statuses ~= statuses then
    local set = {}
    for _, status in ipairs(policy.statuses) do
      set[status] = true
    end
    policy.statuses = set
  end
  return policy
end

--- How long a server asks to wait (RFC 9110, 10.2.3).
---@param headers table
---@return number? ms
function retry.after(headers)
  local text = headers["retry-after"]
  if not text then
    return nil
  elseif text:find("^%d+$") then
    return math.min(tonumber(text) * 1000, 2 ^ 53)
  end
  local at = header_field.date(text)
  return at and math.max(at - core.now(), 0)
end

local function delay_of(policy, tries)
  return backoff.spread(backoff.delay(policy.delay, tries, policy.max_delay), -policy.jitter)
end

--- When to try again, or nil when that makes no sense.
---@param policy operations.RetryPolicy
---@param tries integer  so far
---@param answer table?
---@param err operations.Error?
---@return number? ms
function retry.delay(policy, tries, answer, err)
  if tries >= policy.attempts then
    return nil
  elseif not answer then
    return err and retry.passing[err.details and err.details.kind] and delay_of(policy, tries) or nil
  elseif not policy.statuses[answer.status] then
    return nil
  end
  local asked = retry.after(answer.headers)
  if not asked then
    return delay_of(policy, tries)
  end
  return asked <= policy.max_delay and asked + policy.jitter * math.random() * math.min(policy.delay, 1000) or nil
end

return retry
