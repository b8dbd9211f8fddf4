--- Requests per second and CPU per request against nginx on loopback, at concurrency 1 and 64, beside a C program on
--- bare libcurl multi.
package.path = "./?.lua;" .. package.path
local core = require("operations.core")
local http = require("operations.http")
local task = require("operations.task")
local test_server = require("spec.support.server")

local SECONDS = 0.5 -- of one measurement
local REPETITIONS = 5
local NATIVE = os.tmpname()

assert(os.execute(("cc -O2 -std=c99 -D_GNU_SOURCE -o %s spec/bench/http_native.c -lcurl"):format(NATIVE)))

local function native(concurrency, url)
  local pipe = assert(io.popen(("%s %s %d %g"):format(NATIVE, url, concurrency, SECONDS)))
  local rate, cpu = pipe:read("*n", "*n")
  pipe:close()
  return rate, cpu
end

-- Requests from `concurrency` tasks for a while: requests per second and microseconds of CPU for each.
local function ours(concurrency, url)
  local count, start, cpu = 0, core.now(), os.clock()
  local stop = start + SECONDS * 1000
  task.run(function()
    for _ = 1, concurrency do
      task.spawn(function()
        repeat
          local response = assert(http.request({ url = url }))
          assert(response.status == 200 and #response.body == 46)
          count = count + 1
        until core.now() >= stop
      end)
    end
  end)
  return count / (core.now() - start) * 1000, (os.clock() - cpu) / count * 1e6
end

local function best(measure, concurrency, url)
  local rate, cpu = 0, math.huge
  for _ = 1, REPETITIONS do
    local r, c = measure(concurrency, url)
    rate, cpu = math.max(rate, r), math.min(cpu, c)
  end
  return rate, cpu
end

local server = test_server.start()
for _, concurrency in ipairs({ 1, 64 }) do
  local floor, floor_cpu = best(native, concurrency, server.url .. "/small")
  local rate, cpu = best(ours, concurrency, server.url .. "/small")
  local line = "GET, %2d at a time  %6.0f req/s %5.1f us CPU   libcurl multi in C %6.0f req/s %5.1f us CPU   ratio %.2f"
  print(line:format(concurrency, rate, cpu, floor, floor_cpu, rate / floor))
end
server:stop()
os.remove(NATIVE)
