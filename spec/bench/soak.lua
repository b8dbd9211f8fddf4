--- 100,000 requests one after the other, 10,000 from 64 tasks, 1,000 called off, 1,000 streams left: what stays behind.
package.path = "./?.lua;" .. package.path
local soak = require("spec.support.soak")
local test_server = require("spec.support.server")

local server = test_server.start()
local rounds = { { "sequential", 100000 }, { "concurrent", 10000 }, { "cancelled", 1000 }, { "streams", 1000 } }
for _, round in ipairs(rounds) do -- until caches and pools have their size
  soak[round[1]](server.url, 200)
end
local before = soak.measure()
local line = "%-10s %6d   descriptors %3d -> %3d   resident %6d -> %6d KiB   Lua %6.0f -> %6.0f KiB   "
  .. "references %d -> %d"
local POOL = 64 -- connections that wait to be used again after as many tasks
local POOLED = 4 -- KiB of Lua of such a connection, at most
local clean, after = true, nil
for _, round in ipairs(rounds) do
  soak[round[1]](server.url, round[2])
  after = soak.measure()
  print(line:format(round[1], round[2], before.descriptors, after.descriptors, before.resident, after.resident,
    before.lua, after.lua, before.references, after.references))
  clean = clean and after.descriptors <= before.descriptors + POOL and after.inflight == before.inflight
    and after.lua < before.lua + 64 + POOLED * math.max(after.descriptors - before.descriptors, 0)
    and after.references <= before.references
    and after.resident < before.resident + 4096
end
server:stop()
assert(clean and after.descriptors <= before.descriptors + 1, "something stayed behind")
