--- Repeats calls after temporary failures.
local argument = require("operations.base.argument")
local backoff = require("operations.base.backoff")
local errors = require("operations.base.error")
local layer = require("operations.middleware.layer")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

local retry = {}

---@class operations.RetryOptions
---@field attempts? integer  attempts per call, including the first, 1 to 100, default 3
---@field delay? number  ms before the second attempt; doubles each time; default 100
---@field max_delay? number  ms; a failure with a longer `retryAfter` is not retried; default 10,000
---@field jitter? number  random share of a delay, 0 to 1, default 0.5
---@field budget? { ratio: number?, burst: number? }|false  retries of all calls together: `ratio` for each call
---  (default 0.2), of which at most `burst` are saved up (default 10); false: no limit

local kinds = { attempts = "number", delay = "number", max_delay = "number", jitter = "number",
  budget = "table or false" }
local budget_kinds = { ratio = "number", burst = "number" }
local defaults = { attempts = 3, delay = 100, max_delay = 10000, jitter = 0.5 }
local ranges = { attempts = { 1, 100 }, delay = { 0, math.huge }, max_delay = { 0, math.huge }, jitter = { 0, 1 } }

local function read(given)
  argument.optional(given, "table", 1, "retry", 4)
  argument.options(given or {}, kinds, "retry", 4)
  local options = members.merged(defaults, given)
  for name, range in pairs(ranges) do
    local value = options[name]
    if not (value >= range[1] and value <= range[2]) then
      error(("bad option '%s' to 'retry' (%d to %s expected, got %s)"):format(name, range[1],
        number_text.of(range[2]), number_text.of(value)), 3)
    end
  end
  if options.budget ~= false then
    argument.options(options.budget or {}, budget_kinds, "retry", 4)
    options.budget = members.merged({ ratio = 0.2, burst = 10 }, options.budget)
  end
  return options
end

-- A budget of retries; nil when there is no limit.
local function purse(budget)
  return budget and { left = budget.burst, ratio = budget.ratio, most = budget.burst }
end

local function earn(savings)
  if savings then
    savings.left = math.min(savings.left + savings.ratio, savings.most)
  end
end

local function pay(savings)
  if not savings then
    return true
  elseif savings.left < 1 then
    return false
  end
  savings.left = savings.left - 1
  return true
end

-- May the call be repeated, by its error? Yes if it surely did not run; if it may have run, only if it is repeatable
-- and has emitted nothing. A breaker's refusal is final: a wait for it would end when its caller has long given up.
local function is_safe(err, repeatable, context)
  if not err.retryable or rawget(context, "emit") or type(err.details) == "table" and err.details.breaker ~= nil then
    return false
  end
  return err.mayHaveRun == false or repeatable and not context.sink
end

-- ms until the next attempt; nil: too long.
local function delay_of(options, tries, err)
  local asked = err.retryAfter
  if not asked then
    return backoff.spread(backoff.delay(options.delay, tries, options.max_delay), -options.jitter)
  end
  local later = options.jitter * math.random() * math.min(options.delay, 1000)
  return asked <= options.max_delay and asked + later or nil
end

local function has_time(ms)
  local deadline = scheduler.deadline_of(scheduler.here())
  return not deadline or scheduler.now() + ms < deadline
end

-- Waits; returns the error that interrupted the wait, if any.
local function pause(ms)
  local ok, raised = pcall(task.sleep, ms / 1000)
  return not ok and (errors.from(raised)) or nil
end

--- Repeats calls that failed with a `retryable` error: queries, and mutations whose spec has `_meta.idempotent = true`;
--- other calls only when `mayHaveRun` is false. Obeys `retryAfter`; what a `breaker` refuses is not repeated. If a wait
--- would end after the deadline, it returns the error instead. Subscriptions and `pages` are not repeated, since events
--- may have been seen. All operations of the middleware share one budget.
---@param options? operations.RetryOptions
---@return operations.Middleware
function retry.new(options)
  local given = read(options)
  local savings = purse(given.budget)
  return layer.new(function(inner, spec)
    if spec.type == "subscription" then
      return nil
    end
    local meta = type(spec._meta) == "table" and spec._meta or {}
    local id, repeatable = layer.id(spec), spec.type == "query" or meta.idempotent == true
    return function(input, context)
      earn(savings)
      local tries = 1
      local value, err = inner(input, context)
      while err and tries < given.attempts and is_safe(err, repeatable, context) do
        local ms = delay_of(given, tries, err)
        if not ms or not has_time(ms) or not pay(savings) then
          break
        end
        local interruption = pause(ms)
        if interruption then
          return nil, interruption
        end
        tries = tries + 1
        layer.note(context, id, "retry")
        value, err = inner(input, context)
      end
      return value, err
    end
  end)
end

return retry
