local operations = require("operations")

local retry = operations.middleware.retry

return function(kit)
  local it, assert, failure = kit.it, kit.assert, kit.failure
  local exact = { jitter = 0 }

  local function gaps(times)
    local list = {}
    for i = 2, #times do
      list[i - 1] = times[i] - times[i - 1]
    end
    return list
  end

  it("tries three times, the pauses doubled", function()
    local answers = kit.answers(failure("X", true, true))
    local _, err = kit.operation({ retry(exact) }, answers.handler)()
    assert.equal("X", err.code)
    assert.same({ 100, 200 }, gaps(answers.times))
    answers = kit.answers(failure("X", true, true), 7)
    assert.equal(7, (kit.operation({ retry(exact) }, answers.handler)()))
    assert.equal(2, answers.calls)
  end)

  it("goes by `retryable` and `mayHaveRun` alone", function()
    local relay = require("operations.base.error").relay
    local function tries(kind, retryable, may_have_run, meta)
      local answers = kit.answers(failure("TIMEOUT", retryable, may_have_run))
      kit.operation({ retry({ attempts = 2, jitter = 0 }) }, { type = kind, handler = relay(answers.handler),
        _meta = meta })()
      return answers.calls
    end
    assert.equal(2, tries("query", true, true))
    assert.equal(2, tries("query", true, nil))
    assert.equal(2, tries("query", true, false))
    assert.equal(1, tries("query", nil, false))
    assert.equal(1, tries("query", false, false))
    assert.equal(1, tries("mutation", true, true))
    assert.equal(1, tries("mutation", true, nil))
    assert.equal(2, tries("mutation", true, false))
    assert.equal(2, tries("mutation", true, true, { idempotent = true }))
    assert.equal(1, tries("mutation", true, true, { idempotent = "yes" }))
  end)

  it("distinguishes a failure of a call inside a mutation's handler from one of the mutation", function()
    local answers = kit.answers(failure("BUSY", true, false))
    kit.operation({ retry(exact) }, { type = "mutation", handler = answers.handler })()
    assert.equal(1, answers.calls)
  end)

  it("obeys retryAfter, up to the longest pause", function()
    local answers = kit.answers(failure("X", true, true, 4000), 1)
    assert.equal(1, (kit.operation({ retry({ jitter = 0, max_delay = 4000 }) }, answers.handler)()))
    assert.same({ 4000 }, gaps(answers.times))
    answers = kit.answers(failure("X", true, true, 4001), 1)
    assert.is_nil((kit.operation({ retry({ jitter = 0, max_delay = 4000 }) }, answers.handler)()))
    assert.equal(1, answers.calls)
  end)

  it("returns what a breaker refuses at once, also where the breaker's pause is short", function()
    local breaker = operations.middleware.breaker({ failures = 1, of = 1, pause = 1000 })
    local answers = kit.answers(failure("UNAVAILABLE", true, false))
    local call = kit.operation({ retry({ attempts = 5, budget = false, jitter = 0 }), breaker }, answers.handler)
    for _, waited in ipairs({ 100, 0 }) do -- before the second attempt, which is refused; before none
      local start = kit.clock.now
      local _, err = call()
      assert.same({ "UNAVAILABLE", "open", 1, waited }, { err.code, err.details.breaker, answers.calls,
        kit.clock.now - start })
    end
  end)

  it("lets chance shorten its own pauses, and lengthen those that were asked for", function()
    for _ = 1, 20 do
      local answers = kit.answers(failure("X", true, true), failure("X", true, true, 1000), 1)
      kit.operation({ retry({ delay = 1000, jitter = 1 }) }, answers.handler)()
      local pauses = gaps(answers.times)
      assert.is_true(pauses[1] >= 0 and pauses[1] <= 1000, pauses[1])
      assert.is_true(pauses[2] >= 1000 and pauses[2] <= 2000, pauses[2])
    end
  end)

  it("does not begin a pause that the deadline ends", function()
    local answers = kit.answers(failure("X", true, true))
    local start = kit.clock.now
    local _, err = kit.operation({ retry({ jitter = 0, delay = 1000 }) }, answers.handler)({}, { timeout = 900 })
    assert.same({ "X", 1, 0 }, { err.code, answers.calls, kit.clock.now - start })
  end)

  it("ends when it is cancelled", function()
    local answers = kit.answers(failure("X", true, true))
    local call = kit.operation({ retry({ jitter = 0, delay = 5000 }) }, answers.handler)
    local result
    local running = operations.spawn(function()
      result = { call() }
    end)
    operations.sleep(1)
    running:cancel("enough")
    running:wait()
    assert.equal("ABORTED", result[2].code)
    assert.equal(1, answers.calls)
  end)

  it("spends no more than its budget, which calls fill", function()
    local answers = kit.answers(failure("X", true, true))
    local call = kit.operation({ retry({ attempts = 2, delay = 0, budget = { ratio = 0.25, burst = 2 } }) },
      answers.handler)
    local tried = {}
    for i = 1, 10 do
      local before = answers.calls
      call()
      tried[i] = answers.calls - before
    end
    -- 2 saved; each call adds 0.25 before it spends 1: 2 1.25 0.5 0.75 1 0.25 0.5 0.75 1 0.25
    assert.same({ 2, 2, 1, 1, 2, 1, 1, 1, 2, 1 }, tried)
  end)

  it("has a budget of ten and a fifth of the calls, or none", function()
    local function total(options)
      local answers = kit.answers(failure("X", true, true))
      local call = kit.operation({ retry(options) }, answers.handler)
      for _ = 1, 50 do
        call()
      end
      return answers.calls
    end
    assert.equal(50 + 10 + 9, total({ attempts = 2, delay = 0 }))
    assert.equal(100, total({ attempts = 2, delay = 0, budget = false }))
  end)

  it("does not begin pages, bodies in pieces and streams again", function()
    local function tries(method, options, context)
      local answers = kit.answers(failure("X", true, true))
      local _, registry = kit.operation({ retry({ delay = 0 }) }, { handler = answers.handler, type = options })
      local stream = registry[method](registry, "spec.call", {}, context)
      if method ~= "execute" then
        stream:next()
      end
      return answers.calls
    end
    assert.equal(3, tries("execute", "query"))
    assert.equal(1, tries("execute", "query", { sink = function() end }))
    assert.equal(1, tries("pages", "query"))
    assert.equal(1, tries("subscribe", "subscription"))
  end)

  it("refuses options that make no sense", function()
    assert.has_error(function() retry({ attempts = 0 }) end,
      "bad option 'attempts' to 'retry' (1 to 100 expected, got 0)")
    assert.has_error(function() retry({ jitter = 1.5 }) end,
      "bad option 'jitter' to 'retry' (0 to 1 expected, got 1.5)")
    assert.has_error(function() retry({ delay = -1 }) end,
      ("bad option 'delay' to 'retry' (0 to %s expected, got -1)"):format(tostring(math.huge)))
    assert.has_error(function() retry({ tries = 1 }) end, "bad option 'tries' to 'retry' (unknown)")
    assert.has_error(function() retry({ budget = { x = 1 } }) end, "bad option 'x' to 'retry' (unknown)")
    assert.has_error(function() retry(3) end, "bad argument #1 to 'retry' (table expected, got number)")
  end)
end
