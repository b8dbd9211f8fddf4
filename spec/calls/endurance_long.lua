--- `make test-transports`: what every transport is to stand, at length, with figures. Not one of the specs that
--- `make test` runs: their short form is endurance_spec.lua.
local connections = require("spec.calls.connections")
local endurance = require("spec.calls.endurance")
local json = require("operations.base.json")
local members = require("operations.base.members")
local network = require("spec.support.network")
local redis = require("spec.support.redis")

local SECONDS = 10

local server = redis.around(setup, teardown)

local function over_redis(mode)
  return function(...)
    return connections.redis(server.url, { mode = mode })(...)
  end
end

local transports = {
  { "in process", connections.in_process },
  { "between two registries", connections.pair },
  { "over WebSocket, from spoke to hub", connections.spoke_to_hub },
  { "over WebSocket, from hub to spoke", connections.hub_to_spoke },
  { "over Redis, fast", over_redis("fast") },
  { "over Redis, reliable", over_redis("reliable") },
}

local function say(name, text, ...)
  print(("\n%-34s " .. text):format(name, ...))
end

for _, transport in ipairs(transports) do
  local name, connect = transport[1], transport[2]

  describe(name, function()
    for _, n in ipairs({ 1000, 100000 }) do
      it(("%d quick events arrive in order, once, in flat memory"):format(n), function()
        local told = endurance.quick_events(connect, n)
        say(name, "%6d events in %5.2f s; heap grew by %.0f KiB, %d KiB resident", n, told.seconds, told.growth,
          told.resident)
      end)
    end

    it(("a consumer that stops for %d s delays nobody else"):format(SECONDS), function()
      local alone = endurance.others(connect, 2)
      local told = endurance.stopped_consumer(connect, SECONDS)
      say(name, "%.0f calls/s and %.0f events/s beside one that reads nothing; without it %.0f and %.0f",
        told.calls / SECONDS, told.events / SECONDS, alone.calls / 2, alone.events / 2)
    end)
  end)
end

-- Runs spec/calls/cut.lua where there is a network to cut.
local function cut(transport, mode)
  local result = network.run(('require("spec.calls.cut")(%q, %q, %d)'):format(transport, mode, SECONDS))
  assert.same({ "", 0 }, { result.err, result.code })
  local told = assert(json.decode(result.out))
  local failed = {}
  for _, code in ipairs(members.names(told.failed)) do
    failed[#failed + 1] = told.failed[code] .. " " .. code
  end
  say(transport .. " " .. mode, "cut for %d s: %s meanwhile; answered again after %.1f s; the stream: %s", SECONDS,
    table.concat(failed, ", "), told.healed / 1000, told.stream)
  return told
end

describe("a network that is cut for 10 s", function()
  local missing = network.missing()
  for _, way in ipairs({ { "websocket", "fast" }, { "redis", "fast" }, { "redis", "reliable" } }) do
    it(("keeps nobody waiting, and works again: %s, %s"):format(way[1], way[2]), function()
      if missing then
        return pending(missing)
      end
      cut(way[1], way[2])
    end)
  end
end)
