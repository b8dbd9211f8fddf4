local core = require("operations.core")
local failure = require("operations.net.http.failure")
local http = require("operations.net.http")
local raises = require("spec.support.raises")
local retry = require("operations.net.http.retry")
local task = require("operations.task")
local test_server = require("spec.support.server")

local request = { method = "GET", url = "http://x/" }

describe("a retry", function()
  local server, keys

  setup(function()
    server, keys = test_server.start(), 0
  end)

  teardown(function()
    server:stop()
  end)

  -- Asks a server that fails `fail` times; returns the answer and how often it was asked.
  local function flaky(query, options)
    keys = keys + 1
    local key = "flaky" .. keys
    options.url = ("%s/flaky?key=%s&%s"):format(server.url, key, query)
    local response, err = http.request(options)
    local count = tonumber(http.request({ url = server.url .. "/note/" .. key }).body)
    return response, count, err
  end

  local quick = { delay = 1 }

  it("is off unless asked for", function()
    local response, count = flaky("fail=1", {})
    assert.equal(503, response.status)
    assert.equal(1, count)
  end)

  it("repeats an idempotent request until it succeeds", function()
    local response, count = flaky("fail=2", { retry = quick })
    assert.equal("3", response.body)
    assert.equal(3, count)
  end)

  it("knows the methods that are idempotent, those of RFC 9110 and QUERY", function()
    for method, times in pairs({ GET = 2, OPTIONS = 2, PUT = 2, DELETE = 2, QUERY = 2, POST = 1, PATCH = 1, X = 1 }) do
      assert.equal(times, select(2, flaky("fail=1", { method = method, retry = quick })), method)
      assert.equal(2, select(2, flaky("fail=1", { method = method, retry = quick, idempotent = true })), method)
    end
  end)

  it("ends after three attempts, or as many as are asked for", function()
    local response, count = flaky("fail=9", { retry = quick })
    assert.equal(503, response.status)
    assert.equal(3, count)
    assert.equal(5, select(2, flaky("fail=9", { retry = { delay = 1, attempts = 5 } })))
  end)

  it("repeats a POST only when it did not run, or has an Idempotency-Key", function()
    assert.equal(1, select(2, flaky("fail=1", { method = "POST", body = "x", retry = quick })))
    assert.equal(1, select(2, flaky("fail=1&status=drop", { method = "POST", body = "x", retry = quick })))
    assert.equal(2, select(2, flaky("fail=1&status=429", { method = "POST", body = "x", retry = quick })))
    local headers = { ["idempotency-key"] = "1" }
    assert.equal(2, select(2, flaky("fail=1", { method = "POST", body = "x", retry = quick, headers = headers })))
  end)

  it("repeats no body that is gone, even when it did not run", function()
    local pieces = { "x" }
    local _, count = flaky("fail=1&status=429", { method = "POST", retry = quick, body = function()
      return table.remove(pieces)
    end })
    assert.equal(1, count)
  end)

  it("repeats a lost connection", function()
    local response, count = flaky("fail=1&status=drop", { retry = quick })
    assert.equal("2", response.body)
    assert.equal(2, count)
  end)

  it("repeats no other status", function()
    for _, status in ipairs({ 400, 404, 500, 501 }) do
      assert.equal(1, select(2, flaky("fail=1&status=" .. status, { retry = quick })))
    end
    assert.equal(2, select(2, flaky("fail=1&status=500", { retry = { delay = 1, statuses = { 500 } } })))
  end)

  it("waits as long as Retry-After says", function()
    local before = core.now()
    local response = flaky("fail=1&after=1", { retry = quick })
    assert.equal("2", response.body)
    assert.is_true(core.now() - before >= 1000)
  end)

  it("gives up where Retry-After is beyond the cap, the timeout or the deadline", function()
    assert.equal(1, select(2, flaky("fail=1&after=3600", { retry = true })))
    assert.equal(1, select(2, flaky("fail=1&after=5", { retry = true, timeout = 2000 })))
    task.run(function()
      task.deadline(core.now() + 2000)
      local response, count = flaky("fail=1&after=5", { retry = true })
      assert.equal(503, response.status)
      assert.equal(1, count)
    end)
  end)

  it("is ended by cancel while it waits", function()
    local err
    task.run(function()
      local child = task.spawn(function()
        local _
        _, err = http.request({ url = server.url .. "/flaky?key=cancelled&fail=1&after=20", retry = true })
      end)
      task.sleep(0.05)
      child:cancel()
      child:wait()
    end)
    assert.equal("ABORTED", err.code)
  end)

  it("refuses an invalid policy", function()
    for _, name in ipairs({ "request", "open" }) do
      local function with(policy)
        return function()
          local answer, err = http[name]({ url = server.url, retry = policy })
          return answer, err
        end
      end
      raises({ ["bad option 'retry' (true or table expected, got number)"] = with(5),
        ["bad option 'retry' (there is no 'tries')"] = with({ tries = 3 }),
        ["bad option 'retry' (attempts: a number from 1 to 100 expected)"] = with({ attempts = 0 }),
        ["bad option 'retry' (jitter: a number from 0 to 1 expected)"] = with({ jitter = 2 }),
        ["bad option 'retry' (delay: a number from 0 to inf expected)"] = with({ delay = -1 }) }, "retry_spec")
    end
  end)

  it("backs off by doubling, up to the cap, less a random part", function()
    local policy = retry.policy({ delay = 100, max_delay = 500, jitter = 0, attempts = 6 })
    local function delay(tries)
      return retry.delay(policy, tries, request, nil, failure.new(request, "reset", "lost"))
    end
    assert.same({ 100, 200, 400, 500, 500 }, { delay(1), delay(2), delay(3), delay(4), delay(5) })
    policy.jitter = 0.5
    for _ = 1, 100 do
      assert.is_true(delay(1) > 49 and delay(1) <= 100)
    end
  end)
end)

describe("another try", function()
  local policy = retry.policy(true)

  local function after(status, headers, given)
    return retry.delay(policy, 1, given or request, { status = status, headers = headers or {} })
  end

  local function after_failure(kind, phase, given)
    return retry.delay(policy, 1, given or request, nil, failure.new(request, kind, "no", phase))
  end

  it("may help after temporary failures", function()
    for _, status in ipairs({ 408, 425, 429, 502, 503, 504 }) do
      assert.is_number(after(status))
    end
    for _, kind in ipairs({ "dns", "connect", "reset", "truncated", "timeout" }) do
      assert.is_number(after_failure(kind))
    end
  end)

  it("cannot help after anything else", function()
    for _, status in ipairs({ 200, 304, 400, 401, 404, 409, 421, 500, 501, 505 }) do
      assert.is_nil(after(status))
    end
    for _, kind in ipairs({ "tls", "size", "encoding", "protocol", "redirect", "request", "body", "aborted" }) do
      assert.is_nil(after_failure(kind))
    end
    assert.is_nil(after_failure("timeout", "deadline"))
    assert.is_nil(retry.delay(policy, 1, request, nil, {}))
  end)

  it("of a request that must not run twice is made when it did not run, and its body can be read again", function()
    local once, gone = { once = true }, { once = true, upload = true }
    for _, status in ipairs({ 408, 425, 429 }) do
      assert.is_number(after(status, nil, once))
      assert.is_nil(after(status, nil, gone))
    end
    for _, status in ipairs({ 502, 503, 504 }) do
      assert.is_nil(after(status, nil, once))
    end
    for _, case in ipairs({ { "dns" }, { "connect" }, { "timeout", "connect" } }) do
      assert.is_number(after_failure(case[1], case[2], once))
      assert.is_nil(after_failure(case[1], case[2], gone))
    end
    for _, case in ipairs({ { "reset" }, { "reset", "reused" }, { "truncated" }, { "timeout", "first_byte" } }) do
      assert.is_nil(after_failure(case[1], case[2], once))
    end
  end)

  it("asks the error's own fields and nothing else", function()
    assert.is_number(retry.delay(policy, 1, request, nil, { retryable = true }))
    assert.is_nil(retry.delay(policy, 1, request, nil, { details = { kind = "reset" } }))
    assert.is_nil(retry.delay(policy, 1, { once = true }, nil, { retryable = true, mayHaveRun = true }))
    local delay = retry.delay(policy, 1, request, nil, { retryable = true, retryAfter = 7000 })
    assert.is_true(delay >= 7000 and delay <= 7250)
  end)

  it("is as the policy says, at its bounds too", function()
    for _, given in ipairs({ { attempts = 1 }, { attempts = 100 }, { delay = 0 }, { jitter = 0 }, { jitter = 1 } }) do
      assert.is_table(retry.policy(given))
    end
    assert.is_nil(retry.policy(nil))
    assert.is_nil(retry.policy(false))
    local own = retry.policy({ statuses = { 418 } })
    assert.is_number(retry.delay(own, 2, request, { status = 418, headers = {} }))
    assert.is_nil(retry.delay(own, 3, request, { status = 418, headers = {} }))
    assert.is_nil(retry.delay(own, 1, request, { status = 503, headers = {} }))
  end)
end)
