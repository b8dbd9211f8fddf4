--- Requests per second and CPU per request against nginx on loopback, at concurrency 1 and 64, beside a C program on
--- bare libcurl multi, Node's undici and fetch, and with 500 idle streams open, beside itself without them.
--- With the argument "streams": these alone.
package.path = "./?.lua;" .. package.path
local http = require("operations.net.http")
local measure = require("spec.bench.measure")
local test_server = require("spec.support.server")

local SECONDS = 0.5 -- of one measurement
local REPETITIONS = 5
local STREAMS, PAIRS, BURST = 500, 7, 2 -- idle ones; bursts with and without them, and the seconds of each
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

local function ours(concurrency, url, seconds)
  return measure.rate(concurrency, seconds or SECONDS, function()
    local response = assert(http.request({ url = url }))
    assert(response.status == 200 and #response.body == 46)
  end)
end

local function compare(server, concurrency)
  local found = measure.best(REPETITIONS, { ours, native, undici, fetch }, concurrency, server.url .. "/small")
  local names = { "operations", "libcurl multi in C", "Node undici", "Node fetch" }
  for i, result in ipairs(found) do
    local ratio = i > 1 and ("   ours %.2f times that"):format(found[1].rate / result.rate) or ""
    print(("GET, %2d at a time  %-19s %6.0f req/s %6.1f us CPU%s"):format(concurrency, names[i], result.rate,
      result.cpu, ratio))
  end
end

local function beside_streams(concurrency, url, seconds)
  local streams = {}
  for i = 1, STREAMS do
    streams[i] = assert(http.open({ url = url:gsub("/small$", "/slow?body=60") }))
  end
  ours(concurrency, url, SECONDS) -- not counted: until the server is done with the streams' coming
  local rate, cpu = ours(concurrency, url, seconds)
  for _, stream in ipairs(streams) do
    stream:close()
  end
  ours(concurrency, url, SECONDS) -- and their going
  return rate, cpu
end

-- What open streams on which nothing comes cost the requests beside them, and the server that keeps them: long bursts
-- with and without them take turns, each is compared with its neighbour.
local function with_idle_streams(server)
  local url, rates, cpus, rate_ratios, cpu_ratios = server.url .. "/small", {}, {}, {}, {}
  for i = 1, PAIRS do
    local alone, alone_cpu
    if i % 2 == 0 then
      alone, alone_cpu = ours(64, url, BURST)
    end
    rates[i], cpus[i] = beside_streams(64, url, BURST)
    if i % 2 == 1 then
      alone, alone_cpu = ours(64, url, BURST)
    end
    rate_ratios[i], cpu_ratios[i] = rates[i] / alone, cpus[i] / alone_cpu
  end
  print(("GET, 64 at a time, %d idle streams       %6.0f req/s %6.1f us CPU"):format(STREAMS, measure.median(rates),
    measure.median(cpus)))
  print(("  with them / without, medians of %d pairs of %g s: req/s %.2f (%.2f to %.2f), our CPU per request %.2f "
    .. "(%.2f to %.2f)"):format(PAIRS, BURST, measure.median(rate_ratios), rate_ratios[1], rate_ratios[PAIRS],
    measure.median(cpu_ratios), cpu_ratios[1], cpu_ratios[PAIRS]))
end

local server = test_server.start()
if arg[1] ~= "streams" then
  compare(server, 1)
  compare(server, 64)
end
with_idle_streams(server)
server:stop()
os.remove(NATIVE)
