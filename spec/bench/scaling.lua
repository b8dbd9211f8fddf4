--- What more processes, cores and Redis servers give to calls over Redis, beside what a model says of it: the CPU time
--- of a call, measured on one core, divided among the cores that there are; and the bytes of a waiting call in Redis,
--- as a line through two lengths of input. doc/scaling.md explains both.
local command = require("spec.support.command")
local operations = require("operations")
local redis = require("spec.support.redis")
local clock = require("system").monotime -- comes with busted

local SECONDS, ROUNDS, IN_FLIGHT, WAITING = 2, 3, 64, 2000
local runtime = rawget(_G, "jit") and "luajit" or "lua5.4"

-- Calls of this program for so many seconds; how many.
local function calls(map, seconds)
  local count, stop = 0, clock() + seconds
  local callers = {}
  for i = 1, IN_FLIGHT do
    callers[i] = function()
      while clock() < stop do
        assert(map:call("a.b", { x = count }))
        count = count + 1
      end
    end
  end
  assert(operations.all(callers))
  return count
end

local function connect(url, mode)
  return operations.call_map(assert(operations.transports.redis(url, { mode = mode })))
end

-- A program that makes calls when it is told to.
local function be_caller(url, mode)
  local map = connect(url, mode)
  calls(map, 0.5)
  io.stdout:write("ready\n")
  io.stdout:flush()
  io.read("*l")
  io.stdout:write(calls(map, SECONDS), "\n")
  io.stdout:flush()
  io.read("*l") -- its CPU time is read
end

local function start(...)
  local started = assert(operations.process.spawn({ runtime, env = command.environment(), ... }))
  assert(started:read_line() == "ready", started:stderr())
  return started
end

local function first_line(words)
  local pipe = assert(io.popen(words))
  local line = pipe:read("*l")
  pipe:close()
  return line
end

local function told_by_redis(server, section, name)
  return tonumber(first_line(("redis-cli -p %d info %s | sed -n 's/^%s:\\([0-9]*\\).*/\\1/p'"):format(server.port,
    section, name)))
end

-- Seconds of CPU that a process has taken: fields 14 and 15 of proc(5)'s stat, in hundredths.
local function cpu(pid)
  local file = assert(io.open(("/proc/%d/stat"):format(pid)))
  local fields = {}
  for field in file:read("*l"):match("^.*%) (.*)$"):gmatch("%S+") do
    fields[#fields + 1] = field
  end
  file:close()
  return (tonumber(fields[12]) + tonumber(fields[13])) / 100
end

local function total(pids)
  local sum = 0
  for _, pid in ipairs(pids) do
    sum = sum + cpu(pid)
  end
  return sum
end

-- What is started from here on runs on these cores.
local function use_cores(list)
  local pid = first_line("exec sh -c 'echo $PPID'")
  assert(os.execute(("taskset -pc %s %s >/dev/null"):format(list, pid)))
end

local parts = { "caller", "worker", "redis" }

-- Rate of some systems, each of one Redis and some callers and workers; the CPU time of a call in each part.
---@return { rate: number, caller: number, worker: number, redis: number }  calls/s; microseconds
local function measure(mode, systems, pairs_each)
  local servers, processes, pids = {}, { caller = {}, worker = {} }, { caller = {}, worker = {}, redis = {} }
  for i = 1, systems do
    local server = redis.start()
    servers[i] = server
    pids.redis[i] = told_by_redis(server, "server", "process_id")
    for _ = 1, pairs_each do
      local n = #processes.worker + 1
      processes.worker[n] = start("spec/bench/calls_server.lua", "redis", server.url, mode)
      processes.caller[n] = start("spec/bench/scaling.lua", "caller", server.url, mode)
      pids.worker[n], pids.caller[n] = processes.worker[n].pid, processes.caller[n].pid
    end
  end
  local before, count = {}, 0
  for _, part in ipairs(parts) do
    before[part] = total(pids[part])
  end
  local begun = clock()
  for _, caller in ipairs(processes.caller) do
    assert(caller:write("go\n"))
  end
  for _, caller in ipairs(processes.caller) do
    count = count + tonumber(caller:read_line())
  end
  local told = { rate = count / (clock() - begun) }
  for _, part in ipairs(parts) do
    told[part] = (total(pids[part]) - before[part]) / count * 1e6
  end
  for _, part in ipairs({ "caller", "worker" }) do
    for _, process in ipairs(processes[part]) do
      process:stop()
    end
  end
  for _, server in ipairs(servers) do
    server.stop()
  end
  return told
end

-- What the costs of a call allow: no more than the cores, and no more than each part's own processes.
local function predicted(cost, cores, systems, pairs_each)
  local rate = cores * 1e6 / (cost.caller + cost.worker + cost.redis)
  rate = math.min(rate, systems * pairs_each * 1e6 / math.max(cost.caller, cost.worker))
  return math.min(rate, systems * 1e6 / cost.redis)
end

local function compare(text, measured, model)
  print(("%-44s %8.0f %8.0f %6.2f"):format(text, measured, model, measured / model))
end

-- The round with the median rate.
local function median(...)
  local rounds = {}
  for i = 1, ROUNDS do
    rounds[i] = measure(...)
  end
  table.sort(rounds, function(a, b)
    return a.rate < b.rate
  end)
  return rounds[math.ceil(ROUNDS / 2)]
end

local function rates(mode)
  use_cores("0")
  local cost = median(mode, 1, 1)
  print(("%s: %.0f calls/s on one core; a call takes %.0f us of the caller, %.0f of the worker, %.0f of Redis"):format(
    mode, cost.rate, cost.caller, cost.worker, cost.redis))
  use_cores("0,1")
  for _, row in ipairs({ { 1, 1, "1 Redis, 1 caller, 1 worker" }, { 1, 2, "1 Redis, 2 callers, 2 workers" },
    { 2, 1, "2 Redis, each with 1 caller, 1 worker" } }) do
    compare("  " .. row[3], median(mode, row[1], row[2]).rate, predicted(cost, 2, row[1], row[2]))
  end
end

-- Bytes of Redis's memory for each call that waits with an input of some length.
local function waiting(length)
  local server = redis.start()
  local worker = start("spec/bench/calls_server.lua", "redis", server.url, "reliable")
  local map = connect(server.url, "reliable")
  assert(map:call("a.b", { x = 1 })) -- from now on calls wait for a worker
  worker:stop()
  local before, after = told_by_redis(server, "memory", "used_memory"), 0
  local text = ("x"):rep(length)
  for i = 1, WAITING do
    operations.spawn(function()
      local _ = map:call("a.b", { x = i, text = text })
    end)
  end
  repeat
    local last = after
    operations.sleep(0.5)
    after = told_by_redis(server, "memory", "used_memory")
  until math.abs(after - last) < 0.01 * (after - before)
  map:close()
  server.stop()
  return (after - before) / WAITING
end

local function queue()
  local short, long = waiting(0), waiting(1000)
  print(("reliable: a waiting call takes %.0f bytes in Redis, and %.2f for each byte of input"):format(short,
    (long - short) / 1000))
  compare("  bytes, input of 500 bytes", waiting(500), short + (long - short) / 2)
end

operations.run(function()
  if arg[1] == "caller" then
    return be_caller(arg[2], arg[3])
  end
  print(("%-44s %8s %8s %6s"):format(runtime .. ", 64 calls at a time, 2 cores", "measured", "model", "ratio"))
  rates("fast")
  rates("reliable")
  queue()
end)
