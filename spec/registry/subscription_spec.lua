local core = require("operations.core")
local eventually = require("spec.support.eventually")
local forward_clock = require("spec.support.forward_clock")
local members = require("operations.base.members")
local operations = require("operations")

local logged

local function subscribe(handler, fields, given, input)
  logged = {}
  local registry = operations.registry({
    log = function(_, message)
      logged[#logged + 1] = message
    end,
  })
  local definition = members.merged({
    namespace = "a", name = "watch", type = "subscription", handler = handler,
  }, fields)
  assert(registry:register(definition))
  return registry:subscribe("a.watch", input, given)
end

local function count_to(n)
  return function()
    for i = 1, n do
      coroutine.yield({ i = i })
    end
  end
end

describe("a subscription", function()
  it("delivers each yield in an envelope of its own, in order", function()
    local seen, last = {}, nil
    for envelope in assert(subscribe(count_to(3))) do
      assert.are_not.equal(last, envelope)
      last = envelope
      assert.equal("a.watch", envelope.meta.operationId)
      seen[#seen + 1] = envelope.data.i
    end
    assert.same({ 1, 2, 3 }, seen)
  end)

  it("gives each event the time at which it was yielded", function()
    local stream, last = assert(subscribe(count_to(4))), 0
    for i = 1, 4 do
      local before = core.now()
      local envelope = stream:next()
      assert.equal(i, envelope.data.i)
      assert.is_true(envelope.meta.timestamp >= before and envelope.meta.timestamp <= core.now())
      assert.equal("local", envelope.meta.source)
      assert.is_true(envelope.meta.timestamp > last)
      last = envelope.meta.timestamp
      repeat until core.now() > last -- waits for the next millisecond
    end
  end)

  it("gives each event its own meta", function()
    local own
    local stream = assert(subscribe(function(_, context)
      coroutine.yield(1)
      coroutine.yield(2)
      own = { data = 3, meta = { source = "local", operationId = "b.own", timestamp = core.now(), mine = true } }
      coroutine.yield(own)
      coroutine.yield(4)
      context.emit(5, { id = "e5" })
      coroutine.yield(6)
    end))
    local metas = {}
    for envelope in stream do
      metas[envelope.data] = envelope.meta
      assert.is_nil(envelope.meta.seen)
      envelope.meta.seen = true
    end
    assert.equal(own.meta, metas[3])
    assert.equal("e5", metas[5].lastEventId)
    for _, i in ipairs({ 1, 2, 4, 6 }) do
      assert.equal("a.watch", metas[i].operationId)
      assert.is_nil(metas[i].mine)
      assert.is_nil(metas[i].lastEventId)
    end
  end)

  it("reports each of many events that do not fit", function()
    local warnings = {}
    local registry = operations.registry({ on_warning = function(warning) warnings[#warnings + 1] = warning end })
    assert(registry:register({ namespace = "a", name = "watch", type = "subscription", handler = count_to(3),
      outputSchema = { type = "object", properties = { i = { const = 2 } } }, normalize = "off" }))
    local n = 0
    for _ in assert(registry:subscribe("a.watch")) do
      n = n + 1
    end
    assert.equal(3, n)
    assert.equal(2, #warnings)
  end)

  it("loses none of 100,000 quick events", function()
    local n = 0
    for envelope in assert(subscribe(count_to(100000))) do
      n = n + 1
      assert(envelope.data.i == n)
    end
    assert.equal(100000, n)
  end)

  it("ends at an event that does not fit, where that fails, and cleans up", function()
    local cleaned = 0
    local stream = assert(subscribe(function(_, context)
      context.defer(function() cleaned = cleaned + 1 end)
      coroutine.yield(1)
      coroutine.yield("two")
      coroutine.yield(3)
    end, { outputSchema = { type = "integer" }, on_mismatch = "fail" }))
    assert.equal(1, stream:next().data)
    local event, err = stream:next()
    assert.is_nil(event)
    assert.equal("OUTPUT_INVALID", err.code)
    assert.same({ { nil, nil }, 1 }, { { stream:next() }, cleaned })
  end)

  it("raises in a loop at an event that does not fit, where that fails", function()
    local seen = {}
    local ok, raised = pcall(function()
      local fields = { outputSchema = { type = "integer" }, on_mismatch = "fail" }
      for event in assert(subscribe(function()
        coroutine.yield(1)
        coroutine.yield("two")
      end, fields)) do
        seen[#seen + 1] = event.data
      end
    end)
    assert.same({ false, "OUTPUT_INVALID", { 1 } }, { ok, raised.code, seen })
  end)

  it("delivers what is equal to everything", function()
    local value = setmetatable({}, { __eq = function() return true end })
    local stream = subscribe(function()
      coroutine.yield(value)
      return nil
    end)
    assert.is_true(rawequal(value, stream:next().data))
    assert.is_nil((stream:next()))
  end)

  it("gives an event the id that context.emit names", function()
    local registry = operations.registry()
    local own = operations.http_envelope(1, { statusCode = 200, headers = {} })
    assert(registry:register({ namespace = "task", name = "watch", type = "subscription",
      handler = function(_, context)
        context.emit("a", { id = "e1" })
        context.emit(own, { id = 7 })
        context.emit("c")
      end }))
    local ids = {}
    for event in assert(registry:subscribe("task.watch")) do
      ids[#ids + 1] = tostring(event.meta.lastEventId)
    end
    assert.same({ "e1", "7", "nil" }, ids)
    assert.is_nil(own.meta.lastEventId)
  end)

  it("takes context.emit for a yield", function()
    local stream = subscribe(function(_, context)
      context.emit(1)
      context.emit(nil)
      context.emit(3)
    end)
    assert.equal(1, stream:next().data)
    local empty = stream:next()
    assert.is_nil(empty.data)
    assert.is_true(operations.is_response_envelope(empty))
    assert.equal(3, stream:next().data)
    assert.is_nil(stream:next())
  end)

  it("runs nothing before the first event is asked for, and no further than asked", function()
    local reached = 0
    local stream = subscribe(function()
      for i = 1, 10 do
        reached = i
        coroutine.yield(i)
      end
    end)
    assert.equal(0, reached)
    stream:next()
    stream:next()
    assert.equal(2, reached)
  end)

  it("normalizes and checks every event", function()
    local stream = subscribe(function()
      coroutine.yield({ n = "1", secret = true })
    end, { outputSchema = { type = "object", properties = { n = { type = "integer" } } } })
    assert.same({ n = 1 }, stream:next().data)
  end)

  it("validates its input before anything runs", function()
    local stream, err = subscribe(count_to(1), { inputSchema = { type = "object", required = { "id" } } })
    assert.is_nil(stream)
    assert.equal("VALIDATION_ERROR", err.code)
  end)

  it("is guarded like a call", function()
    local stream, err = subscribe(count_to(1), { accessControl = { requiredScopes = { "x" } } })
    assert.is_nil(stream)
    assert.equal("ACCESS_DENIED", err.code)
  end)

  it("ends with nil and stays ended", function()
    local stream = subscribe(count_to(1))
    assert.equal(1, stream:next().data.i)
    assert.is_nil(stream:next())
    local envelope, err = stream:next()
    assert.is_nil(envelope)
    assert.is_nil(err)
  end)

  it("fails with the error object of its handler; a loop raises it", function()
    local function failing()
      coroutine.yield(1)
      error(operations.error("GONE", "source closed"))
    end
    local stream = subscribe(failing)
    stream:next()
    local _, err = stream:next()
    assert.equal("GONE", err.code)
    assert.is_nil((stream:next()))
    local ok, raised = pcall(function()
      for _ in subscribe(failing) do end
    end)
    assert.is_false(ok)
    assert.equal("GONE: source closed", tostring(raised))
  end)

  it("fails when its handler returns nil and an error", function()
    local _, err = subscribe(function() return nil, "broken" end):next()
    assert.equal("EXECUTION_ERROR: broken", tostring(err))
  end)

  it("logs the traceback of an unforeseen error", function()
    subscribe(function() error("oops") end):next()
    assert.matches("stack traceback", logged[1], 1, true)
  end)
end)

describe("the end of a subscription runs the cleanup once:", function()
  local cleaned

  local function watched(_, context)
    context.defer(function() cleaned[#cleaned + 1] = "first" end)
    context.defer(function() cleaned[#cleaned + 1] = "second" end)
    for i = 1, 3 do
      coroutine.yield(i)
    end
  end

  before_each(function()
    cleaned = {}
  end)

  it("when the handler returns, last deferred first", function()
    local stream = subscribe(watched)
    while stream:next() do end
    stream:close()
    assert.same({ "second", "first" }, cleaned)
  end)

  it("when it is closed early, twice", function()
    local stream = subscribe(watched)
    stream:next()
    stream:close()
    stream:close()
    assert.is_nil((stream:next()))
    assert.same({ "second", "first" }, cleaned)
  end)

  it("when the handler fails", function()
    local stream = subscribe(function(_, context)
      context.defer(function() cleaned[#cleaned + 1] = "once" end)
      error("oops")
    end)
    stream:next()
    assert.same({ "once" }, cleaned)
  end)

  it("when it is collected", function()
    do
      local stream = subscribe(watched)
      stream:next()
      stream = nil -- luacheck: ignore 311
    end
    collectgarbage()
    collectgarbage()
    assert.same({ "second", "first" }, cleaned)
  end)

  it("when it is collected, and waits in there, in a task and outside", function()
    local function abandon()
      local stream = subscribe(function(_, context)
        context.defer(function()
          cleaned[#cleaned + 1] = "begun"
          operations.sleep(0)
          cleaned[#cleaned + 1] = "waited"
        end)
        coroutine.yield(1)
      end)
      stream:next()
    end
    local function is_cleaned()
      collectgarbage()
      return #cleaned == 2
    end
    abandon()
    eventually(is_cleaned)
    assert.same({ "begun", "waited" }, cleaned)
    cleaned = {}
    operations.run(function()
      operations.run(abandon) -- in a stack that is gone
      eventually(is_cleaned)
    end)
    assert.same({ "begun", "waited" }, cleaned)
  end)

  it("when the host fails while the handler waits, which is raised", function()
    local host = require("spec.support.fake_host").new()
    operations.use_host(host)
    local stream = subscribe(function(_, context)
      context.defer(function() cleaned[#cleaned + 1] = "once" end)
      require("operations.task").await(function() end)
    end)
    local ok, raised = pcall(stream.next, stream)
    operations.use_host("plain")
    assert.is_false(ok)
    assert.matches("deadlock", raised)
    assert.same({ "once" }, cleaned)
    assert.is_nil((stream:next()))
    stream:close()
    assert.same({ "once" }, cleaned)
  end)

  it("when the deadline passes between two events", function()
    forward_clock.with(function(clock)
      local stream = subscribe(watched, nil, { timeout = 60000 })
      stream:next()
      clock:forward(60000)
      local _, err = stream:next()
      assert.equal("TIMEOUT", err.code)
      assert.same({ "second", "first" }, cleaned)
    end)
  end)

  it("even when a cleanup fails itself", function()
    local stream = subscribe(function(_, context)
      context.defer(function() cleaned[#cleaned + 1] = "still" end)
      context.defer(function() error("in cleanup") end)
      coroutine.yield(1)
    end)
    stream:next()
    stream:close()
    assert.same({ "still" }, cleaned)
    assert.matches("in cleanup", logged[1], 1, true)
  end)

  it("even when what was raised cannot be printed, and the log fails", function()
    local failure = setmetatable({}, { __tostring = function() error("not printable") end })
    local stream = subscribe(function(_, context)
      context.defer(function() cleaned[#cleaned + 1] = "still" end)
      context.defer(function()
        context.log = error
        error(failure)
      end)
      error(failure)
    end)
    local _, err = stream:next()
    assert.equal(failure, err.details.raw)
    assert.same({ "still" }, cleaned)
    assert.is_nil((stream:next()))
  end)

  it("with what a cleanup defers itself", function()
    local stream = subscribe(function(_, context)
      context.defer(function() cleaned[#cleaned + 1] = "first" end)
      context.defer(function()
        context.defer(function() cleaned[#cleaned + 1] = "deferred last" end)
      end)
      coroutine.yield(1)
    end)
    stream:next()
    stream:close()
    assert.same({ "deferred last", "first" }, cleaned)
  end)

  if coroutine.close then -- luacheck: ignore 143
    it("with to-be-closed variables", function()
      local body = assert(load([[
        local cleaned = ...
        return function()
          local guard <close> = setmetatable({}, { __close = function() cleaned[#cleaned + 1] = "closed" end })
          coroutine.yield(1)
        end
      ]]))
      local stream = subscribe(body(cleaned))
      stream:next()
      stream:close()
      assert.same({ "closed" }, cleaned)
    end)

    it("at a break out of the loop", function()
      assert(load([[
        local watched, subscribe = ...
        for _ in subscribe(watched) do break end
      ]]))(watched, subscribe)
      assert.same({ "second", "first" }, cleaned)
    end)
  end

  it("and refuses to defer anything but a function", function()
    local _, err = subscribe(function(_, context) context.defer("x") end):next()
    assert.matches("bad argument #1 to 'defer' (function expected, got string)", err.message, 1, true)
  end)
end)

describe("a subscription whose handler has many events at once", function()
  local subscription = require("operations.registry.subscription")
  local META = core.http_envelope(nil, { statusCode = 200 }).meta
  local reached

  -- A handler that gives 1 to n as one queue, twice.
  local function many(n, data_of)
    return function(_, context)
      context.defer(function() reached = "cleanup" end)
      for turn = 1, 2 do
        reached = turn
        local reader = core.envelope_reader("lines", META, 1000, true)
        for i = 1, n do
          reader:feed((data_of or '{"i":%d}'):format(i) .. "\n")
        end
        subscription.emit_queue(context, reader:queue())
      end
    end
  end

  local function collect(stream)
    local seen = {}
    for envelope in stream do
      seen[#seen + 1] = envelope.data
    end
    return seen
  end

  local object = { type = "object" }

  it("delivers each, in order, and lets the handler continue after the last", function()
    for _, schema in ipairs({ object, true, { type = "object", properties = { i = { type = "integer" } } } }) do
      local stream = assert(subscribe(many(3), { outputSchema = schema }))
      assert.same({ i = 1 }, stream:next().data)
      assert.same({ i = 2 }, stream().data)
      assert.equal(1, reached)
      assert.same({ { i = 3 }, { i = 1 }, { i = 2 }, { i = 3 } }, collect(stream))
      assert.equal("cleanup", reached)
      assert.is_nil(stream:next())
    end
    assert.same({}, collect(assert(subscribe(many(0)))))
  end)

  it("normalizes and checks those that do not fit", function()
    local fields = { outputSchema = { type = "object", properties = { i = { type = "string" } } } }
    assert.same({ { i = "1" }, { i = "1" } }, collect(assert(subscribe(many(1), fields))))
    local warnings = 0
    local registry = operations.registry({ on_warning = function() warnings = warnings + 1 end })
    assert(registry:register({
      namespace = "a", name = "watch", type = "subscription", handler = many(1, "[%d]"), outputSchema = object,
    }))
    assert.same({ { 1 }, { 1 } }, collect(assert(registry:subscribe("a.watch"))))
    assert.equal(2, warnings)
  end)

  it("ends at once when it is closed between two", function()
    local stream = assert(subscribe(many(3)))
    stream:next()
    stream:close()
    assert.equal("cleanup", reached)
    assert.is_nil(stream())
    assert.is_nil(stream:next())
  end)

  it("ends as TIMEOUT when the deadline passes between two", function()
    local stream = assert(subscribe(many(3), nil, { timeout = 300 }))
    assert.same({ i = 1 }, stream().data)
    local start = core.now()
    while core.now() < start + 310 do end
    assert.equal("TIMEOUT", select(2, stream:next()).code)
    assert.equal("cleanup", reached)
  end)

  it("shows each to middleware that looks at events", function()
    local seen = {}
    local function watching(handler)
      return function(input, context)
        local emit = context.emit
        context.emit = function(envelope)
          seen[#seen + 1] = envelope.data.i
          emit(envelope)
        end
        return handler(input, context)
      end
    end
    local function resuming(handler)
      return function(input, context)
        local co = coroutine.wrap(function()
          handler(input, context)
        end)
        for envelope in co do
          seen[#seen + 1] = -envelope.data.i
          coroutine.yield(envelope)
        end
      end
    end
    for _, middleware in ipairs({ watching, resuming }) do
      local registry = operations.registry({ middleware = { middleware } })
      assert(registry:register({ namespace = "a", name = "watch", type = "subscription", handler = many(2) }))
      assert.equal(4, #collect(assert(registry:subscribe("a.watch"))))
    end
    assert.same({ 1, 2, 1, 2, -1, -2, -1, -2 }, seen)
  end)
end)

describe("a closing subscription", function()
  it("tells the handler through its context", function()
    local context
    local stream = subscribe(function(_, c)
      context = c
      coroutine.yield(1)
    end)
    stream:next()
    assert.is_false(context:cancelled())
    stream:close()
    assert.is_true(context:cancelled())
  end)
end)

describe("a subscription whose handler waits", function()
  local cleaned

  local function ticking(_, context)
    context.defer(function()
      cleaned = cleaned + 1
    end)
    for i = 1, 3 do
      operations.sleep(0.005)
      coroutine.yield(i)
    end
    operations.sleep(60)
  end

  before_each(function()
    cleaned = 0
  end)

  it("delivers in a plain script outside any task", function()
    local stream = subscribe(ticking)
    assert.same({ 1, 2, 3 }, { stream:next().data, stream:next().data, stream:next().data })
    stream:close()
    assert.equal(1, cleaned)
  end)

  it("lets other tasks run meanwhile", function()
    local order = {}
    operations.run(function()
      operations.spawn(function()
        order[#order + 1] = "other"
      end)
      local stream = subscribe(ticking)
      local event = stream:next()
      order[#order + 1] = event.data
      stream:close()
    end)
    assert.same({ "other", 1 }, order)
  end)

  it("is woken and ended by close from another task", function()
    local err
    operations.run(function()
      local stream = subscribe(ticking)
      operations.spawn(function()
        operations.sleep(0.03)
        stream:close()
      end)
      repeat
        local envelope
        envelope, err = stream:next()
      until not envelope
    end)
    assert.equal("ABORTED", err.code)
    assert.equal(1, cleaned)
  end)

  it("ends as TIMEOUT when the deadline passes inside the wait", function()
    local stream = subscribe(ticking, nil, { timeout = 40 })
    local envelope, err
    repeat
      envelope, err = stream:next()
    until not envelope
    assert.equal("TIMEOUT", err.code)
    assert.equal(1, cleaned)
  end)

  it("ends with the task that consumes it", function()
    operations.run(function()
      local consumer = operations.spawn(function()
        local stream = subscribe(ticking)
        while stream:next() do end
      end)
      operations.sleep(0.03)
      consumer:cancel()
      consumer:wait()
    end)
    assert.equal(1, cleaned)
  end)

  it("refuses a second task that wants the same event", function()
    operations.run(function()
      local stream = subscribe(ticking)
      local first = operations.spawn(function()
        return stream:next().data
      end)
      operations.sleep(0)
      local ok, raised = pcall(function()
        local envelope = stream:next()
        return envelope
      end)
      assert.is_false(ok)
      assert.matches("subscription_spec.lua:%d+: subscription:next%(%) is already waiting$", raised)
      assert.equal(1, first:wait())
      stream:close()
    end)
  end)

  it("logs what the cleanup of a closed handler fails with, and not that it was closed", function()
    for _, case in ipairs({ { { "a.watch: cleanup failed: broken" }, function() error("broken", 0) end },
      { { "a.watch: cleanup failed: GONE: m" }, function() error(operations.error("GONE", "m")) end },
      { {}, function() error(operations.error("ABORTED", "m")) end }, { {}, function() end } }) do
      operations.run(function()
        local stream = subscribe(function()
          pcall(operations.sleep, 60)
          case[2]()
        end)
        local waiting = operations.spawn(function()
          return select(2, stream:next()).code
        end)
        operations.sleep(0)
        stream:close()
        assert.equal("ABORTED", waiting:wait())
      end)
      assert.same(case[1], logged)
    end
  end)

  it("delays no other task while its consumer rests", function()
    local produced = 0
    operations.run(function()
      local stream = subscribe(function()
        for i = 1, 100 do
          produced = i
          coroutine.yield(i)
        end
      end)
      stream:next()
      operations.sleep(0.01)
      assert.equal(1, produced)
      stream:close()
    end)
  end)
end)

describe("a call whose handler waits", function()
  it("ends as TIMEOUT when its deadline passes", function()
    local registry = operations.registry({ log = function() end })
    assert(registry:register({ namespace = "a", name = "slow", handler = function() operations.sleep(60) end }))
    assert(registry:register({ namespace = "a", name = "outer", handler = function(_, context)
      return context.env.a.slow()
    end }))
    local envelope, err = registry:execute("a.outer", {}, { timeout = 30 })
    assert.is_nil(envelope)
    assert.equal("TIMEOUT", err.code)
  end)

  it("sees ABORTED when its task is cancelled", function()
    local registry = operations.registry({ log = function() end })
    assert(registry:register({ namespace = "a", name = "slow", handler = function() operations.sleep(60) end }))
    operations.run(function()
      local envelope, err
      local task = operations.spawn(function()
        envelope, err = registry:execute("a.slow")
      end)
      operations.sleep(0.01)
      task:cancel()
      task:wait()
      assert.is_nil(envelope)
      assert.equal("ABORTED", err.code)
    end)
  end)

  it("says of one whose time is up whether its handler was started", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", type = "subscription", handler = function()
      coroutine.yield(1)
      operations.sleep(5)
    end }))
    for started = 0, 1 do
      forward_clock.with(function(clock)
        local stream = assert(registry:subscribe("a.b", {}, { timeout = 60000 }))
        if started == 1 then
          assert(stream:next())
        end
        clock:forward(60000)
        local _, err = stream:next()
        assert.same({ "TIMEOUT", started == 1 }, { err.code, err.mayHaveRun })
      end)
    end
  end)
end)
