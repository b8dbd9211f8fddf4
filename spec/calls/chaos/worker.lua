--- A worker that writes down what it does. Arguments: URL, mode, directory of the histories, name.
local core = require("operations.core")
local errors = require("operations.base.error")
local history = require("spec.calls.chaos.history")
local operations = require("operations")
local transports = require("spec.calls.chaos.transports")

local url, mode, directory, name = arg[1], arg[2], arg[3], arg[4]
local record = history.open(directory, name)
local runs = 0

-- Begins a run; what it returns ends it.
local function begin(context)
  runs = runs + 1
  local id, run = context.requestId, ("%s.%d"):format(name, runs)
  record("started", { id = id, run = run, attempt = context.attempt })
  return run, function(code)
    record("ended", { id = id, run = run, code = code })
  end
end

local function work(input, context)
  local run, finish = begin(context)
  local ok, raised = pcall(operations.sleep, input.pause)
  if ok and input.fails then
    ok, raised = false, errors.new("FULL", "as it was asked to")
  end
  finish(not ok and errors.from(raised).code or nil)
  if not ok then
    error(raised, 0)
  end
  return { run = run }
end

local function count(input, context)
  local run, finish = begin(context)
  local code = "ABORTED"
  context.defer(function()
    finish(code)
  end)
  for seq = 1, input.events do
    coroutine.yield({ run = run, seq = seq })
    if seq % 10 == 0 then
      operations.sleep(input.pause)
    end
  end
  code = nil
end

local registry = operations.registry({ log = function() end })
assert(registry:register_all({
  { namespace = "chaos", name = "work", type = "mutation", errorSchemas = { { code = "FULL" } }, handler = work },
  { namespace = "chaos", name = "count", type = "subscription", handler = count },
}))

operations.run(function()
  local transport
  local stop = core.now() + 30000
  while not transport and core.now() < stop do -- it may be Redis that is down
    transport = transports.connect(url, mode)
    if not transport then
      operations.sleep(0.05)
    end
  end
  operations.call_handler(registry, operations.call_map(assert(transport), { log = function() end }))
  io.stdout:write("ready\n")
  io.stdout:flush()
  operations.sleep(math.huge)
end)
