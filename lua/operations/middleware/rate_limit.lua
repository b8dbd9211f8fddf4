--- Limits the rate of calls of each caller.
local argument = require("operations.base.argument")
local buckets = require("operations.middleware.buckets")
local dictionary = require("operations.task.dictionary")
local keys = require("operations.middleware.key")
local layer = require("operations.middleware.layer")
local limits = require("operations.base.limits")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")

local rate_limit = {}

---@class operations.RateLimitOptions
---@field rate number  calls
---@field per? number  ms, default 1,000
---@field burst? integer  calls that may come at once, default `rate`
---@field by? operations.KeyOption  calls that share a bucket, default { "identity", "operation" }; a caller without an
---  identity is identified by its address
---@field name? string  of the policy, in refusals; default "default"
---@field store? operations.Buckets|table|string  where the buckets are stored: a shared dictionary of nginx or its
---  name, for all its workers; or `operations.middleware.redis(url)`, for all processes; default: this process
---@field wait? number  ms that a call waits for its turn at most, instead of being refused at once; `math.huge`: until
---  its deadline. Then every request of an imported operation counts: its retries and further pages, too
---@field max_keys? integer  buckets in this process, default 10,000; the least recently used ones are dropped

--- A store of buckets. A bucket is the time at which it will be full again (GCRA).
---@class operations.Buckets
---@field take fun(self, key: string, interval: number, burst: integer): boolean, number, number  takes a call out:
---  was there one; ms until there is one, else until the bucket is full; calls that are left. `interval` is ms a call

local kinds = { rate = "number", per = "number", burst = "number", by = "string or table or function", name = "string",
  store = "string or table or userdata", max_keys = "number", wait = "number" }

local function expect(value, least, name, what)
  if type(value) ~= "number" or not (value >= least and value < math.huge) then
    error(("bad option '%s' to 'rate_limit' (%s expected, got %s)"):format(name, what, number_text.of(value)), 4)
  end
  return value
end

local function store_of(given)
  local store = dictionary.of(given.store, "store", "rate_limit", 4)
  if not store then
    return buckets.new(given.max_keys or limits.middleware_keys)
  elseif type(store.take) == "function" then
    return store
  elseif type(store.incr) == "function" then
    return buckets.shared(store)
  end
  error("bad option 'store' to 'rate_limit' (a shared dictionary of nginx or middleware.redis(url) expected)", 4)
end

local function read(given)
  argument.expect(given, "table", 1, "rate_limit", 4)
  argument.options(given, kinds, "rate_limit", 4)
  local rate = expect(given.rate, 0.001, "rate", "calls above 0")
  local per = expect(given.per or 1000, 1, "per", "ms from 1 on")
  local burst = expect(given.burst or math.max(1, math.floor(rate)), 1, "burst", "calls from 1 on")
  local wait = given.wait
  if wait ~= nil and wait ~= math.huge then
    expect(wait, 0, "wait", "ms from 0 on")
  end
  return { interval = per / rate, wait = wait, burst = math.floor(burst), store = store_of(given),
    name = given.name or "default",
    quota = { name = given.name or "default", quota = math.floor(burst), window = per * math.floor(burst) / rate } }
end

local function refuse(id, options, wait)
  local quota = options.quota
  return layer.refusal("RATE_LIMITED", ("%s: no more than %d calls in %s s"):format(id, quota.quota,
    number_text.fixed(quota.window / 1000, 3):gsub("%.?0+$", "")), { policy = quota.name, quota = quota.quota,
    window = quota.window, remaining = 0, reset = wait }, wait)
end

-- Waits before the next attempt to take a call out; returns the error that interrupted.
local function pause(ms)
  local host = scheduler.host()
  local raised = scheduler.try_await(function(wake)
    return host.timer(ms, wake)
  end)
  return raised ~= nil and layer.not_begun(raised) or nil
end

-- Takes a call out of its bucket, waiting for one as the options say; or returns the error.
local function take(options, key, id)
  local since = options.wait and scheduler.now()
  while true do
    local taken, wait = options.store:take(key, options.interval, options.burst)
    if taken then
      return nil
    end
    wait = math.ceil(wait)
    local ready = since and scheduler.now() + wait
    if not since or ready - since > options.wait
      or ready >= (scheduler.deadline_of(scheduler.here()) or math.huge) then
      return refuse(id, options, wait)
    end
    local interrupted = pause(wait)
    if interrupted then
      return interrupted
    end
  end
end

-- Calls the inner handler, whose requests after the first one wait for their turn.
local function paced(inner, input, context, again)
  local outer, is_first = rawget(context, "_pace"), true
  rawset(context, "_pace", function()
    local err
    if not is_first then
      err = again()
    end
    is_first = false
    return err or outer and outer() or nil
  end)
  local value, err = inner(input, context)
  rawset(context, "_pace", outer)
  return value, err
end

--- A token bucket for each key: `rate` calls per `per` ms, up to `burst` at once. A further call fails with
--- RATE_LIMITED (HTTP status 429 in `to_http`); `retryAfter` and `details.reset` are the ms until a call is available.
--- With `wait` it waits for its turn.
---@param options operations.RateLimitOptions
---@return operations.Middleware
function rate_limit.new(options)
  local given = read(options)
  local reader = keys.reader(options.by, { "identity", "operation" }, "rate_limit")
  return layer.new(function(inner, spec)
    local key_of, id = reader(spec), layer.id(spec)
    return function(input, context)
      local key = key_of(context)
      local err = take(given, key, id)
      if err then
        layer.note(context, id, "refused rate_limit")
        return nil, err
      elseif not given.wait then
        return inner(input, context)
      end
      return paced(inner, input, context, function()
        return take(given, key, id)
      end)
    end
  end, type(options.by) == "function" or options.store ~= nil)
end

return rate_limit
