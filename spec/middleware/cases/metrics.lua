local operations = require("operations")

local errors = require("operations.base.error")
local failures = require("operations.task.dictionary")
local log = require("operations.task.log")
local metrics = operations.middleware.metrics
local middleware = operations.middleware

return function(kit)
  local it, assert = kit.it, kit.assert

  it("writes counts and durations as Prometheus reads them", function()
    for store in pairs(failures.failures) do -- of specs before, in this process
      failures.failures[store] = nil
    end
    local kept = metrics({ buckets = { 0.1, 1 } })
    local call, registry = kit.operation({ kept }, function(input)
      operations.sleep(input.s)
      if input.code then
        return nil, operations.error(input.code, "x")
      end
    end)
    assert(registry:register({ namespace = "spec", name = "idle", handler = function() end }))
    for _, input in ipairs({ { s = 0.1 }, { s = 0.25 }, { s = 1 }, { s = 2, code = "GONE" } }) do
      call(input)
    end
    assert.equal([[
# HELP operations_calls_total Calls that ended, by operation and error code.
# TYPE operations_calls_total counter
operations_calls_total{operation="spec.call",code="GONE"} 1
operations_calls_total{operation="spec.call",code="OK"} 3
# HELP operations_call_duration_seconds Time from the start of a call to its end.
# TYPE operations_call_duration_seconds histogram
operations_call_duration_seconds_bucket{operation="spec.call",le="0.1"} 1
operations_call_duration_seconds_bucket{operation="spec.call",le="1"} 3
operations_call_duration_seconds_bucket{operation="spec.call",le="+Inf"} 4
operations_call_duration_seconds_sum{operation="spec.call"} 3.35
operations_call_duration_seconds_count{operation="spec.call"} 4
# HELP operations_calls_running Calls that are running in this process.
# TYPE operations_calls_running gauge
operations_calls_running{operation="spec.call"} 0
operations_calls_running{operation="spec.idle"} 0
]], kept:text())
  end)

  it("counts a call whose coroutine was dropped as ended", function()
    local kept = metrics()
    local call = kit.operation({ kept }, function()
      coroutine.yield()
    end)
    local dropped = coroutine.create(call)
    coroutine.resume(dropped)
    assert.matches('operations_calls_running{operation="spec.call"} 1\n', kept:text(), 1, true)
    dropped = nil -- luacheck: ignore 311
    for _ = 1, 5 do
      collectgarbage()
      operations.sleep(0.001)
    end
    assert.matches('operations_calls_running{operation="spec.call"} 0\n', kept:text(), 1, true)
    assert.matches('operations_calls_total{operation="spec.call",code="ABORTED"} 1\n', kept:text(), 1, true)
  end)

  it("counts running calls, subscriptions until they end", function()
    local kept = metrics()
    local _, registry = kit.operation({ kept }, { type = "subscription", handler = function(_, context)
      context.emit(1)
    end })
    local stream = assert(registry:subscribe("spec.call"))
    stream:next()
    assert.matches('operations_calls_running{operation="spec.call"} 1\n', kept:text(), 1, true)
    stream:close()
    assert.matches('operations_calls_running{operation="spec.call"} 0\n', kept:text(), 1, true)
    assert.matches('operations_calls_total{operation="spec.call",code="ABORTED"} 1\n', kept:text(), 1, true)
  end)

  it("tells failed exchanges with an upstream from failures of handlers", function()
    local kept = metrics()
    local call = kit.operation({ kept }, function(input)
      return nil, operations.error("EXECUTION_ERROR", "x", input.kind and { kind = input.kind } or nil)
    end)
    for _, kind in ipairs({ "connect", "connect", "truncated", "no kind of ours" }) do
      call({ kind = kind })
    end
    call({})
    local text = kept:text()
    assert.matches('{operation="spec.call",code="EXECUTION_ERROR"} 2\n', text, 1, true)
    assert.matches('{operation="spec.call",code="EXECUTION_ERROR",kind="connect"} 2\n', text, 1, true)
    assert.matches('{operation="spec.call",code="EXECUTION_ERROR",kind="truncated"} 1\n', text, 1, true)
  end)

  it("shows only the operations that are asked for", function()
    local kept = metrics()
    local call, registry = kit.operation({ kept }, kit.answers(1).handler)
    assert(registry:register({ namespace = "spec", name = "other", handler = function() end }))
    call()
    registry:execute("spec.other")
    local text = kept:text(function(id)
      return id == "spec.other"
    end)
    assert.is_nil(text:find("spec.call", 1, true))
    local _, count = text:gsub('operation="spec.other"', "")
    assert.equal(16, count)
  end)

  it("quotes the values of labels", function()
    local kept = metrics()
    kit.operation({ kept }, kit.answers(operations.error('a"b\\c\nd', "x")).handler)()
    assert.matches([[code="a\"b\\c\nd"} 1]], kept:text(), 1, true)
  end)

  it("tells so many codes apart", function()
    local kept = metrics({ max_series = 2 })
    local call = kit.operation({ kept }, function(input)
      return nil, operations.error("E" .. input.i, "x")
    end)
    for i = 1, 5 do
      call({ i = i })
    end
    call({ i = 1 })
    local _, lines = kept:text():gsub("operations_calls_total{", "")
    assert.equal(3, lines)
    assert.matches('code="E1"} 2\n', kept:text(), 1, true)
    assert.matches('code="other"} 3\n', kept:text(), 1, true)
  end)

  it("has buckets from 5 ms to 10 s", function()
    local kept = metrics()
    kit.operation({ kept }, kit.answers(1).handler)()
    local bounds = {}
    for bound in kept:text():gmatch('le="([^"]*)"} 1') do
      bounds[#bounds + 1] = bound
    end
    assert.equal("0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf", table.concat(bounds, " "))
  end)

  it("are for the holders of a token, unless they are public", function()
    assert.same({ false, false, true }, { metrics().public, metrics({ public = false }).public,
      metrics({ public = true }).public })
  end)

  it("refuses buckets that do not rise", function()
    for _, buckets in ipairs({ { 1, 1 }, { 0 }, { 2, 1 }, { "x" }, { math.huge } }) do
      assert.has_error(function() metrics({ buckets = buckets }) end,
        "bad option 'buckets' to 'metrics' (rising numbers above 0 expected)")
    end
    assert.has_error(function() metrics({ size = 1 }) end, "bad option 'size' to 'metrics' (unknown)")
  end)

  it("counts what the middleware inside does with calls", function()
    local kept = metrics()
    local lost = errors.new("TRANSPORT_LOST", "x")
    lost.retryable, lost.mayHaveRun = true, false
    local answers = kit.answers(lost, 1, 2, lost)
    local call = kit.operation({ kept, middleware.rate_limit({ rate = 4, per = 1000000 }),
      middleware.cache({ ttl = 1000 }), middleware.retry({ attempts = 2 }),
      middleware.breaker({ failures = 3, of = 3 }) }, answers.handler)
    for _, input in ipairs({ { 1 }, { 1 }, { 2 }, { 3 }, { 4 } }) do
      call(operations.array(input))
    end
    local text = kept:text()
    for _, line in ipairs({ 'operations_retries_total{operation="spec.call"} 2',
      'operations_cache_total{operation="spec.call",result="hit"} 1',
      'operations_cache_total{operation="spec.call",result="miss"} 3',
      'operations_refusals_total{operation="spec.call",reason="rate_limit"} 1' }) do
      assert.matches("\n" .. line .. "\n", text, 1, true)
    end
    assert.is_nil(text:find("operations_breaker", 1, true))
    local broken = kit.operation({ kept, middleware.breaker({ failures = 2, of = 2 }) }, kit.answers(lost).handler)
    for _ = 1, 3 do
      broken()
    end
    text = kept:text()
    for _, line in ipairs({ 'operations_breaker_changes_total{breaker="spec",state="open"} 1',
      'operations_breaker_state{breaker="spec",state="open"} 1',
      'operations_refusals_total{operation="spec.call",reason="breaker"} 1' }) do
      assert.matches("\n" .. line .. "\n", text, 1, true)
    end
    assert.is_nil(kept:text(function() return false end):find("spec", 1, true))
  end)

  it("counts calls that wait for a place, and those that get none", function()
    local kept = metrics()
    local call = kit.operation({ kept, middleware.concurrency({ limit = 1, queue = 1 }) }, function()
      operations.sleep(1)
    end)
    local function gauge()
      return kept:text():match('operations_calls_waiting{operation="spec.call"} (%S+)')
    end
    local tasks = {}
    for i = 1, 3 do
      tasks[i] = operations.spawn(function()
        call()
      end)
    end
    operations.sleep(0.5)
    assert.equal("1", gauge())
    for _, each in ipairs(tasks) do
      each:wait()
    end
    assert.equal("0", gauge())
    assert.matches('operations_refusals_total{operation="spec.call",reason="concurrency"} 1\n', kept:text(), 1, true)
  end)

  it("counts answers of a server by status, class and code", function()
    local kept = metrics({ max_series = 2 })
    kept:answered("http", 200)
    kept:answered("http", 200)
    kept:answered("mcp", 503, "BUSY")
    kept:answered("http", 404, "OPERATION_NOT_FOUND")
    local text = kept:text()
    for _, labels in ipairs({ 'part="http",status="200",class="2xx",code=""} 2',
      'part="http",status="404",class="4xx",code="other"} 1', 'part="mcp",status="503",class="5xx",code="BUSY"} 1' }) do
      assert.matches("operations_http_responses_total{" .. labels .. "\n", text, 1, true)
    end
  end)

  -- A dictionary of nginx with room for so many values.
  local function dictionary(room)
    local values, count = {}, 0
    local function store(_, key, value)
      if values[key] == nil then
        if count == room then
          return nil, "no memory"
        end
        count = count + 1
      end
      values[key] = value
      return true
    end
    return { get = function(_, key) return values[key] end, safe_set = store, safe_add = function(_, key, value)
      if values[key] ~= nil then
        return false, "exists"
      end
      return store(nil, key, value)
    end, incr = function(_, key, amount)
      if values[key] == nil then
        return nil, "not found"
      end
      values[key] = values[key] + amount
      return values[key]
    end }
  end

  it("adds up the figures of several workers in one dictionary", function()
    local shared, calls = dictionary(100), {}
    local first, second = metrics({ store = shared }), metrics({ store = shared })
    for i, kept in ipairs({ first, second }) do
      calls[i] = kit.operation({ kept }, kit.answers(1).handler)
      calls[i]()
    end
    calls[1]()
    assert.matches('operations_calls_total{operation="spec.call",code="OK"} 3\n', first:text(), 1, true)
    assert.equal(first:text(), second:text())
  end)

  it("counts and tells what a full dictionary does not count, once a minute", function()
    local write, messages = log.write, {}
    log.write = function(level, message) -- luacheck: ignore 122
      messages[#messages + 1] = level .. ": " .. message
    end
    local before = (failures.failures.figures or {}).refused or 0
    kit.clock.now = kit.clock.now + 120000
    local kept = metrics({ store = dictionary(3) })
    local call = kit.operation({ kept }, kit.answers(1).handler)
    call()
    call()
    log.write = write -- luacheck: ignore 122
    assert.same({ "warn: metrics: the shared dictionary does not count: no memory; give it one of its own, or a larger "
      .. "one" }, messages)
    local told = tonumber(kept:text():match('operations_store_failures_total{store="figures",reason="refused"} (%d+)'))
    assert.is_true(told - before >= 4)
  end)
end
