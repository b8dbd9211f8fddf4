--- A circuit breaker: stops calls to a failing server, and detects when it has recovered.
local argument = require("operations.base.argument")
local keys = require("operations.middleware.key")
local layer = require("operations.middleware.layer")
local limits = require("operations.base.limits")
local lru = require("operations.base.lru")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")

local breaker = {}

---@class operations.BreakerOptions
---@field failures? integer  failures that open it, default 5
---@field of? integer  among this many last calls, default 10
---@field pause? number  ms that it stays open, default 10,000
---@field probes? integer  concurrent test calls after that, default 1; all must succeed. One that runs longer than
---  `pause` makes room for another; subscriptions do not take the place of a call
---@field counts? fun(err: operations.Error): boolean  is it a failure of the server?
---@field by? operations.KeyOption  calls that share a breaker, default "namespace"
---@field on_change? fun(state: "open"|"half-open"|"closed", key: string)
---@field max_keys? integer  breakers that are kept, default 10,000

local kinds = { failures = "number", of = "number", pause = "number", probes = "number", counts = "function",
  by = "string or table or function", on_change = "function", max_keys = "number" }
local defaults = { failures = 5, of = 10, pause = 10000, probes = 1, max_keys = limits.middleware_keys }

local counted = { TIMEOUT = true, UNAVAILABLE = true, TRANSPORT_LOST = true, WORKER_LOST = true,
  EXECUTION_ERROR = true, UNKNOWN_ERROR = true }

-- Errors caused by the server, not by the call or by load.
local function is_failure(err)
  return counted[err.code] or err.code:find("^HTTP_5") ~= nil
end

local function read(given)
  argument.optional(given, "table", 1, "breaker", 4)
  given = given or {}
  argument.options(given, kinds, "breaker", 4)
  local options = { counts = given.counts or is_failure, on_change = given.on_change }
  for name, default in pairs(defaults) do
    local value = given[name] or default
    local whole = name ~= "pause"
    if value < 1 or whole and value % 1 ~= 0 or value == math.huge or value ~= value then
      error(("bad option '%s' to 'breaker' (%s from 1 on expected, got %s)"):format(name, whole and "integer" or "ms",
        number_text.of(value)), 3)
    end
    options[name] = value
  end
  if options.failures > options.of then
    error("bad option 'failures' to 'breaker' (no more than 'of' expected)", 3)
  end
  return options
end

---@class operations.Breaker
---@field state "closed"|"open"|"half-open"
---@field outcomes table<integer, boolean>  of the last calls, a ring: did they fail?
---@field at integer  the newest
---@field failed integer  failures among them
---@field since number  ms since the epoch, when it opened
---@field probing table<"calls"|"streams", table<table, number>>  running probes: when each began
---@field passed integer  probes that succeeded
---@field call operations.BreakerCall  of the calls that began since the last change; earlier ones are ignored
---@field key string

---@class operations.BreakerCall  a call, or all calls of a closed breaker
---@field circuit operations.Breaker
---@field era integer

local function new_breaker(key)
  local circuit = { state = "closed", outcomes = {}, at = 0, failed = 0, since = 0,
    probing = { calls = {}, streams = {} }, passed = 0, key = key }
  circuit.call = { circuit = circuit, era = 0 }
  return circuit
end

local function change(circuit, state)
  circuit.state, circuit.call = state, { circuit = circuit, era = circuit.call.era + 1 }
  circuit.outcomes, circuit.at, circuit.failed, circuit.passed = {}, 0, 0, 0
  circuit.probing = { calls = {}, streams = {} }
  circuit.since = scheduler.now()
end

-- Records an outcome; true when there are now too many failures.
local function note(circuit, failed, options)
  local at = circuit.at % options.of + 1
  if circuit.outcomes[at] then
    circuit.failed = circuit.failed - 1
  end
  circuit.at, circuit.outcomes[at] = at, failed
  if failed then
    circuit.failed = circuit.failed + 1
  end
  return circuit.failed >= options.failures
end

local function refusal(id, circuit, options, left)
  return layer.refusal("UNAVAILABLE", ("%s: its server failed %d of %d calls and is not called"):format(id,
    options.failures, options.of), { breaker = circuit.state }, math.max(1, math.ceil(left)))
end

-- Running probes of a kind. One that has run for `pause` ms no longer counts: it may never end.
local function count_probes(probes, options)
  local count, oldest = 0, scheduler.now() - options.pause
  for _, began in pairs(probes) do
    count = began > oldest and count + 1 or count
  end
  return count
end

-- Does a breaker that is not closed let the call pass? Returns the refusal, or nil and the probe. A subscription may be
-- quiet for long, so it takes no call's place.
local function admit(circuit, id, options, kind)
  if circuit.state == "open" then
    local left = circuit.since + options.pause - scheduler.now()
    if left > 0 then
      return refusal(id, circuit, options, left)
    end
    change(circuit, "half-open")
  end
  local probes, probe = circuit.probing[kind], { circuit = circuit, era = circuit.call.era }
  if count_probes(probes, options) + circuit.passed >= options.probes then
    return refusal(id, circuit, options, 1000)
  end
  probes[probe] = scheduler.now()
  return nil, probe
end

-- Records how a call ended; "neither" means no verdict: it was cancelled.
local function settle(circuit, verdict, options, call)
  if circuit.state == "half-open" then
    circuit.probing.calls[call], circuit.probing.streams[call] = nil, nil
    if verdict == "succeeded" then
      circuit.passed = circuit.passed + 1
    end
    if verdict == "failed" or circuit.passed >= options.probes then
      change(circuit, verdict == "failed" and "open" or "closed")
    end
  elseif verdict ~= "neither" and note(circuit, verdict == "failed", options) then
    change(circuit, "open")
  end
end

local function verdict_of(err, options, context, id)
  if not err then
    return "succeeded"
  elseif err.code == "ABORTED" then
    return "neither"
  end
  return layer.tell(context, id, options.counts, err) and "failed" or "succeeded"
end

--- Opens when `failures` of the last `of` calls failed: calls are then refused with UNAVAILABLE and `retryAfter`. After
--- `pause` ms it is half open: `probes` calls pass; it closes when they succeed, and opens again when one fails.
--- Failures are TIMEOUT, UNAVAILABLE, TRANSPORT_LOST, WORKER_LOST, EXECUTION_ERROR, UNKNOWN_ERROR and HTTP_5xx, unless
--- `counts` says otherwise; cancelled calls do not count. A subscription has succeeded at its first `context.emit`, or
--- when it ends.
---@param options? operations.BreakerOptions
---@return operations.Middleware
function breaker.new(options)
  local given = read(options)
  local reader = keys.reader(options and options.by, { "namespace" }, "breaker")
  local circuits = lru.new(given.max_keys)
  local function circuit_of(key)
    local circuit = circuits:get(key)
    if not circuit then
      circuit = new_breaker(key)
      circuits:put(key, circuit)
    end
    return circuit
  end
  return layer.new(function(inner, spec)
    local key_of, id = reader(spec), layer.id(spec)
    local function tell(context, key, state)
      local metrics = layer.metrics(context)
      if metrics then
        metrics:_breaker(id, key, state)
      end
      if given.on_change then
        layer.tell(context, id, given.on_change, state, key)
      end
    end
    local kind = spec.type == "subscription" and "streams" or "calls"
    local followed = layer.followed(inner, function(err, context, call)
      local circuit = call.circuit
      local before = circuit.state
      if circuit.call.era == call.era then
        settle(circuit, verdict_of(err, given, context, id), given, call)
        if circuit.state ~= before then
          tell(context, circuit.key, circuit.state)
        end
      end
    end, true)
    return function(input, context)
      local circuit = circuit_of(key_of(context))
      local before, err, probe = circuit.state, nil, nil
      if before ~= "closed" then
        err, probe = admit(circuit, id, given, kind)
      end
      if circuit.state ~= before then
        tell(context, circuit.key, circuit.state)
      end
      if err then
        layer.note(context, id, "refused breaker")
        return nil, err
      end
      return followed(input, context, probe or circuit.call)
    end
  end, type(options and options.by) == "function")
end

return breaker
