--- What every transport keeps: the sentences that run over each of them.
local assert = require("luassert")
local core = require("operations.core")
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local forward_clock = require("spec.support.forward_clock")
local operations = require("operations")
local task = require("operations.task")

local function quiet() end

-- The operations that the contract calls; what happened to them is in `seen`.
local function registry_of(seen)
  local registry = operations.registry({ log = quiet })
  local function add(name, fields, handler)
    fields.namespace, fields.name, fields.handler = "contract", name, handler
    assert(registry:register(fields))
  end
  local pair = { type = "object", properties = { a = { type = "integer" }, b = { type = "integer" } },
    required = { "a", "b" } }
  add("add", { inputSchema = pair, outputSchema = { type = "integer" } }, function(input)
    return input.a + input.b
  end)
  add("echo", {}, function(input)
    return input
  end)
  add("null", {}, function()
    return operations.null
  end)
  add("context", {}, function(_, context)
    return {
      requestId = context.requestId, parentRequestId = context.parentRequestId, identity = context.identity,
      metadata = context.metadata, traceparent = context.traceparent, has_deadline = context.deadline ~= nil,
    }
  end)
  add("refuse", { errorSchemas = { { code = "FULL" } } }, function()
    return nil, operations.error("FULL", "no room", { left = 0 })
  end)
  add("raise", {}, function()
    error("boom")
  end)
  add("secret", { accessControl = { requiredScopes = { "s" } } }, function()
    return "told"
  end)
  add("copy", {}, function(_, context)
    context.progress(1, 2, "half")
    operations.sleep(0.01)
    context.progress(2, 2)
    return context.progress_wanted
  end)
  add("copies", { type = "subscription" }, function(_, context)
    context.progress(0.5)
    coroutine.yield(context.progress_wanted)
  end)
  add("sleep", {}, function(input)
    seen.started = (seen.started or 0) + 1
    local ok, raised = pcall(operations.sleep, input.seconds)
    seen.raised = not ok and raised or nil
    seen.ended = (seen.ended or 0) + 1
    if not ok then
      error(raised, 0)
    end
    return "slept"
  end)
  add("stubborn", {}, function(_, context)
    local waits = {}
    operations.spawn(function()
      seen.started = 1
      local ok = pcall(operations.sleep, 30)
      seen.child = ok and "slept" or "stopped"
    end)
    for i = 1, 3 do
      waits[i] = pcall(operations.sleep, 30) and "slept" or "stopped"
    end
    seen.waits, seen.cancelled = waits, context:cancelled()
    return "too late"
  end)
  add("outer", {}, function(input, context)
    local envelope, err = context.env.contract.sleep(input)
    return envelope and envelope.data, err
  end)
  add("count", { type = "subscription" }, function(input, context)
    context.defer(function()
      seen.cleaned = (seen.cleaned or 0) + 1
    end)
    for i = 1, input.n do
      seen.yielded = i
      coroutine.yield({ i = i })
    end
    if input.fails then
      error(errors.new("FULL", "after the last"))
    end
  end)
  add("wait", { type = "subscription" }, function(input, context)
    context.defer(function()
      seen.cleaned = (seen.cleaned or 0) + 1
    end)
    coroutine.yield({ first = true })
    operations.sleep(input.seconds)
    coroutine.yield({ last = true })
  end)
  return registry
end

---@param it function  busted's
---@param connect fun(registry: operations.Registry, options?: table): operations.CallMap, operations.CallHandler, fun()
---  a call map whose calls the registry serves, its handler, and what ends both
---@param traits? { direct?: boolean, unknown?: string, queued?: boolean }  in process; the code of an operation that
---  nobody serves; what there is no room for waits
return function(it, connect, traits)
  traits = traits or {}

  -- Runs `fn(map, seen, handler, clock, served)` as a task between a connected pair.
  local function with(fn, options)
    local seen = {}
    local registry = registry_of(seen)
    task.run(function()
      local map, handler, close, served
      local ok, raised = pcall(forward_clock.with, function(clock)
        map, handler, close, served = connect(registry, options)
        fn(map, seen, handler, clock, served)
      end)
      close()
      if not ok then
        error(raised, 0)
      end
    end)
  end

  it("answers a call with the operation's envelope", function()
    with(function(map)
      local envelope = assert(map:call("contract.add", { a = 2, b = 3 }))
      assert.equal(5, envelope.data)
      assert.equal("local", envelope.meta.source)
      assert.equal("contract.add", envelope.meta.operationId)
      assert.is_true(operations.is_response_envelope(envelope))
    end)
  end)

  it("takes no input for an empty object, and passes every JSON value", function()
    with(function(map)
      assert.same({}, assert(map:call("contract.echo")).data)
      for _, value in ipairs({ false, 0, "", 1.5, "\0\xc3\xa4", { a = { 1, { b = false } } } }) do
        assert.same(value, assert(map:call("contract.echo", value)).data)
      end
      assert.equal(operations.null, map:call("contract.echo", operations.null).data)
      assert.equal(operations.null, map:call("contract.null").data)
    end)
  end)

  it("tells of failures with code, message and details", function()
    with(function(map, _, _, clock)
      local nothing, err = map:call("contract.refuse")
      assert.is_nil(nothing)
      assert.is_true(operations.is_error(err))
      assert.same({ "FULL", "no room", { left = 0 } }, { err.code, err.message, err.details })
      err = select(2, map:call("contract.add", { a = "x" }))
      assert.equal("VALIDATION_ERROR", err.code)
      assert.same({ "/a", "/b" }, { err.details[1].path, err.details[2].path })
      assert.equal(traits.unknown or "OPERATION_NOT_FOUND",
        select(2, clock:pass(map.call, map, "contract.nothing")).code)
      assert.equal("EXECUTION_ERROR", select(2, map:call("contract.raise")).code)
    end)
  end)

  it("keeps tracebacks at home", function()
    with(function(map)
      assert.is_nil(tostring(select(2, map:call("contract.raise"))):find("traceback"))
    end)
  end)

  it("carries requestId, parentRequestId, metadata and traceparent", function()
    with(function(map)
      local trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      local data = assert(map:call("contract.context", nil, {
        requestId = "r-" .. core.random_id(), parentRequestId = "p", metadata = { tenant = "t" }, traceparent = trace,
        timeout = 60000,
      })).data
      assert.equal("r-", data.requestId:sub(1, 2))
      assert.equal("p", data.parentRequestId)
      assert.equal("t", data.metadata.tenant)
      assert.equal(trace, data.traceparent)
      assert.is_true(data.has_deadline)
    end)
  end)

  it("serves many calls at once, each with its own answer", function()
    with(function(map)
      local list = {}
      for i = 1, 200 do
        list[i] = function()
          return assert(map:call("contract.add", { a = i, b = i })).data
        end
      end
      local sums = assert(operations.all(list))
      for i = 1, 200 do
        assert.equal(2 * i, sums[i])
      end
      assert.equal(0, map:pending_count())
    end)
  end)

  it("ends a call at its deadline, here and there", function()
    with(function(map, seen)
      local _, err = map:call("contract.sleep", { seconds = 30 }, { timeout = 50 })
      assert.equal("TIMEOUT", err.code)
      assert.equal(0, map:pending_count())
      eventually(function()
        return seen.started == seen.ended
      end)
    end)
  end)

  it("does not start a request that is past its deadline", function()
    with(function(map, seen)
      local _, err = map:call("contract.sleep", { seconds = 0 }, { deadline = core.now() - 1 })
      assert.equal("TIMEOUT", err.code)
      assert(map:call("contract.echo"))
      assert.is_nil(seen.started)
    end)
  end)

  it("keeps deadlines of more than 25 days", function()
    with(function(map)
      assert.equal("slept", map:call("contract.sleep", { seconds = 0.02 }, { timeout = 40 * 86400 * 1000 }).data)
    end)
  end)

  it("reaches the handler, and the calls that it made, when the caller is cancelled", function()
    with(function(map, seen)
      local caller = operations.spawn(function()
        return map:call("contract.outer", { seconds = 30 })
      end)
      eventually(function()
        return seen.started == 1
      end)
      caller:cancel("enough")
      local _, err = caller:wait()
      assert.equal("ABORTED", err.code)
      eventually(function()
        return seen.ended == 1
      end)
      assert.equal("ABORTED", seen.raised.code)
      assert.equal(0, map:pending_count())
    end)
  end)

  it("aborts by requestId", function()
    with(function(map, seen)
      local call = operations.spawn(function()
        return map:call("contract.sleep", { seconds = 30 }, { requestId = "aborted-" .. map:pending_count() })
      end)
      eventually(function()
        return seen.started == 1
      end)
      assert.equal(1, map:pending_count())
      map:abort("aborted-0", "not needed")
      local _, err = call:wait()
      assert.equal("ABORTED", err.code)
      assert.equal("not needed", err.message)
      eventually(function()
        return seen.ended == 1
      end)
      map:abort("aborted-0")
    end)
  end)

  local ways = {
    abort = function(map) map:abort("stubborn", "enough") end,
    close = function(map) map:close() end,
    cancel = function(_, caller) caller:cancel("enough") end,
  }
  for name, stop in pairs(ways) do
    it("lets a handler wait no more once its call was ended by " .. name, function()
      with(function(map, seen)
        local options, after = { requestId = "stubborn" }, nil
        local caller = operations.spawn(function()
          local envelope, err = map:call("contract.stubborn", nil, options)
          after = name == "cancel" or pcall(operations.sleep, 0)
          return envelope, err
        end)
        eventually(function()
          return seen.started
        end)
        stop(map, caller)
        local envelope, err = caller:wait()
        assert.is_nil(envelope)
        assert.equal(name == "close" and "TRANSPORT_LOST" or "ABORTED", err.code)
        assert.is_true(after) -- the caller itself goes on
        eventually(function()
          return seen.waits and seen.child
        end)
        assert.same({ "stopped", "stopped", "stopped" }, seen.waits)
        assert.is_true(seen.cancelled)
        assert.equal("stopped", seen.child)
        assert.equal(0, map:pending_count())
      end)
    end)
  end

  it("lets a handler wait no more once its deadline has passed", function()
    with(function(map, seen, _, clock)
      local caller = operations.spawn(function()
        return map:call("contract.stubborn", nil, { timeout = 10000 })
      end)
      eventually(function()
        return seen.started
      end)
      clock:forward(10000)
      local _, err = caller:wait()
      assert.is_true(err and err.code == "TIMEOUT" or not traits.direct)
      eventually(function()
        return seen.waits
      end)
      assert.same({ "stopped", "stopped", "stopped" }, seen.waits)
      assert.is_true(seen.cancelled)
    end)
  end)

  it("refuses a second request of an id that is pending", function()
    with(function(map)
      local first = operations.spawn(function()
        return map:call("contract.sleep", { seconds = 30 }, { requestId = "twice" })
      end)
      eventually(function()
        return map:pending_count() == 1
      end)
      assert.equal("VALIDATION_ERROR", select(2, map:call("contract.echo", nil, { requestId = "twice" })).code)
      first:cancel()
    end)
  end)

  it("delivers 1,000 quick events in order, once", function()
    with(function(map, seen, handler)
      local n = 0
      for envelope in assert(map:subscribe("contract.count", { n = 1000 })) do
        n = n + 1
        assert.equal(n, envelope.data.i)
      end
      assert.equal(1000, n)
      assert.equal(1, seen.cleaned)
      assert.equal(0, map:pending_count())
      eventually(function()
        return handler.active == 0
      end)
    end)
  end)

  it("holds back a producer whose consumer does not read", function()
    with(function(map, seen)
      local subscription = assert(map:subscribe("contract.count", { n = 100000 }, { window = 8 }))
      assert.equal(1, subscription:next().data.i)
      operations.sleep(0.1)
      assert.is_true(seen.yielded <= 10, "yielded " .. seen.yielded)
      assert.equal(5, assert(map:call("contract.add", { a = 2, b = 3 })).data) -- nobody else waits for it
      for i = 2, 100 do
        assert.equal(i, subscription:next().data.i)
      end
      subscription:close()
    end)
  end)

  it("raises the error of a subscription that fails, after its events", function()
    with(function(map)
      local seen = {}
      local ok, raised = pcall(function()
        for envelope in assert(map:subscribe("contract.count", { n = 2, fails = true })) do
          seen[#seen + 1] = envelope.data.i
        end
      end)
      assert.is_false(ok)
      assert.equal("FULL", raised.code)
      assert.same({ 1, 2 }, seen)
    end)
  end)

  it("runs the handler's cleanup once when the consumer closes", function()
    with(function(map, seen, handler)
      local subscription = assert(map:subscribe("contract.wait", { seconds = 30 }))
      assert.is_true(subscription:next().data.first)
      subscription:close()
      subscription:close()
      assert.is_nil(subscription:next())
      eventually(function()
        return seen.cleaned == 1 and handler.active == 0
      end)
      assert.equal(0, map:pending_count())
    end)
  end)

  it("ends a subscription that has been dropped", function()
    with(function(map, seen)
      assert(assert(map:subscribe("contract.wait", { seconds = 30 })):next())
      eventually(function()
        collectgarbage()
        return seen.cleaned == 1
      end)
    end)
  end)

  it("ends a subscription that is idle too long", function()
    with(function(map, seen, _, clock)
      local subscription = assert(map:subscribe("contract.wait", { seconds = 90 }, { idleTimeout = 60000 }))
      assert.is_true(subscription:next().data.first)
      local waiting = operations.spawn(subscription.next, subscription)
      operations.sleep(0)
      clock:forward(60000)
      local nothing, err = waiting:wait()
      assert.is_nil(nothing)
      assert.equal("TIMEOUT", err.code)
      assert.same({ idleTimeout = 60000 }, err.details)
      eventually(function()
        return seen.cleaned == 1
      end)
    end)
  end)

  it("answers a call of a subscription with the first event, and ends it", function()
    with(function(map, seen)
      assert.is_true(map:call("contract.wait", { seconds = 30 }).data.first)
      eventually(function()
        return seen.cleaned == 1
      end)
    end)
  end)

  it("gives a subscriber of a query one event and the end", function()
    with(function(map)
      local subscription = assert(map:subscribe("contract.add", { a = 1, b = 1 }))
      assert.equal(2, subscription:next().data)
      assert.is_nil(subscription:next())
    end)
  end)

  it("serves a registry that routes to it: specs are imported, inputs validated at home", function()
    with(function(map)
      local registry = operations.registry()
      registry:route(map)
      assert.equal(7, assert(registry:execute("contract.add", { a = 3, b = 4 })).data)
      local ids = assert(operations.import(registry, map))
      assert.equal("contract.add", ids[1])
      assert.equal("/b", select(2, registry:execute("contract.add", { a = 3 })).details[1].path)
      local n = 0
      for _ in assert(registry:subscribe("contract.count", { n = 3 })) do
        n = n + 1
      end
      assert.equal(3, n)
      assert.equal("contract", assert(map:call("services.schema", { operationId = "contract.add" })).data.namespace)
    end)
  end)

  if not traits.queued then
    it("refuses calls for which it has no room, and says that they were not started", function()
      with(function(map, seen)
        local busy = operations.spawn(function()
          return map:call("contract.sleep", { seconds = 30 })
        end)
        eventually(function()
          return seen.started == 1
        end)
        local _, err = map:call("contract.echo")
        assert.equal("BUSY", err.code)
        assert.is_true(err.retryable)
        assert.is_false(err.mayHaveRun)
        busy:cancel()
      end, { max_requests = 1 })
    end)

    it("lets running calls end before it leaves, and accepts nothing more", function()
      with(function(map, seen, handler, clock)
        local call = operations.spawn(function()
          return map:call("contract.sleep", { seconds = 3 })
        end)
        eventually(function()
          return seen.started == 1
        end)
        local drained = operations.spawn(function()
          handler:drain()
          return seen.ended
        end)
        operations.sleep(0.01)
        assert.equal("DRAINING", select(2, clock:pass(map.call, map, "contract.echo")).code)
        assert.equal("slept", clock:pass(call.wait, call).data)
        assert.equal(1, drained:wait())
      end)
    end)
  end

  it("passes progress to a caller that wants it", function()
    with(function(map)
      local told = {}
      local function on_progress(...)
        told[#told + 1] = { ... }
      end
      assert.is_true(assert(map:call("contract.copy", {}, { on_progress = on_progress })).data)
      assert.same({ { 1, 2, "half" }, { 2, 2 } }, told)
      local seen = {}
      for envelope in assert(map:subscribe("contract.copies", {}, { on_progress = on_progress })) do
        seen[#seen + 1] = envelope.data
      end
      assert.same({ { true }, { 0.5 } }, { seen, told[3] })
      assert.is_false(assert(map:call("contract.copy")).data)
      assert.equal(3, #told)
      assert.same({ refused = 0, late = 0, duplicate = 0 }, map:counted())
    end)
  end)

  it("fails pending calls when it is closed", function()
    with(function(map, seen)
      local call = operations.spawn(function()
        return map:call("contract.sleep", { seconds = 30 })
      end)
      local subscription = assert(map:subscribe("contract.wait", { seconds = 30 }))
      eventually(function()
        return seen.started == 1
      end)
      map:close()
      local _, err = call:wait()
      assert.equal("TRANSPORT_LOST", err.code)
      assert.is_true(err.mayHaveRun)
      repeat
        _, err = subscription:next()
      until not _
      assert.equal("TRANSPORT_LOST", err.code)
      eventually(function()
        return seen.ended == 1
      end)
      assert.equal("TRANSPORT_LOST", select(2, map:call("contract.echo")).code)
    end)
  end)

  if traits.direct then
    it("aborts from the serving side by requestId", function()
      with(function(map, seen, _, _, served)
        local caller = operations.spawn(function()
          return map:call("contract.stubborn", nil, { requestId = "served" })
        end)
        eventually(function()
          return seen.started
        end)
        served:abort("served", "enough")
        assert.equal("ABORTED", select(2, caller:wait()).code)
        eventually(function()
          return seen.waits
        end)
        assert.is_true(seen.cancelled)
      end)
    end)
  else
    it("believes no identity that the transport did not authenticate", function()
      with(function(map)
        local identity = { id = "root", scopes = { "s" } }
        assert.equal("ACCESS_DENIED", select(2, map:call("contract.secret", nil, { identity = identity })).code)
      end)
    end)
  end
end
