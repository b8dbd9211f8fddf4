local operations = require("operations")

local breaker = operations.middleware.breaker

return function(kit)
  local it, assert, failure = kit.it, kit.assert, kit.failure

  -- A server that one can break, behind a breaker: "12x!": calls by their outcome, "x" failed, "!" was refused.
  local function server(options)
    local self = { broken = false, calls = 0, states = {}, code = "UNAVAILABLE" }
    options.on_change = function(state, key)
      self.states[#self.states + 1], self.key = state, key
    end
    self.call, self.registry = kit.operation({ breaker(options) }, function()
      self.calls = self.calls + 1
      if self.delay then
        operations.sleep(self.delay)
      end
      if self.broken then
        return nil, failure(self.code)
      end
      return "ok"
    end)
    function self.many(count)
      local list = {}
      for i = 1, count do
        local before = self.calls
        local value = self.call()
        list[i] = value and "." or self.calls > before and "x" or "!"
      end
      return table.concat(list)
    end
    return self
  end

  it("opens at so many failures of the last calls, closes after a probe", function()
    local one = server({ failures = 3, of = 5, pause = 1000 })
    one.many(5)
    one.broken = true
    assert.equal("xx", one.many(2))
    one.broken = false
    assert.equal("...", one.many(3)) -- of the last five, two failed
    one.broken = true
    assert.equal("xxx!!", one.many(5))
    kit.clock.advance(999)
    assert.equal("!", one.many(1))
    kit.clock.advance(1)
    assert.equal("x!", one.many(2))
    one.broken = false
    kit.clock.advance(1000)
    assert.equal("....", one.many(4))
    assert.same({ "open", "half-open", "open", "half-open", "closed" }, one.states)
    assert.equal("spec", one.key)
  end)

  it("names to a refused caller the time of its next try", function()
    local one = server({ failures = 1, of = 1, pause = 5000 })
    one.broken = true
    one.many(1)
    kit.clock.advance(2000)
    local _, err = one.call()
    assert.same({ "UNAVAILABLE", "spec.call: its server failed 1 of 1 calls and is not called", true, false, 3000,
      { breaker = "open" } }, { err.code, err.message, err.retryable, err.mayHaveRun, err.retryAfter, err.details })
  end)

  it("lets so many probes through at once, and wants them all to succeed", function()
    local one = server({ failures = 1, of = 1, pause = 1000, probes = 2 })
    one.broken = true
    one.many(1)
    kit.clock.advance(1000)
    one.broken, one.delay = false, 1
    local results = kit.side_by_side(4, function() return one.call() end)
    assert.same({ "ok", "ok", nil, nil }, { results[1].value, results[2].value, results[3].value, results[4].value })
    assert.same({ breaker = "half-open" }, results[4].err.details)
    assert.same({ "open", "half-open", "closed" }, one.states)
  end)

  it("gives the place of a cancelled probe to the next call", function()
    local one = server({ failures = 1, of = 1, pause = 1000 })
    one.broken = true
    one.many(1)
    kit.clock.advance(1000)
    one.delay = 5
    local probe = operations.spawn(one.call)
    operations.sleep(1)
    probe:cancel()
    probe:wait()
    one.broken, one.delay = false, nil
    assert.equal("..", one.many(2))
    assert.same({ "open", "half-open", "closed" }, one.states)
  end)

  it("gives the place of a probe that does not end to another call after the pause", function()
    local one = server({ failures = 1, of = 1, pause = 1000 })
    one.broken = true
    one.many(1)
    kit.clock.advance(1000)
    one.broken, one.delay = false, 60
    local probe = operations.spawn(one.call)
    operations.sleep(0)
    one.delay = nil
    assert.equal("!", one.many(1))
    kit.clock.advance(999)
    assert.equal("!", one.many(1))
    kit.clock.advance(1)
    assert.equal("..", one.many(2))
    assert.same({ "open", "half-open", "closed" }, one.states)
    probe:cancel()
  end)

  it("gives the place of a probe whose coroutine was dropped to the next call", function()
    local call = kit.operation({ breaker({ failures = 1, of = 1, pause = 1000 }) }, function(input)
      if input.drop then
        coroutine.yield()
      elseif input.fail then
        return nil, failure("TIMEOUT")
      end
      return "ok"
    end)
    call({ fail = true })
    kit.clock.advance(1000)
    local dropped = coroutine.create(call)
    coroutine.resume(dropped, { drop = true })
    assert.equal("UNAVAILABLE", select(2, call({})).code)
    dropped = nil -- luacheck: ignore 311
    for _ = 1, 5 do
      collectgarbage()
      operations.sleep(0.001)
    end
    assert.equal("ok", (call({})))
  end)

  it("lets calls probe beside a subscription that is quiet", function()
    local broken = true
    local guard = breaker({ failures = 1, of = 1, pause = 1000 })
    local registry = operations.registry({ middleware = { guard } })
    registry:register({ namespace = "spec", name = "quiet", type = "subscription", handler = function()
      operations.sleep(60)
    end })
    registry:register({ namespace = "spec", name = "call", type = "query", handler = function()
      if broken then
        return nil, failure("TIMEOUT")
      end
      return "ok"
    end })
    registry:execute("spec.call")
    kit.clock.advance(1000)
    broken = false
    local stream = assert(registry:subscribe("spec.quiet"))
    local reader = operations.spawn(stream.next, stream)
    operations.sleep(0)
    assert.equal("UNAVAILABLE", select(2, assert(registry:subscribe("spec.quiet")):next()).code)
    assert.equal("ok", assert(registry:execute("spec.call")).data)
    stream:close()
    reader:wait()
  end)

  it("learns nothing from calls that began before it changed", function()
    local one = server({ failures = 1, of = 1, pause = 1000 })
    one.delay = 10
    local late = operations.spawn(one.call)
    operations.sleep(1)
    one.broken, one.delay = true, nil
    one.many(1)
    late:wait() -- fails, 9 s later
    one.broken = false
    assert.equal("..", one.many(2))
    assert.same({ "open", "half-open", "closed" }, one.states)
  end)

  it("counts failures of the server", function()
    local function opens(code, options)
      options = options or {}
      options.failures, options.of = 1, 1
      local one = server(options)
      one.broken, one.code = true, code
      return one.many(2) == "x!"
    end
    for _, code in ipairs({ "TIMEOUT", "UNAVAILABLE", "TRANSPORT_LOST", "WORKER_LOST", "EXECUTION_ERROR",
      "UNKNOWN_ERROR", "HTTP_500", "HTTP_503" }) do
      assert.is_true(opens(code), code)
    end
    for _, code in ipairs({ "ABORTED", "BUSY", "RATE_LIMITED", "HTTP_404", "HTTP_429", "NOT_FOUND",
      "ACCESS_DENIED" }) do
      assert.is_false(opens(code), code)
    end
    assert.is_true(opens("MINE", { counts = function(err) return err.code == "MINE" end }))
    assert.is_false(opens("TIMEOUT", { counts = function(err) return err.code == "MINE" end }))
  end)

  it("opens after 5 of 10, for 10 s", function()
    local one = server({})
    one.broken = true
    assert.equal("xxxxx!", one.many(6))
    kit.clock.advance(9999)
    assert.equal("!", one.many(1))
    kit.clock.advance(1)
    assert.equal("x", one.many(1))
  end)

  it("is one for each namespace, or what `by` says, and keeps so many", function()
    local calls = 0
    local who = "a"
    local call = kit.operation({ breaker({ failures = 1, of = 1, max_keys = 2, by = function() return who end }) },
      function()
        calls = calls + 1
        return nil, failure("TIMEOUT")
      end)
    for _, key in ipairs({ "a", "b", "a", "c", "a", "b" }) do -- c takes b's place
      who = key
      call()
    end
    assert.equal(4, calls)
  end)

  it("takes the first event of a subscription for a success", function()
    local states, broken = {}, true
    local _, registry = kit.operation({ breaker({ failures = 1, of = 1, pause = 1000, on_change = function(state)
      states[#states + 1] = state
    end }) }, { type = "subscription", handler = function(_, context)
      if broken then
        error(failure("TIMEOUT"))
      end
      context.emit(1)
      context.emit(2)
      operations.sleep(60)
    end })
    local _, err = assert(registry:subscribe("spec.call")):next()
    assert.equal("TIMEOUT", err.code)
    kit.clock.advance(1000)
    broken = false
    local stream = assert(registry:subscribe("spec.call"))
    assert.equal(1, stream:next().data)
    assert.same({ "open", "half-open", "closed" }, states)
    assert.equal(2, stream:next().data)
    stream:close()
  end)

  it("logs errors of on_change", function()
    local call = kit.operation({ breaker({ failures = 1, of = 1, on_change = function() error("oops", 0) end }) },
      kit.answers(failure("TIMEOUT")).handler)
    assert.equal("TIMEOUT", select(2, call()).code)
    assert.same({ "error: spec.call: middleware: oops" }, kit.log)
  end)

  it("takes an error in `counts` for no failure, and logs it", function()
    local one = server({ failures = 1, of = 1, counts = function() error("oops", 0) end })
    one.broken = true
    assert.equal("xx", one.many(2))
    assert.same({ "error: spec.call: middleware: oops", "error: spec.call: middleware: oops" }, kit.log)
  end)

  it("refuses options that make no sense", function()
    assert.has_error(function() breaker({ failures = 6, of = 5 }) end,
      "bad option 'failures' to 'breaker' (no more than 'of' expected)")
    assert.has_no_error(function() breaker({ failures = 5, of = 5 }) end)
    assert.has_error(function() breaker({ failures = 0 }) end,
      "bad option 'failures' to 'breaker' (integer from 1 on expected, got 0)")
    assert.has_error(function() breaker({ of = 10.5 }) end,
      "bad option 'of' to 'breaker' (integer from 1 on expected, got 10.5)")
    assert.has_error(function() breaker({ pause = 0 }) end,
      "bad option 'pause' to 'breaker' (ms from 1 on expected, got 0)")
    assert.has_error(function() breaker({ probe = 1 }) end,
      "bad option 'probe' to 'breaker' (unknown; did you mean probes?)")
  end)
end
