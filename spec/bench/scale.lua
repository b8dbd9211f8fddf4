--- What one operation, task, subscription, timer or idle connection costs where there are 1,000, 10,000 or 100,000 of
--- them: nanoseconds of CPU for each step, and bytes for each that is there. Every line is a process of its own.
--- `scale.lua PATTERN` runs some kinds only, `scale.lua KIND N` makes one line.
--- Both ends of a connection are in this process: two descriptors each, so that `ulimit -n` says how many there can be.
local operations = require("operations")
local scheduler = require("operations.task.scheduler")
local streams = require("operations.net.stream")
local task = require("operations.task")

local SIZES = { 1000, 10000, 100000 }
local SPARE = 64 -- descriptors for everything else

local function resident()
  local file = io.open("/proc/self/status")
  local kilobytes = file and file:read("*a"):match("VmRSS:%s*(%d+)") or 0
  if file then
    file:close()
  end
  return tonumber(kilobytes) * 1024
end

-- Bytes of Lua, and of the whole process.
local function memory()
  for _ = 1, 3 do
    collectgarbage()
  end
  return collectgarbage("count") * 1024, resident()
end

-- Times steps and weighs what they leave; prints one line.
local Run = {}
Run.__index = Run

local function new_run(kind, n)
  local lua, whole = memory()
  return setmetatable({ kind = kind, n = n, lua = lua, whole = whole, steps = {} }, Run)
end

function Run:step(name, fn)
  local start = os.clock()
  fn()
  local each = (os.clock() - start) / self.n * 1e9
  self.steps[#self.steps + 1] = ("%s %7.0f ns"):format(name, each)
end

function Run:weigh()
  local lua, whole = memory()
  self.bytes = ("%6.0f bytes of Lua, %6.0f in all"):format((lua - self.lua) / self.n, (whole - self.whole) / self.n)
end

function Run:print()
  print(("%-13s %7d   %s   %s"):format(self.kind, self.n, self.bytes, table.concat(self.steps, "  ")))
end

local kinds = {}

function kinds.operation(run)
  local registry, schema = operations.registry(), { type = "object", properties = { n = { type = "integer" } } }
  local handler = function(input)
    return input
  end
  run:step("register", function()
    for i = 1, run.n do
      assert(registry:register({
        namespace = "scale", name = "o" .. i, inputSchema = schema, outputSchema = schema, handler = handler,
      }))
    end
  end)
  run:weigh()
  run:step("call", function()
    for i = 1, run.n do
      assert(registry:execute("scale.o" .. i, { n = i }))
    end
  end)
  run:step("list", function()
    assert(#registry:specs({ schemas = false }) == run.n)
  end)
  run:step("unregister", function()
    for i = 1, run.n do
      assert(registry:unregister("scale.o" .. i))
    end
  end)
  assert(#registry:list() == 0)
end

function kinds.task(run)
  local wakes = {}
  task.run(function()
    run:step("start", function()
      for i = 1, run.n do
        task.spawn(function()
          scheduler.await(function(wake)
            wakes[i] = wake
          end)
        end)
      end
      task.sleep(0)
    end)
    assert(#wakes == run.n)
    run:weigh()
    run:step("end", function()
      for i = 1, run.n do
        wakes[i]()
      end
      task.sleep(0)
    end)
  end)
end

function kinds.subscription(run)
  local registry, list = operations.registry(), {}
  assert(registry:register({
    namespace = "scale", name = "watch", type = "subscription", handler = function()
      while true do
        coroutine.yield(1)
      end
    end,
  }))
  run:step("subscribe", function()
    for i = 1, run.n do
      list[i] = assert(registry:subscribe("scale.watch"))
    end
  end)
  run:step("event", function()
    for i = 1, run.n do
      assert(list[i]:next())
    end
  end)
  run:weigh()
  run:step("close", function()
    for i = 1, run.n do
      list[i]:close()
    end
  end)
end

function kinds.timer(run)
  local stops, host = {}, scheduler.host()
  run:step("start", function()
    for i = 1, run.n do
      stops[i] = host.timer(1e6 + i % 1000, function() end)
    end
  end)
  run:weigh()
  run:step("stop", function()
    for i = 1, run.n do
      stops[i]()
    end
  end)
end

function kinds.connection(run)
  local accepted, made = {}, {}
  task.run(function()
    local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
      accepted[#accepted + 1] = stream
    end))
    run:step("connect", function()
      for i = 1, run.n do
        made[i] = assert(streams.connect("127.0.0.1", listener.port))
      end
      while #accepted < run.n do
        task.sleep(0.001)
      end
    end)
    run:weigh()
    run:step("close", function()
      for i = 1, run.n do
        made[i]:close()
        accepted[i]:close()
      end
    end)
    listener:close()
  end)
end

-- How many connections there can be, both ends here.
local function most_connections()
  local pipe = io.popen("ulimit -n")
  local limit = tonumber(pipe:read("*l")) or math.huge
  pipe:close()
  return math.floor((limit - SPARE) / 2)
end

local only, count = ...
if count then
  local run = new_run(only, tonumber(count))
  kinds[only](run)
  run:print()
  return
end
for _, kind in ipairs({ "operation", "task", "subscription", "timer", "connection" }) do
  local most = kind == "connection" and most_connections() or math.huge
  for i, size in ipairs(SIZES) do
    if kind:find(only or "") and (i == 1 or SIZES[i - 1] < most) then
      io.stdout:flush()
      os.execute(("%s %s %s %d"):format(arg[-1], arg[0], kind, math.min(size, most)))
      if size > most then
        print(("%-13s %7d   cannot be had: ulimit -n allows %d"):format(kind, size, most))
      end
    end
  end
end
