local connections = require("spec.calls.connections")
local contract = require("spec.calls.contract")
local core = require("operations.core")
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local operations = require("operations")
local task = require("operations.task")
local wire = require("spec.support.wire")

local function quiet() end

describe("a call map in process", function()
  contract(it, connections.in_process, { direct = true })
end)

describe("a call map between two registries in one program", function()
  contract(it, connections.pair, { direct = true })

  it("aborts its running handlers when the other end is closed", function()
    local one, other = operations.transports.pair()
    local map, served = operations.call_map(one), operations.call_map(other)
    local aborted
    served:serve(function(request)
      request.on_abort = function(err)
        aborted = err
      end
    end)
    local stream = assert(map:subscribe("a.b"))
    map:close()
    assert.equal("TRANSPORT_LOST: the other end was closed", tostring(aborted))
    assert.equal("TRANSPORT_LOST: the call map was closed", tostring(select(2, stream:next())))
    assert.equal("TRANSPORT_LOST: the other end is closed", tostring(select(2, served:call("a.b"))))
  end)
end)

describe("a call map over a wire", function()
  contract(it, connections.wire)
end)

describe("a call map", function()
  local one, other, map, served, logged

  before_each(function()
    one, other = wire.pair()
    logged = {}
    local function log(_, message)
      logged[#logged + 1] = message
    end
    map, served = operations.call_map(one, { log = log }), operations.call_map(other, { log = log })
  end)

  after_each(function()
    map:close()
  end)

  it("obeys the earlier of the time left when a request was sent and its deadline", function()
    local seen = {}
    served:serve(function(request)
      seen[#seen + 1] = request.deadline - core.now()
    end)
    local function send(deadline, ttl)
      one:inject({ type = "call.requested", payload = { requestId = "request" .. #seen, operationId = "a.b",
        deadline = deadline, ttl = ttl } })
      return seen[#seen]
    end
    local left = send(core.now() + 864e5, 60000) -- a clock that is a day ahead
    assert.is_true(left > 0 and left <= 60000)
    assert.is_true(send(1, 60000) < 0) -- it lay in a socket for long
    assert.is_true(send(1) < 0) -- from a peer without ttl
  end)

  it("refuses invalid events, logs and counts them", function()
    local bad = {
      false, "text", {}, { type = "call.requested" }, { type = "call.requested", payload = {} },
      { type = "call.requested", payload = { requestId = "", operationId = "a.b" } },
      { type = "call.requested", payload = { requestId = "1", operationId = "a.b", deadline = -1 } },
      { type = "call.requested", payload = { requestId = "1", operationId = "a.b", identity = { id = 1 } } },
      { type = "call.responded", payload = { requestId = "1", output = { data = 1 } } },
      { type = "call.error", payload = { requestId = "1", code = "X" } },
      { type = "call.credit", payload = { requestId = "1", n = 0 } },
      { type = "call.unheard", payload = { requestId = "1" } },
    }
    for i = 1, #bad do
      one:inject(bad[i])
    end
    assert.equal(#bad, served:counted().refused)
    assert.equal(#bad, #logged)
    assert.truthy(logged[5]:find("call.requested: ", 1, true))
    assert.truthy(logged[5]:find("operationId", 1, true))
  end)

  it("counts events of requests that it did not make", function()
    local output = operations.local_envelope(1, "a.b")
    other:inject({ type = "call.responded", payload = { requestId = "1", output = output } })
    other:inject({ type = "call.completed", payload = { requestId = "1" } })
    other:inject({ type = "call.error", payload = { requestId = "1", code = "X", message = "" } })
    other:inject({ type = "call.credit", payload = { requestId = "1", n = 1 } })
    other:inject({ type = "call.aborted", payload = { requestId = "1" } })
    assert.same({ refused = 0, late = 5, duplicate = 0 }, map:counted())
  end)

  it("says that it serves nothing when it does not", function()
    local _, err = map:call("a.b")
    assert.equal("UNAVAILABLE", err.code)
  end)

  it("refuses a request whose id is being served", function()
    served:serve(function() end)
    for _ = 1, 2 do
      one:inject({ type = "call.requested", payload = { requestId = "1", operationId = "a.b" } })
    end
    assert.equal(1, served:counted().refused)
  end)

  it("answers a peer that asks by the id of another's request, and keeps it from changing that request", function()
    local request
    served:serve(function(one_request)
      request = one_request
    end)
    local stranger, answers = {}, {}
    function other.send(_, name, payload, peer)
      answers[#answers + 1] = peer == stranger and name .. " " .. payload.code or name
    end
    local function from(peer, name, payload)
      payload.requestId = "1"
      other.receiver.event({ type = name, payload = payload }, peer)
    end
    from(other.peer, "call.requested", { operationId = "a.b", credit = 1 })
    from(stranger, "call.requested", { operationId = "a.b" })
    from(stranger, "call.credit", { n = 5 })
    assert.same({ "call.error VALIDATION_ERROR" }, answers)
    assert.equal(1, request.credit)
    from(other.peer, "call.credit", { n = 5 })
    assert.equal(6, request.credit)
  end)

  it("can be served by hand: respond, emit_error, complete", function()
    local ids = {}
    served:serve(function(request)
      ids[#ids + 1] = request.id
      if request.operationId == "a.good" then
        assert(served:respond(request.id, operations.local_envelope(1, "a.good")))
      elseif request.operationId == "a.stream" then
        request.streams = true
        assert(served:respond(request.id, operations.local_envelope(1, "a.stream")))
        assert(served:complete(request.id))
      else
        assert(served:emit_error(request.id, "BAD", "no", { a = 1 }))
      end
    end)
    assert.equal(1, map:call("a.good").data)
    assert.same({ code = "BAD", message = "no", details = { a = 1 } }, select(2, map:call("a.bad")))
    local n = 0
    for _ in map:subscribe("a.stream") do
      n = n + 1
    end
    assert.equal(1, n)
    for _, id in ipairs(ids) do
      local ok, err = served:complete(id)
      assert.is_nil(ok)
      assert.equal("OPERATION_NOT_FOUND", err.code)
    end
  end)

  it("responds with envelopes only", function()
    assert.has_error(function()
      served:respond("1", { data = 1 })
    end, "bad argument #2 to 'respond' (response envelope expected, got table)")
  end)

  it("tells the caller of a result that cannot be sent", function()
    local registry = operations.registry({ log = quiet })
    registry:register({ namespace = "a", name = "odd", handler = function()
      return { f = print }
    end })
    registry:register({ namespace = "a", name = "fails", handler = function()
      return nil, operations.error("BAD", "see details", { f = print })
    end })
    operations.call_handler(registry, served)
    local _, err = map:call("a.odd")
    assert.equal("EXECUTION_ERROR", err.code)
    assert.truthy(err.message:find("/f", 1, true))
    _, err = map:call("a.fails")
    assert.same({ "BAD", "see details" }, { err.code, err.message })
    _, err = map:call("a.odd", { f = print })
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal(0, map:pending_count())
  end)

  it("ends a subscription whose event cannot be sent", function()
    local answers = {}
    served:serve(function(request)
      request.streams = true
      for i, data in ipairs({ print, 1 }) do
        answers[i] = select(2, served:respond(request.id, core.local_envelope(data, "a.b"))).code
      end
    end)
    local _, err = assert(map:subscribe("a.b")):next()
    assert.equal("EXECUTION_ERROR", err.code)
    assert.same({ "VALIDATION_ERROR", "OPERATION_NOT_FOUND" }, answers)
  end)

  it("tells the caller of a failure that cannot be sent", function()
    local registry = operations.registry({ log = quiet })
    for name, raised in pairs({ message = "caf\233", code = operations.error("C\233", "no"),
      nothing = operations.error("", "no") }) do
      registry:register({ namespace = "a", name = name, handler = function()
        error(raised, 0)
      end })
    end
    operations.call_handler(registry, served)
    local _, err = map:call("a.message")
    assert.equal("EXECUTION_ERROR", err.code)
    assert.matches("^a%.message: the error cannot be sent: .*UTF%-8", err.message)
    _, err = map:call("a.code")
    assert.equal("EXECUTION_ERROR", err.code)
    _, err = map:call("a.nothing")
    assert.same({ "UNKNOWN_ERROR", "no" }, { err.code, err.message })
  end)

  it("aborts for whatever reason, be it none that can be sent", function()
    local started, ended = 0, 0
    local registry = operations.registry({ log = quiet })
    registry:register({ namespace = "a", name = "slow", handler = function()
      started = started + 1
      local _, raised = pcall(operations.sleep, 60)
      ended = ended + 1
      error(raised, 0)
    end })
    operations.call_handler(registry, served)
    for i, reason in ipairs({ "caf\233", ("x"):rep(100000) }) do
      operations.run(function()
        local call = operations.spawn(function()
          return map:call("a.slow", nil, { requestId = "r" .. i })
        end)
        eventually(function()
          return started == i
        end)
        map:abort("r" .. i, reason)
        assert.equal(reason, select(2, call:wait()).message)
        eventually(function()
          return ended == i
        end)
      end)
    end
  end)

  it("answers an invalid request if its id can be read", function()
    operations.call_handler(operations.registry({ log = quiet }), served)
    for _, wrong in ipairs({ { identity = { id = "x" } }, { metadata = { 1, 2 } }, { parentRequestId = "" },
      { idleTimeout = -1 } }) do
      local _, err = map:call("a.b", nil, wrong)
      assert.same({ "VALIDATION_ERROR", false, false }, { err.code, err.retryable, err.mayHaveRun })
      assert.matches("/" .. next(wrong), err.message)
    end
    assert.equal("VALIDATION_ERROR", select(2, map:call("")).code)
    assert.equal(5, served:counted().refused)
  end)

  it("waits without a limit when the option says so", function()
    local registry = operations.registry({ log = quiet })
    registry:register({ namespace = "a", name = "deadline", handler = function(_, context)
      return { none = context.deadline == nil }
    end })
    operations.call_handler(registry, served)
    assert.is_true(map:call("a.deadline", nil, { timeout = math.huge }).data.none)
    assert.is_true(map:call("a.deadline", nil, { deadline = math.huge }).data.none)
    registry:register({ namespace = "a", name = "count", type = "subscription", handler = function()
      for i = 1, 100 do
        coroutine.yield(i)
      end
    end })
    local last
    for envelope in assert(map:subscribe("a.count", nil, { window = math.huge, idleTimeout = math.huge })) do
      last = envelope.data
    end
    assert.equal(100, last)
  end)

  it("drops events that came twice, and ends a subscription of which one is missing", function()
    served:serve(function(request)
      for _, seq in ipairs({ 1, 1, 2, 4 }) do
        request:send("call.responded", {
          requestId = request.id, output = operations.local_envelope(seq, "a.b"), seq = seq,
        })
      end
    end)
    local subscription = map:subscribe("a.b")
    assert.equal(1, subscription:next().data)
    assert.equal(2, subscription:next().data)
    local _, err = subscription:next()
    assert.same({ "TRANSPORT_LOST", { seq = 4, expected = 3 } }, { err.code, err.details })
    assert.equal(1, map:counted().duplicate)
  end)

  it("ends a subscription whose producer sends more than it may", function()
    served:serve(function(request)
      for seq = 1, 9 do
        request:send("call.responded", {
          requestId = request.id, output = operations.local_envelope(seq, "a.b"), seq = seq,
        })
      end
    end)
    local subscription = map:subscribe("a.b", nil, { window = 4 })
    operations.sleep(0.05)
    for i = 1, 4 do
      assert.equal(i, subscription:next().data)
    end
    assert.equal("EXECUTION_ERROR", select(2, subscription:next()).code)
    assert.equal(4, map:counted().late)
  end)

  it("takes the first event of a subscription that is called, and ends the rest", function()
    local ended
    served:serve(function(request)
      request.streams = true
      request.on_abort = function()
        ended = true
      end
      request:respond(operations.local_envelope(1, "a.b"))
    end)
    assert.equal(1, map:call("a.b").data)
    operations.sleep(0.02)
    assert.is_true(ended)
  end)

  it("believes the identity that the transport authenticated, and one that it vouches for", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "who", handler = function(_, context)
      return context.identity and context.identity.id or "nobody"
    end })
    operations.call_handler(registry, served)
    local claimed = { identity = { id = "claimed", scopes = {} } }
    assert.equal("nobody", map:call("a.who", nil, claimed).data)
    other.peer.identity = { id = "known", scopes = {} }
    assert.equal("known", map:call("a.who", nil, claimed).data)
    one.other.peer.identity, other.peer.vouches = nil, true
    assert.equal("claimed", map:call("a.who", nil, claimed).data)
  end)

  it("takes nothing but its protocol's fields from the wire into a context", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "env", handler = function(_, context)
      return type(context.env.a.env) == "function" and type(context.log) == "function"
    end })
    operations.call_handler(registry, served)
    local answered
    map._pending["x"] = { respond = function(_, payload)
      answered = payload.output.data
    end }
    one:inject({ type = "call.requested", payload = {
      requestId = "x", operationId = "a.env", env = { a = { env = 1 } }, log = "text", timeout = 0,
    } })
    operations.sleep(0.02)
    map._pending["x"] = nil
    assert.is_true(answered)
  end)

  it("offers over a wire only exposed operations", function()
    local registry = operations.registry()
    for _, exposed in ipairs({ "yes", "no" }) do
      registry:register({ namespace = "a", name = exposed, _meta = { exposed = exposed == "yes" }, handler = function()
        return 1
      end })
    end
    operations.call_handler(registry, served)
    assert.equal(1, map:call("a.yes").data)
    assert.equal("OPERATION_NOT_FOUND", select(2, map:call("a.no")).code)
    local listed = map:call("services.list").data.operations
    assert.same({ "yes" }, { listed[1].name, listed[2] })
    assert.equal("OPERATION_NOT_FOUND", select(2, map:call("services.schema", { operationId = "a.no" })).code)
  end)

  it("takes an empty table for an array where an imported spec says that it is one", function()
    local registry, here = operations.registry(), operations.registry()
    assert(registry:register({
      namespace = "a", name = "b", tags = {}, errorSchemas = {}, accessControl = { requiredScopes = {} },
      inputSchema = { type = "object", required = {}, properties = {
        list = { type = "array" }, more = { type = "array", default = {} }, object = { type = "object", default = {} },
      } },
      handler = function(input)
        return operations.json.encode(input, { sort_keys = true })
      end,
    }))
    operations.call_handler(registry, served)
    assert(operations.import(here, map, { namespace = "a" }))
    here:route(map)
    assert.equal('{"list":[],"more":[],"object":{}}', assert(here:execute("a.b", { list = {} })).data)
    local _, err = map:call("a.b", { list = {} })
    assert.equal("/list", err.details[1].path)
  end)

  it("gives an event to a waiting task that holds nothing else of the subscription", function()
    served:serve(function(request)
      request.streams = true
      task.detach(function()
        operations.sleep(0.01)
        collectgarbage()
        collectgarbage()
        operations.sleep(0.01)
        request:respond(operations.local_envelope(1, "a.b"))
      end)
    end)
    assert.equal(1, assert(assert(map:subscribe("a.b")):next()).data)
  end)

  it("tells a peer once for each request that its events are no longer taken", function()
    local told, output = {}, operations.local_envelope(1, "a.b")
    function one.send(_, name, payload)
      told[#told + 1] = name .. " " .. payload.requestId
      return true
    end
    for _, id in ipairs({ "x", "y", "x", "y", "x" }) do
      other:inject({ type = "call.responded", payload = { requestId = id, output = output } })
    end
    one.send = nil
    assert.same({ "call.aborted x", "call.aborted y" }, told)
  end)

  it("keeps no place for a request that was aborted before it began", function()
    local registry, began = operations.registry(), false
    registry:register({ namespace = "a", name = "b", handler = function()
      began = true
    end })
    local handler = operations.call_handler(registry, served)
    operations.run(function() -- the task that is to work on it begins when this one waits
      one:inject({ type = "call.requested", payload = { requestId = "1", operationId = "a.b" } })
      assert.equal(1, handler.active)
      one:inject({ type = "call.aborted", payload = { requestId = "1" } })
    end)
    operations.sleep(0.01)
    assert.same({ false, 0 }, { began, handler.active })
  end)

  it("runs requests after an aborted one as if nothing had been", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "wait", handler = function()
      operations.sleep(60)
    end })
    registry:register({ namespace = "a", name = "leave", handler = function()
      operations.spawn(operations.sleep, 0.05)
      return 1
    end })
    registry:register({ namespace = "a", name = "nap", handler = function(input, context)
      operations.sleep(0.001)
      return { input = input, cancelled = context:cancelled(), deadline = context.deadline or operations.null }
    end })
    local handler = operations.call_handler(registry, served)
    operations.run(function()
      for i = 1, 20 do
        assert.equal("TIMEOUT", select(2, map:call("a.wait", nil, { timeout = 2 })).code)
        assert.equal(1, map:call("a.leave").data)
        assert.same({ i }, map:call("a.nap", { i }, { timeout = 60000 }).data.input)
        assert.is_false(map:call("a.nap", { i }).data.cancelled)
      end
    end)
    assert.equal(0, handler.active)
  end)

  it("does not send a request back where it came from", function()
    local registry = operations.registry()
    local loop = operations.call_map()
    operations.call_handler(registry, loop)
    registry:route(loop)
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:execute("a.b")).code)
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:subscribe("a.b")).code)
  end)

  describe("in one program", function()
    local registry, loop

    before_each(function()
      registry, loop = operations.registry(), operations.call_map()
      operations.call_handler(registry, loop)
    end)

    for _, kind in ipairs({ "mutation", "subscription" }) do
      it("ends a call of a " .. kind .. " by the id that its handler was told", function()
        registry:register({ namespace = "a", name = "b", type = kind, handler = function(_, context)
          operations.spawn(function()
            loop:abort(context.requestId, "enough")
          end)
          operations.sleep(60)
        end })
        operations.run(function()
          local _, err = loop:call("a.b")
          assert.equal("ABORTED: enough", tostring(err))
        end)
        assert.equal(0, loop:pending_count())
      end)
    end

    it("lets others run beside a subscription that never waits and has unlimited credit", function()
      registry:register({ namespace = "a", name = "b", type = "subscription", handler = function(_, context)
        while true do
          context.emit(1)
        end
      end })
      local seen, ticks = 0, 0
      operations.run(function()
        local stream = assert(loop:subscribe("a.b", nil, { window = math.huge }))
        operations.spawn(function()
          while stream:next() do
            seen = seen + 1
          end
        end)
        for _ = 1, 5 do
          operations.sleep(0)
          ticks = ticks + 1
        end
        stream:close()
      end)
      assert.equal(5, ticks)
      assert.is_true(seen > 0)
    end)

    it("forgets a call whose coroutine was dropped, and gives its place to others", function()
      local handler
      loop = operations.call_map()
      handler = operations.call_handler(registry, loop, { max_requests = 1 })
      registry:register({ namespace = "a", name = "b", handler = function(input)
        if input.drop then
          coroutine.yield()
        end
        return 1
      end })
      local co = coroutine.create(function()
        return loop:call("a.b", { drop = true })
      end)
      coroutine.resume(co)
      assert.equal("BUSY", select(2, loop:call("a.b")).code)
      co = nil -- luacheck: ignore 311
      for _ = 1, 5 do
        collectgarbage()
        operations.sleep(0)
      end
      assert.equal(1, loop:call("a.b").data)
      assert.same({ 0, 0 }, { loop:pending_count(), handler.active })
    end)

    it("lets the caller wait after an aborted call, also in a coroutine of the program", function()
      registry:register({ namespace = "a", name = "b", handler = function(_, context)
        loop:abort(context.requestId)
        return pcall(operations.sleep, 0)
      end })
      local codes = {}
      local co = coroutine.create(function()
        codes[1] = select(2, loop:call("a.b")).code
        operations.sleep(0)
        codes[2] = "slept"
      end)
      assert(coroutine.resume(co))
      assert.same({ "ABORTED", "slept" }, codes)
    end)

    it("ends a call with an unknown id when it is closed", function()
      local counted
      registry:register({ namespace = "a", name = "b", handler = function()
        operations.spawn(function()
          counted = loop:pending_count()
          loop:close()
        end)
        operations.sleep(60)
      end })
      operations.run(function()
        local _, err = loop:call("a.b")
        assert.equal("TRANSPORT_LOST", err.code)
      end)
      assert.equal(1, counted)
      assert.equal(0, loop:pending_count())
    end)
  end)

  it("says what is wrong with its arguments", function()
    assert.has_error(function()
      map:call(1)
    end, "bad argument #1 to 'call' (string expected, got number)")
    assert.has_error(function()
      map:subscribe("a.b", nil, { window = "8" })
    end, "bad option 'window' to 'subscribe' (number expected, got string)")
    assert.has_error(function()
      map:call("a.b", nil, { retries = 1 })
    end, "bad option 'retries' to 'call' (unknown)")
    for _, id in ipairs({ "", ("x"):rep(257) }) do
      assert.has_error(function()
        map:call("a.b", nil, { requestId = id })
      end, ("bad option 'requestId' to 'call' (1 to 256 characters expected, got %s)"):format(id))
    end
    for _, window in ipairs({ 0, -1, 1.5 }) do
      assert.has_error(function()
        map:subscribe("a.b", nil, { window = window })
      end, ("bad option 'window' to 'subscribe' (a whole number from 1 on expected, got %s)"):format(window))
    end
    for _, option in ipairs({ "timeout", "deadline", "idleTimeout" }) do
      for _, value in ipairs({ 0 / 0, -math.huge }) do
        assert.has_error(function()
          map:call("a.b", nil, { [option] = value })
        end, ("bad option '%s' to 'call' (a number expected, got %s)"):format(option, value))
      end
    end
    assert.equal("UNAVAILABLE", select(2, map:call("a.b", nil, { requestId = ("\195\164"):rep(256) })).code)
    assert.has_error(function()
      map:abort("r1", 1)
    end, "bad argument #2 to 'abort' (string expected, got number)")
    assert.has_error(function()
      map:emit_error("r1", nil, "no")
    end, "bad argument #2 to 'emit_error' (string expected, got nil)")
    for _, name in ipairs({ "call", "subscribe", "abort" }) do -- a dot for the colon
      assert.has_error(function()
        map[name]("a.b")
      end, ("calling '%s' on bad self (call map expected, got string)"):format(name))
    end
  end)

  -- Why a call with the id "1" was aborted that is under way when `act` runs: what its handler and its caller are told.
  local function aborted_by(act)
    local aborted
    served:serve(function(request)
      request.on_abort = function(err)
        aborted = err
      end
    end)
    local call = task.spawn(function()
      return map:call("a.b", nil, { requestId = "1" })
    end)
    operations.sleep(0.01)
    act()
    return aborted, select(2, call:wait())
  end

  it("aborts its running handlers when the peer is lost", function()
    local aborted, err = aborted_by(function() one:close() end)
    assert.equal("TRANSPORT_LOST", err.code)
    assert.equal("TRANSPORT_LOST", aborted.code)
    assert.is_true(errors.is_error(aborted))
  end)

  it("aborts a running handler by its id, and tells the other side", function()
    local aborted, err = aborted_by(function() served:abort("1", "enough") end)
    assert.equal("ABORTED: enough", tostring(aborted))
    assert.equal("ABORTED: enough", tostring(err))
  end)

  describe("whose transport connects again", function()
    local sent, refusal, transport, again

    before_each(function()
      sent, refusal = {}, nil
      transport = { reconnects = true, close = quiet }
      function transport:open(receiver)
        self.receiver = receiver
      end
      function transport.send(_, _, payload)
        sent[#sent + 1] = { id = payload.requestId, credit = payload.credit or payload.n }
        return not refusal, refusal
      end
      again = operations.call_map(transport, { log = quiet })
    end)

    local function reconnect()
      transport.receiver.lost(operations.error("TRANSPORT_LOST", "lost"))
      transport.receiver.ready()
    end

    local function deliver(id, seq)
      transport.receiver.event({ type = "call.responded", payload = { requestId = id, seq = seq,
        output = core.local_envelope("event", "a.b") } }, {})
    end

    it("subscribes again once, with credit for the events that there is room for, one at least", function()
      local stream = assert(again:subscribe("a.b", nil, { resubscribe = true, window = 3 }))
      local credits = {}
      for i = 1, 3 do
        deliver(sent[#sent].id, 1)
        reconnect()
        credits[i] = sent[#sent].credit
      end
      assert.same({ 2, 1, 1 }, credits)
      transport.receiver.ready()
      assert.same({ 4, 1 }, { #sent, again:pending_count() })
      stream:close()
    end)

    it("ends a call that it keeps at its deadline", function()
      local err
      task.spawn(function()
        err = select(2, again:call("a.b", nil, { timeout = 10 }))
      end)
      operations.sleep(0)
      transport.receiver.lost(operations.error("TRANSPORT_LOST", "lost"), function(id)
        return id == sent[1].id
      end)
      eventually(function()
        return err
      end)
      assert.equal("TIMEOUT", err.code)
    end)

    it("ends at its close subscriptions that would subscribe again", function()
      local stream = assert(again:subscribe("a.b", nil, { resubscribe = true }))
      again:close()
      assert.equal("TRANSPORT_LOST: the call map was closed", tostring(select(2, stream:next())))
    end)

    it("aborts an ended request again whose events continue after 1,024 others were aborted", function()
      local function aborts(id)
        local before = #sent
        deliver(id)
        return #sent - before
      end
      for _ = 1, 1025 do
        assert(again:subscribe("a.b")):close()
      end
      assert.same({ 0, 1, 0 }, { aborts(sent[#sent].id), aborts(sent[1].id), aborts(sent[1].id) })
    end)

    it("drops events of the request before", function()
      local stream = assert(again:subscribe("a.b", nil, { resubscribe = true }))
      reconnect()
      deliver(sent[1].id, 1)
      assert.equal(1, again:counted().late)
      stream:close()
    end)

    it("tells the transport which events it refuses", function()
      assert.is_false(transport.receiver.event({ type = "call.unknown" }, {}))
      assert.is_nil(transport.receiver.event({ type = "call.completed", payload = { requestId = "1" } }, {}))
    end)

    it("knows the operations of the other sides where the transport does", function()
      assert.is_nil(again:offered())
      function transport.offered()
        return { "a.b" }
      end
      assert.same({ "a.b" }, again:offered())
    end)

    it("hears what its handler serves to others, nothing once it is drained", function()
      local registry = operations.registry()
      for name, exposed in pairs({ shown = true, hidden = false }) do
        registry:register({ namespace = "a", name = name, handler = quiet, _meta = { exposed = exposed } })
      end
      local handler = operations.call_handler(registry, again)
      assert.same({ "services.list", "services.schema", "a.shown" }, transport.receiver.offers())
      handler:drain()
      assert.same({}, transport.receiver.offers())
    end)

    it("hears of its handler's room for requests, and once when there is some again", function()
      local registry, stop, woken = operations.registry(), nil, 0
      registry:register({ namespace = "a", name = "b", handler = function()
        operations.await(function(wake)
          stop = wake
        end)
      end })
      local handler = operations.call_handler(registry, again, { max_requests = 1 })
      local room = transport.receiver.room
      local function wake()
        woken = woken + 1
      end
      local function serve(id)
        transport.receiver.event({ type = "call.requested", payload = { requestId = id, operationId = "a.b" } }, {})
        operations.sleep(0)
        local left = room(id == "1" and wake or nil)
        stop()
        operations.sleep(0)
        return left
      end
      assert.same({ 1, 0, 0, 1 }, { room(wake), woken, serve("1"), woken })
      assert.same({ 1, 0, 1 }, { room(), serve("2"), woken })
      handler:drain()
      assert.equal(0, room())
    end)

    it("refuses requests while its handler drains, which may be tried elsewhere", function()
      local payloads = {}
      function transport.send(_, _, payload)
        payloads[#payloads + 1] = payload
        return true
      end
      operations.call_handler(operations.registry(), again):drain()
      transport.receiver.event({ type = "call.requested", payload = { requestId = "1", operationId = "services.list",
        ttl = 60000 } }, {})
      assert.same({ "DRAINING", true, false, 1 }, { payloads[1].code, payloads[1].retryable, payloads[1].mayHaveRun,
        #payloads })
    end)

    it("is not limited by the time that a handler was given to drain", function()
      local registry = operations.registry()
      registry:register({ namespace = "a", name = "b", handler = function()
        operations.sleep(60)
      end })
      local handler = operations.call_handler(registry, again)
      transport.receiver.event({ type = "call.requested", payload = { requestId = "1", operationId = "a.b" } }, {})
      operations.run(function()
        handler:drain(1)
        operations.sleep(0.002)
      end)
      assert.equal(1, handler.active)
      again:close()
    end)

    it("grants credit for half a window at a time", function()
      local stream = assert(again:subscribe("a.b", nil, { window = 6 }))
      local grants = {}
      for seq = 1, 6 do
        deliver(sent[1].id, seq)
        stream:next()
        grants[seq] = #sent - 1
      end
      assert.same({ 0, 0, 1, 1, 1, 2 }, grants)
      assert.same({ 3, 3 }, { sent[2].credit, sent[3].credit })
      stream:close()
      assert.same({}, { stream:next() })
    end)

    it("waits for an event until the deadline of the task, which may be before idleTimeout", function()
      local host = fake_host.new(core.now())
      local stream, envelope, err = assert(again:subscribe("a.b", nil, { idleTimeout = 60000 }))
      hosts.use(host)
      operations.run(function()
        task.spawn(function()
          operations.sleep(0.1)
          deliver(sent[1].id, 1)
        end)
        task.deadline(host.now() + 2)
        envelope, err = stream:next()
      end)
      hosts.use("plain")
      assert.is_nil(envelope)
      assert.same({ "TIMEOUT" }, { err.code, err.details })
    end)

    it("ends the handler of a subscription whose event cannot be sent", function()
      local registry, ended = operations.registry(), false
      registry:register({ namespace = "a", name = "b", type = "subscription", handler = function(_, context)
        context.defer(function()
          ended = true
        end)
        coroutine.yield(1)
      end })
      operations.call_handler(registry, again)
      refusal = operations.error("BUSY", "full")
      transport.receiver.event({ type = "call.requested", payload = { requestId = "1", operationId = "a.b",
        credit = 5 } }, {})
      operations.sleep(0)
      assert.is_true(ended)
    end)

    it("tells which limit of a subscription has passed", function()
      for _, case in ipairs({ { 1, 1000, "idleTimeout" }, { 1000, 1, "deadline" }, { nil, 1, "deadline" } }) do
        local stream = assert(again:subscribe("a.b", nil, { idleTimeout = case[1], timeout = case[2] }))
        local _, err = stream:next()
        assert.equal("TIMEOUT", err.code)
        assert.equal(case[3], next(err.details))
      end
    end)

    describe("and can hold its peer back", function()
      local host, calls, stream

      before_each(function()
        host, calls = fake_host.new(), {}
        for _, name in ipairs({ "hold", "release" }) do
          transport[name] = function()
            calls[#calls + 1] = name
          end
        end
        stream = assert(again:subscribe("a.b", nil, { unconsumed_bytes = 1, consumer_timeout = 100 }))
        hosts.use(host)
      end)

      after_each(function()
        hosts.use("plain")
      end)

      local function pending_after(ms)
        host.advance(ms)
        return again:pending_count()
      end

      it("ends a subscription whose consumer stops meanwhile", function()
        for _ = 1, 3 do
          deliver(sent[1].id)
        end
        host.advance(60)
        stream:next()
        assert.same({ 1, 1, 0 }, { pending_after(60), pending_after(70), pending_after(20) })
        assert.same({ "hold", "release" }, calls)
      end)

      it("holds it back whenever too much is unconsumed", function()
        for _ = 1, 2 do
          deliver(sent[1].id)
          deliver(sent[1].id)
          stream:next()
          stream:next()
          assert.equal(1, pending_after(1000))
        end
        assert.same({ "hold", "release", "hold", "release" }, calls)
      end)
    end)

    it("sets no timer any more once it is closed", function()
      local host, timers = fake_host.new(), {}
      hosts.use(host)
      operations.run(function()
        task.spawn(function()
          again:call("a.b")
        end)
        operations.sleep(0)
        timers[1] = host.timers
        again:close()
        timers[2] = host.timers
      end)
      hosts.use("plain")
      assert.same({ 1, 0 }, timers)
    end)

    it("ends a subscription whose request cannot be sent again", function()
      local stream = assert(again:subscribe("a.b", nil, { resubscribe = true }))
      refusal = operations.error("BUSY", "full")
      reconnect()
      assert.equal("BUSY: full", tostring(select(2, stream:next())))
    end)
  end)

  it("says of a request that was not sent that it surely did not run", function()
    local function known(...)
      local _, err = map:call(...)
      return { err.code, err.retryable, err.mayHaveRun }
    end
    assert.same({ "VALIDATION_ERROR", false, false }, known("a.b", { fn = print }))
    served:serve(function() end)
    local call = task.spawn(function()
      return map:call("a.b", nil, { requestId = "1" })
    end)
    operations.sleep(0.01)
    assert.same({ "VALIDATION_ERROR", false, false }, known("a.b", nil, { requestId = "1" }))
    map:close()
    assert.same({ "TRANSPORT_LOST", false, false }, known("a.b"))
    assert.is_true(select(2, call:wait()).mayHaveRun)
  end)

  it("says of a request that was given up, here or there, that it may have run", function()
    served:serve(function(request)
      request.streams = request.credit ~= nil
    end)
    local failures = { select(2, map:call("a.b", nil, { timeout = 20 })) }
    local stream = assert(map:subscribe("a.b", nil, { idleTimeout = 20 }))
    failures[2] = select(2, stream:next())
    for i, side in ipairs({ map, served }) do
      local call = task.spawn(function()
        return map:call("a.b", nil, { requestId = "1" })
      end)
      operations.sleep(0.01)
      side:abort("1")
      failures[2 + i] = select(2, call:wait())
    end
    for i, code in ipairs({ "TIMEOUT", "TIMEOUT", "ABORTED", "ABORTED" }) do
      assert.same({ code, true }, { failures[i].code, failures[i].mayHaveRun })
    end
  end)
end)
