local operations = require("operations")

local timeout = operations.middleware.timeout

return function(kit)
  local it, assert = kit.it, kit.assert

  local function sleeper(seconds)
    return function()
      operations.sleep(seconds)
      return "done"
    end
  end

  it("ends a call that takes longer, and no other", function()
    local start = kit.clock.now
    local _, err = kit.operation({ timeout(1000) }, sleeper(2))()
    assert.same({ "TIMEOUT", "spec.call: took longer than 1000 ms", true, true, { timeout = 1000 } },
      { err.code, err.message, err.retryable, err.mayHaveRun, err.details })
    assert.equal(1000, kit.clock.now - start)
    assert.equal("done", (kit.operation({ timeout(1000) }, sleeper(0.999))()))
  end)

  it("takes its deadline back when the call has ended", function()
    local call = kit.operation({ timeout(1000) }, sleeper(0.5))
    call()
    operations.sleep(10)
    assert.equal("done", (call()))
  end)

  it("leaves an earlier deadline as it is, whose error is the caller's", function()
    local call = kit.operation({ timeout(5000) }, sleeper(10))
    local _, err = call({}, { timeout = 1000 })
    assert.same({ "TIMEOUT", "the deadline passed" }, { err.code, err.message })
    assert.is_nil(err.retryable)
  end)

  it("passes the deadline to the handler, and to the calls of that", function()
    local now, seen = kit.clock.now, {}
    local _, registry = kit.operation({ operations.middleware.only({ namespace = "spec" }, { timeout(1000) }) },
      function(_, context)
        seen.own = context.deadline
        context.env.inner.look({})
      end)
    assert(registry:register({ namespace = "inner", name = "look", handler = function(_, context)
      seen.inner = context.deadline
    end }))
    registry:execute("spec.call", {})
    assert.same({ own = now + 1000, inner = now + 1000 }, seen)
    registry:execute("spec.call", {}, { deadline = now + 400 })
    assert.same({ own = now + 400, inner = now + 400 }, seen)
  end)

  it("keeps saying of a call that it surely did not run", function()
    local _, registry = kit.operation({ operations.middleware.only({ namespace = "spec" }, { timeout(1000) }),
      operations.middleware.concurrency({ limit = 1, by = "address" }) }, function() end)
    assert(registry:register({ namespace = "other", name = "slow", handler = sleeper(3) }))
    local results = kit.side_by_side(2, function(i)
      return registry:execute(i == 1 and "other.slow" or "spec.call")
    end)
    assert.same({ "TIMEOUT", "spec.call: took longer than 1000 ms", false },
      { results[2].code, results[2].err.message, results[2].err.mayHaveRun })
  end)

  it("bounds each attempt inside of retry, all of them outside", function()
    local tries = 0
    local function slow()
      tries = tries + 1
      operations.sleep(10)
    end
    local retry = operations.middleware.retry({ attempts = 3, delay = 0 })
    kit.operation({ retry, timeout(1000) }, slow)()
    assert.equal(3, tries)
    tries = 0
    kit.operation({ timeout(1000), retry }, slow)()
    assert.equal(1, tries)
  end)

  it("leaves subscriptions alone", function()
    local _, registry = kit.operation({ timeout(10) }, { type = "subscription", handler = function(_, context)
      operations.sleep(60)
      context.emit("late")
    end })
    assert.equal("late", assert(registry:subscribe("spec.call")):next().data)
  end)

  it("refuses anything but a time", function()
    for text, value in pairs({ ["0.5"] = 0.5, inf = math.huge, ["nil"] = false }) do
      assert.has_error(function() timeout(value or nil) end,
        ("bad argument #1 to 'timeout' (ms from 1 on expected, got %s)"):format(text))
    end
    assert.has_no_error(function() timeout(1) end)
  end)
end
