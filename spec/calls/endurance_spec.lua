local connections = require("spec.calls.connections")
local endurance = require("spec.calls.endurance")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local proxy = require("spec.support.proxy")
local redis = require("spec.support.redis")
local work = require("spec.support.work")

local server = redis.around(setup, teardown)

local function call_map(transport)
  return operations.call_map(assert(transport), { log = function() end })
end

local function over_redis(...)
  return connections.redis(server.url)(...)
end

local function over_reliable_redis(...)
  return connections.redis(server.url, { mode = "reliable" })(...)
end

local transports = {
  { "in process", connections.in_process },
  { "between two registries", connections.pair },
  { "over WebSocket, from spoke to hub", connections.spoke_to_hub },
  { "over WebSocket, from hub to spoke", connections.hub_to_spoke },
  { "over Redis", over_redis },
  { "over Redis, reliable", over_reliable_redis },
}

for _, transport in ipairs(transports) do
  local name, connect = transport[1], transport[2]

  describe(name, function()
    it("quick events take no more memory the more they are", function()
      endurance.quick_events(connect, 10000)
    end)

    it("a consumer that stops delays no other consumer, and misses nothing", function()
      endurance.stopped_consumer(connect, 0.1)
    end)
  end)
end

describe("a network that is cut", function()
  it("between a spoke and its hub keeps no caller waiting for ever", function()
    operations.run(function()
      local hub = assert(operations.transports.websocket_hub({ registry = work() }))
      local network = proxy.start(hub.port)
      local map = call_map(operations.transports.websocket("ws://127.0.0.1:" .. network.port))
      assert.equal("completed", endurance.cut(map, network, 0.5).stream)
      map:close()
      network:stop()
      hub:close()
    end)
  end)

  it("between a caller and Redis keeps no caller waiting for ever", function()
    operations.run(function()
      local network = proxy.start(server.port)
      local served = call_map(operations.transports.redis(server.url))
      local handler = operations.call_handler(work(), served)
      local map = call_map(operations.transports.redis("redis://127.0.0.1:" .. network.port))
      endurance.cut(map, network, 0.5)
      eventually(function()
        return handler.active == 0
      end)
      map:close()
      served:close()
      network:stop()
    end)
  end)
end)
