--- Requests per second and CPU per request against nginx on loopback, at concurrency 1 and 64, beside a C program on
--- bare libcurl multi, Node's undici and fetch, and with 500 idle streams open.
package.path = "./?.lua;" .. package.path
local core = require("operations.core")
local http = require("operations.http")
local task = require("operations.task")
local test_server = require("spec.support.server")

local SECONDS = 0.5 -- of one measurement
local REPETITIONS = 5
local NATIVE = os.tmpname()

assert(os.execute(("cc -O2 -std=c99 -D_GNU_SOURCE -o %s spec/bench/http_native.c -lcurl"):format(NATIVE)))

local function numbers(command, ...)
  local pipe = assert(io.popen(command:format(...)))
  local a, b = pipe:read("*n", "*n")
  pipe:close()
  return a, b
end

local function native(concurrency, url)
  return numbers("%s %s %d %g", NATIVE, url, concurrency, SECONDS)
end

local function undici(concurrency, url)
  return numbers("node spec/bench/http_peer.mjs undici %s %d %g", url, concurrency, SECONDS)
end

local function fetch(concurrency, url)
  return numbers("node spec/bench/http_peer.mjs fetch %s %d %g", url, concurrency, SECONDS)
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

-- The best of some runs, all peers taking turns.
local function best(measures, concurrency, url)
  local found = {}
  for _ = 1, REPETITIONS do
    for i, measure in ipairs(measures) do
      local rate, cpu = measure(concurrency, url)
      local result = found[i] or { rate = 0, cpu = math.huge }
      found[i] = { rate = math.max(rate, result.rate), cpu = math.min(cpu, result.cpu) }
    end
  end
  return found
end

local function compare(server, concurrency)
  local found = best({ ours, native, undici, fetch }, concurrency, server.url .. "/small")
  local names = { "operations", "libcurl multi in C", "Node undici", "Node fetch" }
  for i, result in ipairs(found) do
    local ratio = i > 1 and ("   ours %.2f times that"):format(found[1].rate / result.rate) or ""
    print(("GET, %2d at a time  %-19s %6.0f req/s %6.1f us CPU%s"):format(concurrency, names[i], result.rate,
      result.cpu, ratio))
  end
end

local function beside_streams(concurrency, url)
  local streams = {}
  for i = 1, 500 do
    streams[i] = assert(http.open({ url = url:gsub("/small$", "/slow?body=60") }))
  end
  local rate, cpu = ours(concurrency, url)
  for _, stream in ipairs(streams) do
    stream:close()
  end
  return rate, cpu
end

local function with_idle_streams(server)
  local found = best({ ours, beside_streams }, 64, server.url .. "/small")
  local alone, beside = found[1], found[2]
  print(("GET, 64 at a time, 500 idle streams       %6.0f req/s %6.1f us CPU   %.2f times without"):format(
    beside.rate, beside.cpu, beside.rate / alone.rate))
end

local server = test_server.start()
compare(server, 1)
compare(server, 64)
with_idle_streams(server)
server:stop()
os.remove(NATIVE)
