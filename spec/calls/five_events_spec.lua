local eventually = require("spec.support.eventually")
local forward_clock = require("spec.support.forward_clock")
local five_events = require("spec.support.five_events")
local json = require("operations.base.json")
local operations = require("operations")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local streams = require("operations.net.stream")
local wire = require("spec.support.wire")

local N = 5000
local LARGE = ("x"):rep(4096) -- 5,000 of these do not fit into the buffers of a connection

local function quiet() end

local function call_map(transport)
  return operations.call_map(transport, { log = quiet })
end

-- Each makes a peer of five events and a call map connected with it, and what ends both.
local sides = {
  ["in process"] = function()
    local one, other = operations.transports.pair()
    local map = call_map(one)
    return five_events.open(other), map, function()
      map:close()
    end
  end,
  ["to a hub"] = function(options)
    local map
    local hub = assert(operations.transports.websocket_hub({ log = quiet, on_connection = function(made)
      map = made
    end, ping_interval = options and options.ping_interval }))
    local peer = five_events.connect(hub.port, options and options.bare)
    return peer, map, function()
      peer.stream:close()
      hub:close()
    end
  end,
  ["of a spoke"] = function(options)
    local listener, peer = five_events.listen(options and options.bare)
    local map = call_map(assert(operations.transports.websocket("ws://127.0.0.1:" .. listener.port,
      { ping_interval = options and options.ping_interval })))
    return peer, map, function()
      map:close()
      peer.stream:close()
      listener:close()
    end
  end,
}

-- Consumes a subscription, whose events must be in order; after each 500 `pause` is called. Their number.
local function consume(subscription, pause)
  local i = 0
  for envelope in subscription do
    i = i + 1
    if envelope.data.n ~= i then
      assert.equal(i, envelope.data.n)
    end
    if pause and i % 500 == 0 then
      pause()
    end
  end
  return i
end

local function subscription_registry(text, emitted)
  local registry = operations.registry()
  registry:register({ namespace = "a", name = "stream", type = "subscription", handler = function()
    for i = 1, N do
      coroutine.yield({ n = i, text = text })
      emitted.n = i
    end
  end })
  return registry
end

local function request(peer, id, operation)
  peer:send("call.requested", { requestId = id, operationId = operation, input = {} })
end

local function check_events(peer, id)
  local last = peer.got[#peer.got]
  assert.same({ "call.completed", id }, { last.type, last.payload.requestId })
  assert.same({ N, 1 }, { peer.counts["call.responded"], peer.counts["call.completed"] })
  assert.equal(N + 1, #peer.got)
  for i = 1, N do
    if peer.got[i].payload.output.data.n ~= i then
      assert.equal(i, peer.got[i].payload.output.data.n)
    end
  end
  assert.same({}, peer.strange)
end

for name, connect in pairs(sides) do
  describe("a peer of five events " .. name, function()
    local function run(fn, options)
      operations.run(function()
        local peer, map, close = connect(options)
        fn(peer, map)
        close()
      end)
    end

    it("streams 5,000 events to consumers that keep up and to those that do not", function()
      run(function(peer, map)
        peer.serve = function(payload)
          peer:burst(payload.requestId, N)
        end
        for _, pause in ipairs({ quiet, function()
          operations.sleep(0.01)
        end }) do
          assert.equal(N, consume(assert(map:subscribe("a.stream")), pause))
        end
        assert.same({ ["call.requested"] = 2 }, peer.counts)
        assert.same({}, peer.strange)
        assert.equal(0, map:pending_count())
        assert.same({ refused = 0, late = 0, duplicate = 0 }, map:counted())
      end)
    end)

    it("gets 5,000 events of a handler without numbers, and its end once", function()
      run(function(peer, map)
        operations.call_handler(subscription_registry(nil, {}), map)
        request(peer, "r", "a.stream")
        eventually(function()
          return peer.counts["call.completed"]
        end)
        check_events(peer, "r")
      end)
    end)

    it("gets errors of a code and a message", function()
      run(function(peer, map)
        operations.call_handler(subscription_registry(nil, {}), map, { max_requests = 0 })
        request(peer, "r", "a.stream") -- our peers hear that this is retryable
        if peer.stream then -- what comes over a wire is checked
          request(peer, "s", "")
        end
        eventually(function()
          return peer.counts["call.error"] == (peer.stream and 2 or 1)
        end)
        assert.equal("BUSY", peer.got[1].payload.code)
        assert.same({}, peer.strange)
      end)
    end)

    it("hears once that a call took its first event", function()
      run(function(peer, map)
        peer.serve = function(payload)
          peer:burst(payload.requestId, 100)
        end
        assert.equal(1, assert(map:call("a.stream")).data.n)
        eventually(function()
          return peer.sent == 100 and map:counted().late == 100
        end)
        eventually(function()
          return peer.counts["call.aborted"]
        end)
        assert.same({ ["call.requested"] = 1, ["call.aborted"] = 1 }, peer.counts)
        assert.same({}, peer.strange)
      end)
    end)

    it("is sent an abort when its consumer stops", function()
      run(function(peer, map)
        peer.serve = function(payload)
          peer:burst(payload.requestId, 10)
        end
        local subscription = assert(map:subscribe("a.stream"))
        assert.equal(1, subscription:next().data.n)
        subscription:close()
        assert.is_nil(subscription:next())
        eventually(function()
          return peer.sent == 10
        end)
        assert.is_true((peer.counts["call.aborted"] or 0) <= 1)
        assert.same({}, peer.strange)
      end)
    end)
  end)
end

for _, name in ipairs({ "to a hub", "of a spoke" }) do
  describe("a peer of five events " .. name .. " that sends more than is consumed", function()
    local LIMIT = 65536

    local function run(fn, options)
      operations.run(forward_clock.with, function(clock)
        local peer, map, close = sides[name](options)
        peer.serve = function(payload)
          if payload.operationId == "a.stream" then
            peer:burst(payload.requestId, N, LARGE)
          else
            peer:send("call.responded", { requestId = payload.requestId, output = operations.local_envelope(1, "a.b") })
          end
        end
        fn(peer, map, clock)
        close()
      end)
    end

    -- Waits until the peer can send no more.
    local function await_stop(peer)
      local before = -1
      eventually(function()
        local stopped = peer.sent and peer.sent > 0 and peer.sent == before
        before = peer.sent
        operations.sleep(0.02)
        return stopped
      end)
    end

    it("is held back by TCP, and nothing is lost", function()
      run(function(peer, map)
        local subscription = assert(map:subscribe("a.stream", nil, { unconsumed_bytes = LIMIT, requestId = "s" }))
        await_stop(peer)
        assert.is_true(peer.sent < N)
        local entry, most = map._pending.s, 0
        assert.is_true(entry.kept > LIMIT)
        assert.equal(N, consume(subscription, function()
          most = math.max(most, entry.kept)
        end))
        assert.is_true(most < 2 ^ 20, most) -- the limit, and what one read brings
        assert.same({ ["call.requested"] = 1 }, peer.counts)
        assert.same({}, peer.strange)
      end)
    end)

    it("is not taken for silent meanwhile", function()
      run(function(peer, map, clock)
        local subscription = assert(map:subscribe("a.stream", nil, { unconsumed_bytes = LIMIT }))
        await_stop(peer)
        clock:pass(operations.sleep, 1)
        assert.equal(N, consume(subscription))
      end, { ping_interval = 200 })
    end)

    it("loses nothing by closing the connection behind its last event", function()
      run(function(peer, map)
        peer.serve = function(payload)
          peer:burst(payload.requestId, N)
          peer.stream:finish()
        end
        local subscription = assert(map:subscribe("a.stream", nil, { unconsumed_bytes = LIMIT }))
        eventually(function()
          return peer.sent == N
        end)
        assert.equal(N, consume(subscription, function()
          operations.sleep(0.001)
        end))
      end)
    end)

    it("loses the subscription when nothing is consumed, and other calls continue", function()
      run(function(peer, map)
        local subscription = assert(map:subscribe("a.stream", nil, { unconsumed_bytes = LIMIT, consumer_timeout = 50 }))
        await_stop(peer)
        assert.equal(1, assert(map:call("a.b")).data)
        local ok, err = pcall(consume, subscription)
        assert.is_false(ok)
        assert.equal("EXECUTION_ERROR", err.code)
        assert.matches("nothing was consumed for 50 ms", err.message)
        assert.is_nil((subscription:next()))
        assert.equal(1, peer.counts["call.aborted"])
        assert.same({}, peer.strange)
      end)
    end)
  end)

  describe("a handler whose caller " .. name .. " knows five events and reads nothing", function()
    it("is held back by TCP, and nothing is lost", function()
      operations.run(function()
        local peer, map, close = sides[name]()
        local emitted = {}
        operations.call_handler(subscription_registry(LARGE, emitted), map)
        peer.stream:pause()
        request(peer, "r", "a.stream")
        local before
        eventually(function()
          local stopped = emitted.n and emitted.n == before
          before = emitted.n
          operations.sleep(0.02)
          return stopped
        end)
        assert.is_true(emitted.n < N)
        peer:read()
        eventually(function()
          return peer.counts["call.completed"]
        end)
        check_events(peer, "r")
        close()
      end)
    end)
  end)
end

describe("a peer of five events that names no subprotocol", function()
  for _, name in ipairs({ "to a hub", "of a spoke" }) do
    it("calls and is called " .. name, function()
      operations.run(function()
        local peer, map, close = sides[name]({ bare = true })
        assert.is_nil(peer.head and peer.head:find("Sec-WebSocket-Protocol", 1, true))
        peer.serve = function(payload)
          peer:burst(payload.requestId, N)
        end
        operations.call_handler(subscription_registry(nil, {}), map)
        assert.equal(N, consume(assert(map:subscribe("b.stream"))))
        peer.got, peer.counts = {}, {}
        request(peer, "r", "a.stream")
        eventually(function()
          return peer.counts["call.completed"]
        end)
        check_events(peer, "r")
        close()
      end)
    end)
  end
end)

describe("an event", function()
  for _, name in ipairs({ "to a hub", "of a spoke" }) do
    it("has the id of its request beside its payload, on the way " .. name, function()
      operations.run(function()
        local peer, map, close = sides[name]()
        peer.serve = function(payload)
          peer:burst(payload.requestId, 1)
        end
        operations.call_handler(subscription_registry(nil, {}), map)
        assert.equal(1, assert(map:call("a.other", nil, { requestId = "ours" })).data.n)
        request(peer, "theirs", "a.none")
        eventually(function()
          return peer.counts["call.error"]
        end)
        for _, event in ipairs(peer.got) do
          assert.equal(event.payload.requestId, event.id)
        end
        close()
      end)
    end)
  end
end)

describe("a handler that never waits, for a peer of five events", function()
  it("lets others have their turn: an abort is heard", function()
    operations.run(function()
      local peer, map, close = sides["in process"]()
      local emitted = {}
      operations.call_handler(subscription_registry(nil, emitted), map)
      request(peer, "r", "a.stream")
      local abort = operations.spawn(function()
        operations.sleep(0)
        peer:send("call.aborted", { requestId = "r" })
      end)
      abort:wait()
      assert.is_true(emitted.n < N, emitted.n)
      close()
    end)
  end)
end)

describe("a subscription to a peer of five events in process", function()
  it("ends with an error when more bytes are unconsumed than may be", function()
    operations.run(function()
      local peer, map, close = sides["in process"]()
      peer.serve = function(payload)
        peer:burst(payload.requestId, N)
      end
      local subscription = assert(map:subscribe("a.stream", nil, { unconsumed_bytes = 10000 }))
      eventually(function()
        return peer.sent == N
      end)
      local n = 0
      local ok, err = pcall(function()
        for envelope in subscription do
          n = n + 1
          assert.equal(n, envelope.data.n)
        end
      end)
      assert.is_false(ok)
      assert.is_true(n > 1 and n < 100, n)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("more than 10000 bytes", err.message)
      assert.equal(1, peer.counts["call.aborted"])
      close()
    end)
  end)
end)

describe("a subscription to a peer of five events on Redis", function()
  local server = redis.around(setup, teardown)

  local function run(fn)
    operations.run(function()
      local peer = five_events.open(assert(operations.transports.redis(server.url)), { "a.stream" })
      peer.transport:serves()
      local map = call_map(assert(operations.transports.redis(server.url)))
      peer.serve = function(payload)
        peer:burst(payload.requestId, N)
      end
      fn(peer, map)
      map:close()
      peer.transport:close()
    end)
  end

  it("gets 5,000 events in order", function()
    run(function(peer, map)
      assert.equal(N, consume(assert(map:subscribe("a.stream", nil, { idleTimeout = 10000 }))))
      assert.same({ ["call.requested"] = 1 }, peer.counts)
      assert.same({ refused = 0, late = 0, duplicate = 0 }, map:counted())
    end)
  end)

  it("ends with an error when more bytes are unconsumed than may be", function()
    run(function(peer, map)
      local subscription = assert(map:subscribe("a.stream", nil, { unconsumed_bytes = 10000, idleTimeout = 10000 }))
      eventually(function()
        return peer.sent == N
      end)
      local ok, err = pcall(consume, subscription)
      assert.is_false(ok)
      assert.matches("more than 10000 bytes", tostring(err))
      assert.same({}, peer.strange)
    end)
  end)
end)

describe("a peer of five events that is made of commands of Redis", function()
  local server = redis.around(setup, teardown)

  -- What comes on its channel goes to `take`; what publishes.
  local function connect(take)
    local publisher, subscriber = assert(streams.connect("127.0.0.1", server.port)),
      assert(streams.connect("127.0.0.1", server.port))
    local reader, ready = resp.reader(), false
    publisher:each_chunk(quiet)
    subscriber:each_chunk(function(bytes)
      for _, reply in ipairs(bytes and reader:feed(bytes) or {}) do
        ready = true
        for line in (reply[1] == "message" and reply[3] or ""):gmatch("[^\n]+") do
          take(json.decode(line))
        end
      end
    end)
    subscriber:offer(resp.command("SUBSCRIBE", "ops:node:raw"))
    eventually(function()
      return ready
    end)
    return function(node, event)
      publisher:offer(resp.command("PUBLISH", "ops:node:" .. node, (assert(json.encode(event)))))
    end, { publisher, subscriber }
  end

  it("gets 5,000 events without numbers, which wait for Redis", function()
    operations.run(function()
      local transport = assert(operations.transports.redis(server.url))
      local map, most, got, ended = call_map(transport), 0, 0, nil
      local registry = operations.registry()
      registry:register({ namespace = "a", name = "stream", type = "subscription", handler = function()
        for i = 1, N do
          coroutine.yield({ n = i })
          most = math.max(most, transport._commands._last - transport._commands._first)
        end
      end })
      operations.call_handler(registry, map)
      local publish, kept = connect(function(event)
        if event.type == "call.responded" then
          got = got + 1
          assert(event.payload.output.data.n == got and event.payload.seq == nil)
        else
          ended = event.type
        end
      end)
      publish(transport.id, { type = "call.requested", id = "", from = "raw",
        payload = { requestId = "r", operationId = "a.stream" } })
      eventually(function()
        return ended
      end)
      assert.same({ "call.completed", N }, { ended, got })
      assert.is_true(most < 64, most)
      map:close()
      kept[1]:close()
      kept[2]:close()
    end)
  end)
end)

describe("peers of this library", function()
  it("count events and give credits as before", function()
    operations.run(function()
      local one, other = wire.pair()
      local served, map = call_map(other), call_map(one)
      local numbers, credits = {}, 0
      for _, side in ipairs({ one, other }) do
        local event = side.receiver.event
        side.receiver.event = function(arrived, from)
          numbers[#numbers + 1] = arrived.payload.seq
          credits = credits + (arrived.type == "call.credit" and arrived.payload.n or 0)
          return event(arrived, from)
        end
      end
      operations.call_handler(subscription_registry(nil, {}), served)
      assert.equal(N, consume(assert(map:subscribe("a.stream"))))
      assert.equal(N, #numbers)
      assert.is_true(credits > N - 64 and credits <= N)
      map:close()
    end)
  end)
end)
