--- A caller that writes down what it asks for and what comes of it. Arguments: URL, mode, mode that it is judged as,
--- directory of the histories, name, seconds that it is to take, numbers of calls and of subscriptions, a seed.
local core = require("operations.core")
local history = require("spec.calls.chaos.history")
local operations = require("operations")
local random = require("spec.support.random")
local transports = require("spec.calls.chaos.transports")

local url, mode, claimed, directory, name = arg[1], arg[2], arg[3], arg[4], arg[5]
local seconds, calls, subscriptions = tonumber(arg[6]), tonumber(arg[7]), tonumber(arg[8])
random.seed(tonumber(arg[9]))

local CALL_LANES, STREAM_LANES = 32, 8
local TIMEOUT = mode == "fast" and 20000 or 60000 -- ms

local record = history.open(directory, name)
local map

local function failed(id, err)
  record("terminal", { id = id, outcome = "failed", code = err.code, message = err.message,
    mayHaveRun = err.mayHaveRun, retryable = err.retryable })
end

local function submit(id, kind, events)
  local deadline = core.now() + TIMEOUT
  -- Subscriptions have one mode.
  local expected = kind == "call" and claimed or "fast"
  record("submitted", { id = id, mode = expected, kind = kind, events = events, deadline = deadline })
  return { requestId = id, deadline = deadline }
end

local function wanted(input, options)
  return map:call("chaos.work", input, options)
end

-- A call that is called off after a moment, if it has not ended by then.
local function called_off(input, options)
  local call = operations.spawn(wanted, input, options)
  operations.sleep(random.upto(40) / 1000)
  record("aborted", { id = options.requestId })
  call:cancel()
  return call:wait()
end

local function call(i)
  local id = ("%s-call-%d"):format(name, i)
  local input = { pause = random.upto(60) / 1000, fails = random.chance(1) }
  local make = random.chance(1) and called_off or wanted
  local envelope, err = make(input, submit(id, "call"))
  if envelope then
    record("terminal", { id = id, outcome = "answered", run = envelope.data.run })
  else
    failed(id, err)
  end
end

local function listen(i)
  local id = ("%s-stream-%d"):format(name, i)
  local events = random.upto(400)
  local input = { events = events, pause = random.upto(40) / 1000 }
  local subscription, err = map:subscribe("chaos.count", input, submit(id, "subscription", events))
  local envelope, run
  if subscription then
    envelope, err = subscription:next()
  end
  while envelope do
    run = envelope.data.run
    record("event", { id = id, seq = envelope.data.seq, run = run })
    envelope, err = subscription:next()
  end
  if err then
    failed(id, err)
  else
    record("terminal", { id = id, outcome = "completed", run = run })
  end
  envelope, err = nil, nil
  if subscription then -- there is to be nothing more
    envelope, err = subscription:next()
  end
  if envelope then
    record("event", { id = id, seq = envelope.data.seq, run = envelope.data.run })
  elseif err then
    failed(id, err)
  end
end

-- Does a share of `n` things, spread over the time.
local function lane(number, lanes, n, fn)
  return function()
    local begun, share = core.now(), math.ceil(n / lanes)
    for i = number, n, lanes do
      local due = begun + (i - number) / lanes / share * seconds * 1000
      if due > core.now() then
        operations.sleep((due - core.now()) / 1000)
      end
      fn(i)
    end
    return true
  end
end

operations.run(function()
  local transport = assert(transports.connect(url, mode))
  transports.on_accepted(transport, function(id)
    record("accepted", { id = id })
  end)
  map = operations.call_map(transport, { log = function() end })
  io.stdout:write("ready\n")
  io.stdout:flush()
  local lanes = {}
  for i = 1, CALL_LANES do
    lanes[#lanes + 1] = lane(i, CALL_LANES, calls, call)
  end
  for i = 1, STREAM_LANES do
    lanes[#lanes + 1] = lane(i, STREAM_LANES, subscriptions, listen)
  end
  assert(operations.all(lanes))
  record("left", { pending = map:pending_count(), counted = map:counted() })
  map:close()
end)
