--- `make test-protocol`: peers that others could have written. A Node peer of the reference's protocol, which announces
--- nothing, and the examples in Node and Python, each as client and as server. Not one of the specs that `make test`
--- runs: it needs Node and npm's ws.
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")

local N, LARGE, LIMIT = 5000, 4096, 65536
local PROGRAM = "spec/calls/peers/reference_peer.mjs"

local function quiet() end

local Peer = {}
Peer.__index = Peer

-- Starts a program and waits for the first line that it says.
local function start(...)
  local words = { ... }
  words.env = { NODE_PATH = os.getenv("NODE_PATH"), PATH = os.getenv("PATH") }
  local process = assert(operations.process.spawn(words))
  return process, process:read_line() or error(words[2] .. " failed: " .. process:stderr())
end

local function start_peer(...)
  local process, line = start("node", PROGRAM, ...)
  return setmetatable({ process = process, answers = {}, asked = 0 }, Peer), line
end

-- Gives a command; what it answers is read by whoever waits.
function Peer:ask(command)
  self.asked = self.asked + 1
  local number = self.asked
  command["for"] = number
  assert(self.process:write(json.encode(command) .. "\n"))
  return function()
    while not self.answers[number] do
      if self.reading then
        operations.sleep(0.005)
      else
        self.reading = true
        local answer = assert(json.decode(assert(self.process:read_line())))
        self.reading, self.answers[answer["for"]] = false, answer
      end
    end
    return self.answers[number]
  end
end

function Peer:tell(command)
  return self:ask(command)()
end

function Peer:stats()
  return self:tell({ ["do"] = "stats" })
end

local function registry_of(seen)
  local registry = operations.registry({ log = quiet })
  local function add(name, kind, handler)
    registry:register({ namespace = "lua", name = name, type = kind, handler = handler })
  end
  add("echo", "query", function(input)
    return input
  end)
  add("void", "mutation", function() end)
  add("fail", "mutation", function()
    return nil, operations.error("LUA_FAILED", "as asked", { why = "asked" })
  end)
  add("burst", "subscription", function(input, context)
    context.defer(function()
      seen.closed = (seen.closed or 0) + 1
    end)
    local text = ("x"):rep(input.size or 0)
    for n = 1, input.count or math.huge do
      coroutine.yield({ n = n, text = text })
      seen.emitted = n
    end
  end)
  add("wait", "mutation", function()
    seen.waiting = true
    local ok, raised = pcall(operations.sleep, 60)
    seen.stopped = not ok
    error(raised, 0)
  end)
  return registry
end

-- Each: the peer, a call map that is connected with it and serves it, what its handlers did, and what ends it all.
local sides = {
  client = function(subprotocol)
    local map
    local seen = {}
    local hub = assert(operations.transports.websocket_hub({ log = quiet, registry = registry_of(seen),
      on_connection = function(made)
        map = made
      end }))
    local peer = start_peer("client", subprotocol, "ws://127.0.0.1:" .. hub.port)
    return peer, map, seen, function()
      hub:close()
    end
  end,
  server = function(subprotocol)
    local peer, port = start_peer("server", subprotocol)
    local map = operations.call_map(assert(operations.transports.websocket("ws://127.0.0.1:" .. port)), { log = quiet })
    local seen = {}
    operations.call_handler(registry_of(seen), map)
    return peer, map, seen, function()
      map:close()
    end
  end,
}

local function run(connect, subprotocol, fn)
  operations.run(function()
    local peer, map, seen, close = connect(subprotocol)
    fn(peer, map, seen)
    local stats = peer:stats()
    assert.same({}, stats.strange)
    assert.is_nil(stats.counts["call.credit"])
    assert.equal(0, map:counted().refused)
    close()
    peer.process:stop()
  end)
end

-- Consumes a subscription, whose events are numbered.
local function consume(subscription, pause)
  local n = 0
  for envelope in subscription do
    n = n + 1
    if envelope.data.n ~= n then
      assert.equal(n, envelope.data.n)
    end
    if pause and n % 100 == 0 then
      operations.sleep(pause)
    end
  end
  return n
end

-- KiB of Lua that `fn` leaves in use at its worst, sampled by what it is given.
local function grown(fn)
  collectgarbage()
  local before, most = collectgarbage("count"), 0
  fn(function()
    collectgarbage()
    most = math.max(most, collectgarbage("count") - before)
  end)
  return most
end

local values = { text = "caf\195\169", number = 12, list = operations.array({ 1, 2.5 }), none = operations.null,
  empty = operations.array({}), object = operations.object({}) }

for role, connect in pairs(sides) do
  for _, subprotocol in ipairs({ "ops.v1.json", "none" }) do
    describe(("a Node peer of five events, as %s, subprotocol %s,"):format(role, subprotocol), function()
      it("is answered: values, nothing, errors", function()
        run(connect, subprotocol, function(peer)
          assert.same(values, peer:tell({ ["do"] = "call", operation = "lua.echo", input = values }).output.data)
          local void = peer:tell({ ["do"] = "call", operation = "lua.void", input = {} }).output
          assert.same({ nil, "local" }, { void.data, void.meta.source })
          local failed = peer:tell({ ["do"] = "call", operation = "lua.fail", input = {} }).payload
          assert.same({ "LUA_FAILED", "as asked", { why = "asked" } }, { failed.code, failed.message, failed.details })
          local unknown = peer:tell({ ["do"] = "call", operation = "lua.none", input = {} }).payload
          assert.equal("OPERATION_NOT_FOUND", unknown.code)
        end)
      end)

      it("answers: values, nothing, errors", function()
        run(connect, subprotocol, function(_, map)
          assert.same(values, assert(map:call("node.echo", values)).data)
          local void = assert(map:call("node.void"))
          assert.is_nil(void.data)
          assert.is_true(operations.is_response_envelope(void))
          local _, err = map:call("node.fail")
          assert.same({ "NODE_FAILED", "as asked", { why = "asked" } }, { err.code, err.message, err.details })
          assert.equal("OPERATION_NOT_FOUND", select(2, map:call("node.none")).code)
          assert.equal("TIMEOUT", select(2, map:call("node.silent", nil, { timeout = 50 })).code)
        end)
      end)

      it("streams 5,000 events each way, at once", function()
        run(connect, subprotocol, function(peer, map)
          local theirs = peer:ask({ ["do"] = "subscribe", operation = "lua.burst", input = { count = N } })
          assert.equal(N, consume(assert(map:subscribe("node.burst", { count = N }))))
          assert.same({ taken = N, inOrder = true, ["end"] = "call.completed", ["for"] = 1 }, theirs())
          assert.equal(0, map:counted().late)
        end)
      end)

      it("is held back by a slow consumer of ours, in bounded memory", function()
        run(connect, subprotocol, function(peer, map)
          local most = grown(function(sample)
            local subscription = assert(map:subscribe("node.burst", { count = N, size = LARGE },
              { unconsumed_bytes = LIMIT }))
            local before = -1
            eventually(function() -- until it can send no more
              local sent = peer:stats().sent
              local stopped = sent > 0 and sent == before
              before = sent
              operations.sleep(0.05)
              return stopped
            end)
            assert.is_true(before < N, before)
            sample()
            assert.equal(N, consume(subscription, 0.001))
          end)
          assert.is_true(most < 2048, most) -- of 20 MiB
        end)
      end)

      it("holds back a handler of ours by consuming slowly, in bounded memory", function()
        run(connect, subprotocol, function(peer, _, seen)
          local most = grown(function(sample)
            local consumed = peer:ask({ ["do"] = "subscribe", operation = "lua.burst", pause = 20,
              input = { count = N, size = LARGE } })
            eventually(function()
              return seen.emitted
            end)
            operations.sleep(0.2)
            assert.is_true(seen.emitted < N, seen.emitted)
            sample()
            local told = consumed()
            assert.same({ N, true, "call.completed" }, { told.taken, told.inOrder, told["end"] })
          end)
          assert.is_true(most < 4096, most) -- of 20 MiB
          assert.is_true(peer:stats().most < 2048)
        end)
      end)

      it("aborts, and is aborted", function()
        run(connect, subprotocol, function(peer, map, seen)
          local broken = peer:tell({ ["do"] = "subscribe", operation = "lua.burst", take = 10, input = {} })
          assert.same({ 10, true, "break" }, { broken.taken, broken.inOrder, broken["end"] })
          eventually(function()
            return seen.closed == 1
          end)
          local subscription = assert(map:subscribe("node.burst", { count = 1e9 }))
          assert.equal(1, subscription:next().data.n)
          subscription:close()
          eventually(function()
            return peer:stats().serving == 0
          end)
        end)
      end)

      it("ends pending calls by closing the connection", function()
        run(connect, subprotocol, function(peer, map, seen)
          local call = operations.spawn(function()
            return map:call("node.silent")
          end)
          peer:ask({ ["do"] = "call", operation = "lua.wait", input = {} })
          eventually(function()
            return seen.waiting
          end)
          peer:ask({ ["do"] = "close" })
          local _, err = call:wait()
          assert.equal("TRANSPORT_LOST", err.code)
          eventually(function()
            return seen.stopped
          end)
          assert.equal(0, map:pending_count())
        end)
      end)

      it("hears that we close", function()
        run(connect, subprotocol, function(peer, map)
          local call = peer:ask({ ["do"] = "call", operation = "lua.wait", input = {} })
          eventually(function()
            return map:call("node.echo", {})
          end)
          map:close()
          assert.equal("lost", call().type)
          assert.equal(1000, peer:stats().code)
        end)
      end)
    end)
  end
end

-- Ends a program that does not look at its stdin.
local function stop(process)
  os.execute(("kill %d"):format(process.pid))
  process:wait()
end

-- The examples: how each is started, and what its operations are called.
local examples = {
  { "node", "examples/peers/peer.mjs", "node" },
  { "python3", "examples/peers/peer.py", "python" },
}

for _, example in ipairs(examples) do
  local program, file, namespace = example[1], example[2], example[3]

  local function check(map)
    assert.equal("hello, Ada", assert(map:call(namespace .. ".greet", { name = "Ada" })).data)
    local n = 0
    for envelope in assert(map:subscribe(namespace .. ".count", { to = 1000 })) do
      n = n + 1
      if envelope.data ~= n then
        assert.equal(n, envelope.data)
      end
    end
    assert.equal(1000, n)
    assert.equal("OPERATION_NOT_FOUND", select(2, map:call(namespace .. ".none")).code)
    local long = ("x"):rep(100000)
    assert.equal("hello, " .. long, assert(map:call(namespace .. ".greet", { name = long })).data)
    assert.equal(0, map:counted().refused)
  end

  local function with_hub(fn)
    operations.run(function()
      local map
      local hub = assert(operations.transports.websocket_hub({ log = quiet, registry = registry_of({}),
        on_connection = function(made)
          map = made
        end }))
      fn("ws://127.0.0.1:" .. hub.port, function()
        return map
      end)
      hub:close()
    end)
  end

  describe("the example " .. file, function()
    it("calls an operation, and prints the result", function()
      with_hub(function(url)
        for _, words in ipairs({ { "lua.echo", '{"x": [1, 2]}', '{"x":[1,2]}' }, { "lua.fail", "{}",
          "LUA_FAILED: as asked" } }) do
          local process, said = start(program, file, url, words[1], words[2])
          assert.equal("connected", said)
          assert.equal(words[3], (process:read_line():gsub(": ?([%[%d])", ":%1"):gsub(", (%d)", ",%1")))
          process:wait()
        end
      end)
    end)

    it("serves the hub that it connects to", function()
      with_hub(function(url, map)
        local process = start(program, file, url)
        check(eventually(map))
        stop(process)
      end)
    end)

    it("serves the spokes that connect", function()
      operations.run(function()
        local process, port = start(program, file, "listen")
        local map = operations.call_map(assert(operations.transports.websocket("ws://127.0.0.1:" .. port)),
          { log = quiet })
        check(map)
        map:close()
        stop(process)
      end)
    end)
  end)
end
