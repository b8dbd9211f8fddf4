local operations = require("operations")

local middleware = operations.middleware

return function(kit)
  local it, assert = kit.it, kit.assert

  -- Middleware that do nothing by themselves.
  local function idle()
    return { middleware.log(function() end), middleware.retry({ attempts = 1 }), middleware.timeout(60000) }
  end

  it("hands on values, false, and nothing", function()
    for _, value in ipairs({ 1, "x", false, operations.null }) do
      local answers = kit.answers(value)
      assert.equal(value, (kit.operation(idle(), answers.handler)()))
    end
    local call = kit.operation(idle(), function() end)
    assert.same({}, { call() })
  end)

  it("hands on input and context as they came", function()
    local call = kit.operation(idle(), function(input, context)
      return { input.a, context.identity.id, context.requestId }
    end)
    assert.same({ 1, "ada", "r1" }, (call({ a = 1 }, { identity = { id = "ada", scopes = {} }, requestId = "r1" })))
  end)

  it("reports errors of the program's functions to the registry's log only, which callers do not read", function()
    local heard = {}
    local call = kit.operation({ middleware.log(function() error("POST http://collector/: refused", 0) end) },
      kit.answers(1).handler)
    call({}, { log = function(_, message)
      heard[#heard + 1] = message
    end })
    assert.same({}, heard)
    assert.same({ "error: spec.call: middleware: POST http://collector/: refused" }, kit.log)
  end)

  it("makes error objects of raised values, by the operation's declarations", function()
    local raises = { error = function() error("GONE: no such thing", 0) end }
    local call = kit.operation(idle(), { handler = raises.error,
      errorSchemas = { { code = "GONE", description = "it is gone" } } })
    local _, err = call()
    assert.same({ "GONE", "no such thing" }, { err.code, err.message })
    assert.same({}, kit.log)
  end)

  it("keeps the traceback of an unexpected error for the log", function()
    local call = kit.operation(idle(), function()
      local nothing = nil
      return nothing.field
    end)
    local _, err = call()
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal(1, #kit.log)
    assert.matches("error: spec%.call: .*layer%.lua:%d+: attempt to index .*stack traceback", kit.log[1])
    call = kit.operation(idle(), function()
      return nil, "it broke"
    end)
    assert.equal("it broke", select(2, call()).message)
    assert.same({ "error: spec.call: it broke" }, kit.log)
  end)

  it("says of its own refusals that the handler did not run, and not of what the handler called", function()
    local refused = middleware.rate_limit({ rate = 1, per = 1000 })
    local call = kit.operation({ refused }, function()
      return 1
    end)
    call()
    assert.is_false(select(2, call()).mayHaveRun)
    call = kit.operation(idle(), kit.answers(kit.failure("BUSY", true, false)).handler)
    local _, err = call()
    assert.same({ "BUSY", true }, { err.code, err.retryable })
    assert.is_nil(err.mayHaveRun)
  end)

  it("says what foreign middleware around it cannot say", function()
    local function foreign(handler)
      return function(input, context)
        return handler(input, context)
      end
    end
    local limit = middleware.rate_limit({ rate = 1, per = 1000 })
    local call = kit.operation({ foreign, limit }, kit.answers(1).handler)
    call()
    assert.is_nil(select(2, call()).mayHaveRun)
    call = kit.operation({ limit, foreign, middleware.retry({ attempts = 1 }) }, kit.answers(1).handler)
    assert.equal("RATE_LIMITED", select(2, call()).code)
    assert.is_false(select(2, call()).mayHaveRun)
  end)

  it("keeps errors of the program's functions from breaking the middleware around it", function()
    local function oops() error("oops", 0) end
    for name, inside in pairs({ by = middleware.rate_limit({ rate = 1, by = oops }),
      limit = middleware.concurrency({ by = oops }), breaker = middleware.breaker({ by = oops }),
      vary = middleware.cache({ ttl = 1, vary = oops }), store = middleware.rate_limit({ rate = 1,
        store = { take = oops } }) }) do
      local metrics = middleware.metrics()
      local call = kit.operation({ metrics, middleware.concurrency({ limit = 1, queue = 0 }), inside },
        kit.answers(1).handler)
      for _ = 1, 2 do
        local _, err = call()
        assert.same({ "EXECUTION_ERROR", "oops" }, { err.code, err.message }, name)
      end
      assert.matches('operations_calls_running{operation="spec.call"} 0\n', metrics:text(), 1, true)
    end
  end)

  it("is put around the operations of a filter", function()
    local seen = {}
    local function noting(handler, spec)
      seen[#seen + 1] = spec.name
      return handler
    end
    local function names(filter)
      seen = {}
      local registry = operations.registry({ middleware = { middleware.only(filter, { noting }) } })
      local specs = { { "a", "x", "query", { "t" } }, { "a", "y", "mutation" }, { "b", "z", "query", { "u" } } }
      for _, spec in ipairs(specs) do
        assert(registry:register({ namespace = spec[1], name = spec[2], type = spec[3], tags = spec[4],
          handler = function() end }))
      end
      return table.concat(seen)
    end
    assert.equal("xyz", names({}))
    assert.equal("xy", names({ namespace = "a" }))
    assert.equal("xz", names({ type = "query" }))
    assert.equal("x", names({ tag = "t" }))
    assert.equal("x", names({ namespace = "a", type = "query" }))
    assert.equal("y", names(function(spec) return spec.name == "y" end))
  end)

  it("has the first of a list outermost, in a filter's list as well", function()
    local seen = {}
    local function named(name)
      return function(handler)
        return function(input, context)
          seen[#seen + 1] = name
          return handler(input, context)
        end
      end
    end
    local call = kit.operation({ named("1"), middleware.only({}, { named("2"), named("3") }), named("4") },
      kit.answers(1).handler)
    call()
    assert.equal("1234", table.concat(seen))
  end)

  it("refuses anything but a list of middleware", function()
    assert.has_error(function() middleware.only({}, { 1 }) end,
      "bad argument #2 to 'only' (middleware expected at [1], got number)")
    assert.has_error(function() middleware.only({ tags = "x" }, {}) end,
      "bad option 'tags' to 'only' (unknown; did you mean tag?)")
    assert.has_error(function() middleware.only(1, {}) end, "bad argument #1 to 'only' (table expected, got number)")
    assert.has_error(function() middleware.only({}, 1) end, "bad argument #2 to 'only' (table expected, got number)")
    assert.has_no_error(function() middleware.only({}, { middleware.cache() }) end)
    assert.is_nil(middleware.nonsense)
  end)
end
