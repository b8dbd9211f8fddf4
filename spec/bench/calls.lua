--- Calls between registries: in process, over WebSocket and over Redis, beside Node peers in the same run. One process
--- serves, one calls; ours and theirs take turns, the figures are medians of the rounds. In process by CPU time, over
--- a wire by the clock, 64 calls at a time and then, all programs on one core, one at a time.
local command = require("spec.support.command")
local operations = require("operations")
local redis = require("spec.support.redis")
local clock = require("system").monotime -- comes with busted

local SECONDS, ROUNDS, TOGETHER = 0.7, 5, 64
local runtime = rawget(_G, "jit") and "luajit" or "lua5.4"
local in_flight = tonumber(arg[1]) or TOGETHER -- with an argument: a run of its own, over the wires

local schema = { type = "object", properties = { x = { type = "integer" } } }

local function registry()
  local served = operations.registry()
  assert(served:register({ namespace = "a", name = "b", inputSchema = schema, outputSchema = schema,
    handler = function(input)
      return { x = input.x }
    end }))
  return served
end

-- Starts a program and waits until it says something.
local function start(...)
  local words = { ... }
  for i, argument in ipairs(words) do
    words[i] = tostring(argument)
  end
  words.env = command.environment()
  local started = assert(operations.process.spawn(words))
  return started, started:read_line() or error(words[2] .. " failed: " .. started:stderr())
end

---@class Round
---@field rate number  calls per second
---@field p50 number  ms
---@field p99 number  ms

-- Makes calls for a while, `in_flight` at a time.
---@return Round
local function calls(map)
  local times, count, started = {}, 0, clock()
  local function caller()
    local begun = clock()
    while begun < started + SECONDS do
      local envelope = assert(map:call("a.b", { x = count }))
      assert(envelope.data.x)
      count = count + 1
      local done = clock()
      times[count] = done - begun
      begun = done
    end
  end
  local callers = {}
  for i = 1, in_flight do
    callers[i] = caller
  end
  assert(operations.all(callers))
  local rate = count / (clock() - started)
  table.sort(times)
  return { rate = rate, p50 = times[math.ceil(count * 0.5)] * 1000, p99 = times[math.ceil(count * 0.99)] * 1000 }
end

-- Calls made one by one in this program, by its CPU time.
local function calls_here(map)
  local count, begun = 0, os.clock()
  repeat
    for i = 1, 1000 do
      map:call("a.b", { x = i })
    end
    count = count + 1000
  until os.clock() - begun > SECONDS
  return { rate = count / (os.clock() - begun), p50 = 0, p99 = 0 }
end

-- A program that makes calls for as long as it is told, whenever it is told.
local function peer(...)
  local node = start("node", "spec/bench/calls_peer.mjs", ...)
  return function()
    assert(node:write(SECONDS .. "\n"))
    local line = node:read_line() or error("the peer failed: " .. node:stderr())
    local rate, p50, p99 = line:match("^(%S+) (%S+) (%S+)$")
    return { rate = tonumber(rate), p50 = tonumber(p50), p99 = tonumber(p99) }
  end, function()
    node:stop()
  end
end

local function median(rounds, of)
  local values = {}
  for i, round in ipairs(rounds) do
    values[i] = round[of]
  end
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

local function told(rounds)
  local rate, p50, p99 = median(rounds, "rate"), median(rounds, "p50"), median(rounds, "p99")
  return ("%8.0f"):format(rate) .. (p50 > 0 and (" %6.2f %6.2f"):format(p50, p99) or (" "):rep(14))
end

-- Lets two take turns, after one round each to warm up.
local function compare(name, ours, theirs, peer_name)
  local our_rounds, their_rounds = {}, {}
  for i = 0, ROUNDS do
    our_rounds[i], their_rounds[i] = ours(), theirs()
  end
  print(("%-12s %s   %s  %-11s %5.2f"):format(name, told(our_rounds), told(their_rounds), peer_name,
    median(our_rounds, "rate") / median(their_rounds, "rate")))
end

local function in_process()
  local map = operations.call_map()
  operations.call_handler(registry(), map)
  for _, other in ipairs({ { "reference", "reference" }, { "events", "EventTarget" } }) do
    local theirs, stop = peer(other[1])
    compare("in process", function()
      return calls_here(map)
    end, theirs, other[2])
    stop()
  end
end

local function websocket()
  local hub, port = start(runtime, "spec/bench/calls_server.lua", "websocket")
  local map = operations.call_map(assert(operations.transports.websocket("ws://127.0.0.1:" .. port)))
  local theirs, stop = peer("ws", in_flight)
  compare("WebSocket", function()
    return calls(map)
  end, theirs, "ws")
  stop()
  map:close()
  hub:stop()
end

-- A mode of ours beside what does no more (Moleculer) or no less (BullMQ).
local function over_redis(mode, ...)
  local server = redis.start()
  local worker = start(runtime, "spec/bench/calls_server.lua", "redis", server.url, mode)
  local map = operations.call_map(assert(operations.transports.redis(server.url, { mode = mode })))
  for _, name in ipairs({ ... }) do
    local theirs, stop = peer(name:lower(), in_flight, server.url)
    compare(mode, function()
      return calls(map)
    end, theirs, name)
    stop()
  end
  map:close()
  worker:stop()
  server.stop()
end

operations.run(function()
  io.stdout:setvbuf("line")
  if not arg[1] then
    print("                 ours p50 ms p99 ms     theirs p50 ms p99 ms               ratio")
    in_process()
  end
  print(("%d at a time%s"):format(in_flight, arg[1] and ", pinned to one core" or ""))
  websocket()
  over_redis("fast", "Moleculer")
  over_redis("reliable", "Moleculer", "BullMQ")
end)
if not arg[1] then
  os.execute("taskset -c 0 " .. runtime .. " spec/bench/calls.lua 1")
end
