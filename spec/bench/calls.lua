--- Calls between registries: in process, over WebSocket and over Redis, calls per second beside Node peers in the same
--- run. One process serves, one calls; 64 calls in flight where a wire is between them.
local operations = require("operations")
local redis = require("spec.support.redis")

local SECONDS, IN_FLIGHT = 2, 64
local runtime = rawget(_G, "jit") and "luajit" or "lua5.4"
local now = require("operations.core").now

local schema = { type = "object", properties = { x = { type = "integer" } } }

local function registry()
  local served = operations.registry()
  assert(served:register({ namespace = "a", name = "b", inputSchema = schema, outputSchema = schema,
    handler = function(input)
      return { x = input.x }
    end }))
  return served
end

local function env()
  local list = {}
  for _, name in ipairs({ "LUA_PATH", "LUA_CPATH", "NODE_PATH" }) do
    list[name] = os.getenv(name)
  end
  return list
end

local function start(...)
  local command = { ... }
  for i, argument in ipairs(command) do
    command[i] = tostring(argument)
  end
  command.env = env()
  return assert(operations.process.spawn(command))
end

-- Calls per second of `map`, so many at a time.
local function rate(map, in_flight)
  local count, stop = 0, nil
  local function caller()
    while now() < stop do
      local envelope = assert(map:call("a.b", { x = count }))
      assert(envelope.data.x)
      count = count + 1
    end
  end
  local function run()
    local callers = {}
    count, stop = 0, now() + SECONDS * 1000
    for i = 1, in_flight do
      callers[i] = caller
    end
    local begun = now()
    assert(operations.all(callers))
    return count / (now() - begun) * 1000
  end
  run()
  return run()
end

local function peer(...)
  local node = start("node", "spec/bench/calls_peer.mjs", ...)
  local line = node:read_line()
  node:wait()
  return tonumber(line) or error("the peer failed: " .. node:stderr())
end

local function row(name, ours, theirs, peer_name)
  print(("%-28s %9.0f calls/s   %9.0f %-18s %5.2f"):format(name, ours, theirs, peer_name, ours / theirs))
end

local function in_process()
  local map = operations.call_map()
  operations.call_handler(registry(), map)
  local function sequential()
    local n, begun = 300000, os.clock()
    for i = 1, n do
      map:call("a.b", { x = i })
    end
    return n / (os.clock() - begun)
  end
  sequential()
  row("in process, one by one", sequential(), peer("process"), "Node EventTarget")
end

local function websocket()
  local hub = start(runtime, "spec/bench/calls_server.lua", "websocket")
  local map = operations.call_map(assert(operations.transports.websocket("ws://127.0.0.1:" .. hub:read_line())))
  row("WebSocket, 64 in flight", rate(map, IN_FLIGHT), peer("ws", IN_FLIGHT), "Node ws")
  map:close()
  hub:stop()
end

local function over_redis()
  local server = redis.start()
  local worker = start(runtime, "spec/bench/calls_server.lua", "redis", server.url)
  worker:read_line()
  local map = operations.call_map(assert(operations.transports.redis(server.url)))
  local ours = rate(map, IN_FLIGHT)
  map:close()
  worker:stop()
  row("Redis, 64 in flight", ours, peer("moleculer", IN_FLIGHT, server.url), "Moleculer")
  server.stop()
end

operations.run(function()
  in_process()
  websocket()
  over_redis()
end)
