--- 10,000 calls over HTTP to a server that is well, fails, stalls and recovers, through a limit, retry and a breaker:
--- what reached it and what callers were told is what a model computes. The clock of the middleware moves 10 ms with
--- each call, so that the counts do not depend on the machine.
local hosts = require("operations.hosts")
local operations = require("operations")

local middleware = operations.middleware

local CALLS, STEP = 10000, 10 -- ms
local RATE, FAILURES, OF, PAUSE = 80, 5, 10, 1000

-- What the server does at a time since the beginning.
local function phase_at(ms)
  return ms < 25000 and "well" or ms < 50000 and "failing" or ms < 75000 and "stalling" or "recovered"
end

local function is_well(phase)
  return phase == "well" or phase == "recovered"
end

-- A bucket of RATE calls, refilled by RATE a second: in hundredths of a call, as a step brings 0.8.
local function model_limit()
  local left = RATE * 100
  return function()
    left = math.min(RATE * 100, left)
    local passes = left >= 100
    left = left - (passes and 100 or 0) + RATE * STEP / 10
    return passes
  end
end

-- What has to come out: requests by phase, answers by code.
local function model()
  local passes, requests, codes = model_limit(), {}, {}
  local last, opened, probing = {}, nil, false
  local function failed_of_last()
    local count = 0
    for i = math.max(1, #last - OF + 1), #last do
      count = count + (last[i] and 1 or 0)
    end
    return count
  end
  -- One attempt: "OK", "failed" or "refused".
  local function attempt(ms)
    if opened and ms < opened + PAUSE then
      return "refused"
    end
    probing = opened ~= nil
    local phase = phase_at(ms)
    requests[phase] = (requests[phase] or 0) + 1
    last[#last + 1] = not is_well(phase)
    if is_well(phase) then
      last, opened = probing and {} or last, nil
      return "OK"
    elseif probing or failed_of_last() >= FAILURES then
      last, opened = {}, ms
    end
    return "failed"
  end
  for i = 0, CALLS - 1 do
    local ms, code = i * STEP, "RATE_LIMITED"
    if passes() then
      local outcome = attempt(ms)
      outcome = outcome == "failed" and attempt(ms) or outcome
      code = outcome == "OK" and "OK" or outcome == "refused" and "UNAVAILABLE"
        or phase_at(ms) == "failing" and "HTTP_502" or "TIMEOUT"
    end
    codes[code] = (codes[code] or 0) + 1
  end
  return requests, codes
end

-- Its clock stands still but for `advance`; timers are the host's own.
local function standing_clock()
  local real = hosts.current()
  local now = real.now()
  hosts.use(setmetatable({ now = function() return now end }, { __index = real }))
  return { start = now, advance = function(ms) now = now + ms end, ms = function(self) return now - self.start end,
    stop = function() hosts.use(real) end }
end

local function serve(clock, requests)
  local registry = operations.registry({ log = function() end })
  assert(registry:register({ namespace = "fault", name = "get", type = "query", handler = function()
    local phase = phase_at(clock:ms())
    requests[phase] = (requests[phase] or 0) + 1
    if phase == "stalling" then
      operations.sleep(60)
    elseif phase == "failing" then
      return nil, operations.error("TRANSPORT_LOST", "what is behind is gone")
    end
    return "well"
  end }))
  local server = assert(operations.to_http(registry, { log = function() end, timeout = 600000 }))
  return server, assert(server:listen({ port = 0 }))
end

local function client(port)
  local registry = operations.registry({ log = function() end, middleware = {
    middleware.metrics(),
    middleware.rate_limit({ rate = RATE, per = 1000 }),
    middleware.retry({ attempts = 2, delay = 0, max_delay = 0, jitter = 0, budget = false }),
    middleware.breaker({ failures = FAILURES, of = OF, pause = PAUSE }),
  } })
  assert(registry:register_all(assert(operations.from_openapi.document({ openapi = "3.1.0",
    info = { title = "fault", version = "1" }, paths = { ["/fault/get"] = { get = { operationId = "get",
      responses = { ["200"] = { description = "it is well" } } } } } },
    { base_url = "http://127.0.0.1:" .. port, timeout = 1000 }))))
  return registry
end

describe("10,000 calls to a server that fails, stalls and recovers", function()
  it("are limited, tried again and spared as computed", function()
    local requests, codes = {}, {}
    operations.run(function()
      local clock = standing_clock()
      local server, listener = serve(clock, requests)
      local registry = client(listener.port)
      for _ = 1, CALLS do
        local envelope, err = registry:execute("fault.get")
        local code = envelope and "OK" or err.code
        codes[code] = (codes[code] or 0) + 1
        clock.advance(STEP)
      end
      server:close()
      clock.stop()
    end)
    local expected, expected_codes = model()
    assert.same(expected, requests)
    assert.same(expected_codes, codes)
    -- Of each, what the arithmetic says without a model.
    assert.equal(CALLS - codes.RATE_LIMITED, RATE + math.floor((CALLS - 1) * STEP * RATE / 1000))
    assert.is_true(requests.failing <= FAILURES + 25 and requests.stalling <= FAILURES + 25)
    local text = {}
    for _, name in ipairs({ "OK", "RATE_LIMITED", "UNAVAILABLE", "HTTP_502", "TIMEOUT" }) do
      text[#text + 1] = ("%s %d"):format(name, codes[name] or 0)
    end
    print(("%s; requests: well %d, failing %d, stalling %d, recovered %d"):format(table.concat(text, ", "),
      requests.well, requests.failing, requests.stalling, requests.recovered))
  end)
end)
