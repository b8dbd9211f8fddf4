--- One host's figures, as one line of numbers on standard output: microseconds of a request by itself, of one that the
--- server answers after 2 ms, requests per second at 64, then events per second of a stream of 100,000 beside 64 tasks
--- that send requests, and the worst gap of a 5 ms tick of the host's own loop meanwhile, in ms.
local core = require("operations.core")
local http = require("operations.net.http")
local operations = require("operations")
local ticker = require("spec.support.ticker")

local url = os.getenv("TASKS_URL")

local function get(path)
  return assert(http.request({ url = url .. path }))
end

local function micros(path, count)
  local start = core.now()
  for _ = 1, count do
    get(path)
  end
  return (core.now() - start) * 1000 / count
end

local function rate(count)
  local start = core.now()
  operations.run(function()
    for _ = 1, 64 do
      operations.spawn(function()
        for _ = 1, count do
          get("/small")
        end
      end)
    end
  end)
  return 64 * count * 1000 / (core.now() - start)
end

local function stream(count)
  local seen, going = 0, true
  local parser = operations.sse_parser(function()
    seen = seen + 1
  end)
  operations.run(function()
    for _ = 1, 64 do
      operations.spawn(function()
        while going do
          get("/slow?head=0.01")
        end
      end)
    end
    local events = assert(http.open({ url = url .. "/sse?count=" .. count }))
    for chunk in function() return events:read() end do
      parser:feed(chunk)
    end
    going = false
  end)
  assert(seen == count)
end

micros("/small", 200)
local one, slow = micros("/small", 3000), micros("/slow?head=0.002", 300)
local many = math.max(rate(200), rate(200), rate(200))
local last, worst, start = core.now(), 0, core.now()
local stop = ticker.start(function()
  local now = core.now()
  worst, last = math.max(worst, now - last), now
end)
stream(100000)
stop()
io.write(("%.0f %.0f %.0f %.0f %.0f\n"):format(one, slow, many, 1e8 / (core.now() - start), worst))
io.stdout:flush()
