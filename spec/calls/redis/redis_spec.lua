local command = require("spec.support.command")
local connections = require("spec.calls.connections")
local contract = require("spec.calls.contract")
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local forward_clock = require("spec.support.forward_clock")
local limits = require("operations.base.limits")
local operations = require("operations")
local proxy = require("spec.support.proxy")
local redis = require("spec.support.redis")
local streams = require("operations.net.stream")

local function quiet() end

local server

setup(function()
  server = redis.start()
end)

teardown(function()
  server.stop()
end)

local function connect(url, options)
  return operations.call_map(assert(operations.transports.redis(url or server.url, options)), { log = quiet })
end

-- A worker in a process of its own.
local function start_worker(url)
  local worker = command.start("spec/support/worker.lua", "redis", url or server.url)
  assert.equal("ready", worker:read_line())
  return worker
end

local function kill(worker)
  os.execute("kill -9 " .. worker.pid)
  worker:wait()
end

describe("a call map over Redis", function()
  contract(it, function(...)
    return connections.redis(server.url)(...)
  end, { unknown = "UNAVAILABLE" })

  it("shares the calls among the workers, which come and go", function()
    operations.run(function()
      local one, map = start_worker(), connect()
      local seen = {}
      local function call_many()
        local list = {}
        for i = 1, 50 do
          list[i] = function()
            return map:call("work.sleep", { seconds = 0.005 })
          end
        end
        assert(operations.all(list))
      end
      call_many()
      local other = start_worker()
      eventually(function()
        seen[map:call("work.pid").data] = true
        local n = 0
        for _ in pairs(seen) do
          n = n + 1
        end
        return n == 2
      end)
      kill(one)
      eventually(function()
        return (pcall(call_many)) -- until its death is noticed, calls that it was given are lost
      end)
      kill(other)
      map:close()
    end)
  end)

  it("keeps nothing of a search for a server of an operation", function()
    operations.run(forward_clock.with, function(clock)
      local map = connect()
      for _ = 1, 3 do
        assert.is_nil(clock:pass(map.call, map, "work.nobody", nil, { timeout = 150 }))
      end
      assert.same({}, map._transport._presence._seekers)
      map:close()
    end)
  end)

  it("tells the caller that the worker was killed", function()
    operations.run(forward_clock.with, function(clock)
      local worker, map = start_worker(), connect()
      local ticks = assert(map:subscribe("work.ticks", { pause = 0.01 }))
      assert.equal(1, ticks:next().data)
      local call = operations.spawn(function()
        return map:call("work.sleep", { seconds = 60 })
      end)
      operations.sleep(0)
      assert(map:call("work.sleep", { seconds = 0 })) -- the worker has both
      kill(worker)
      local _, err = clock:pass(call.wait, call)
      assert.same({ "WORKER_LOST", true, true }, { err.code, err.retryable, err.mayHaveRun })
      repeat
        local envelope
        envelope, err = ticks:next()
      until not envelope
      assert.equal("WORKER_LOST", err.code)
      _, err = clock:pass(map.call, map, "work.sleep", { seconds = 0 })
      assert.same({ "UNAVAILABLE", false }, { err.code, err.mayHaveRun })
      map:close()
    end)
  end)

  it("connects again, and again, before a call map uses it", function()
    operations.run(function()
      local between = proxy.start(server.port)
      local transport = assert(operations.transports.redis("redis://127.0.0.1:" .. between.port))
      local links = { transport._commands, transport._subscriber }
      for _ = 1, 2 do
        local before = { links[1]._stream, links[2]._stream }
        between:reset()
        for i, link in ipairs(links) do
          eventually(function()
            return link.connected and link._stream ~= before[i]
          end)
        end
      end
      local worker, map = start_worker(), operations.call_map(transport, { log = quiet })
      assert(map:call("work.pid"))
      kill(worker)
      map:close()
      between:stop()
    end)
  end)

  it("ends the requests of a killed caller", function()
    operations.run(forward_clock.with, function(clock)
      local started, raised = 0, nil
      local registry = operations.registry({ log = quiet })
      registry:register({ namespace = "slow", name = "sleep", handler = function()
        started = started + 1
        local ok, err = pcall(operations.sleep, 60)
        raised = not ok and err
        error(err, 0)
      end })
      local served = connect()
      operations.call_handler(registry, served)
      local caller = command.start("-e", ([[
        local operations = require("operations")
        operations.call_map(assert(operations.transports.redis(%q))):call("slow.sleep")]]):format(server.url))
      eventually(function()
        return started == 1
      end)
      kill(caller)
      clock:pass(eventually, function()
        return raised
      end)
      assert.is_true(errors.is_error(raised))
      assert.equal("ABORTED", raised.code)
      served:close()
    end)
  end)

  it("ends pending calls when Redis stops, and works again when it is back", function()
    operations.run(function()
      local own = redis.start()
      local worker, map = start_worker(own.url), connect(own.url)
      local ticks = assert(map:subscribe("work.ticks", { pause = 0.01 }, { resubscribe = true }))
      assert.equal(1, ticks:next().data)
      local call = operations.spawn(function()
        return map:call("work.sleep", { seconds = 60 })
      end)
      operations.sleep(0)
      assert(map:call("work.sleep", { seconds = 0 })) -- the worker has both
      own.stop()
      local _, err = call:wait()
      assert.same({ "TRANSPORT_LOST", true }, { err.code, err.mayHaveRun })
      _, err = map:call("work.pid")
      assert.same({ "TRANSPORT_LOST", true }, { err.code, err.retryable })
      own = redis.start(own.port)
      eventually(function()
        return map:call("work.sleep", { seconds = 0 })
      end)
      local last, again = 1, false
      while not again do
        local envelope = ticks:next()
        again, last = not envelope or envelope.data <= last, envelope and envelope.data
      end
      kill(worker)
      map:close()
      own.stop()
    end)
  end)

  it("loses pending calls when the network is cut, never hangs, and recovers", function()
    operations.run(function()
      local held, cut = {}, false
      local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
        held[#held + 1] = stream
        operations.spawn(function()
          local behind = assert(streams.connect("127.0.0.1", server.port))
          held[#held + 1] = behind
          for _, way in ipairs({ { stream, behind }, { behind, stream } }) do
            way[1]:each_chunk(function(bytes)
              if bytes and not cut then
                way[2]:offer(bytes, true)
              elseif not bytes then
                way[2]:close()
              end
            end)
          end
        end)
      end))
      local worker, map = start_worker(), connect("redis://127.0.0.1:" .. listener.port)
      local envelope, failed = map:call("work.sleep", { seconds = 0 })
      assert.is_nil(failed)
      assert.equal("slept", envelope.data)
      cut = true
      local _, err = map:call("work.sleep", { seconds = 0 }, { timeout = 200 })
      assert.equal("TIMEOUT", err.code)
      cut = false
      for _, stream in ipairs(held) do
        stream:close()
      end
      eventually(function()
        return map:call("work.sleep", { seconds = 0 }, { timeout = 1000 })
      end)
      kill(worker)
      map:close()
      listener:close()
    end)
  end)

  it("notices that Redis says nothing any more", function()
    operations.run(function()
      local silence = limits.redis_silence
      limits.redis_silence = 100
      local between = proxy.start(server.port)
      local worker, map = start_worker(), connect("redis://127.0.0.1:" .. between.port)
      local call = operations.spawn(function()
        return map:call("work.sleep", { seconds = 60 })
      end)
      eventually(function()
        return map:call("work.sleep", { seconds = 0 })
      end)
      between:cut()
      local _, err = call:wait()
      assert.same({ "TRANSPORT_LOST", "timeout" }, { err.code, err.details.kind })
      limits.redis_silence = silence
      kill(worker)
      map:close()
      between:stop()
    end)
  end)

  it("refuses and counts events of foreign senders", function()
    operations.run(function()
      local transport = assert(operations.transports.redis(server.url))
      local map = operations.call_map(transport, { log = quiet })
      local stream = assert(streams.connect("127.0.0.1", server.port))
      stream:each_chunk(function() end)
      local resp = require("operations.redis")
      for _, text in ipairs({ "", "{", "[]", "1", '{"type":"call.requested"}', '{"from":"x","type":"call.responded",'
        .. '"payload":{"requestId":"1","output":{}}}', '{"from":1}' }) do
        stream:offer(resp.command("PUBLISH", "ops:node:" .. transport.id, text))
        stream:offer(resp.command("PUBLISH", "ops:nodes", text))
      end
      stream:offer(resp.command("PUBLISH", "ops:nodes",
        '{"node":"odd","version":{},"offers":[1,null,{},"odd.one",""]}'))
      eventually(function()
        return map:counted().refused >= 7 and map:offered()[2]
      end)
      assert.same({ "", "odd.one" }, map:offered())
      map:close()
    end)
  end)

  it("gives requests that a dead server never read to another server, and fails those that no server takes", function()
    operations.run(forward_clock.with, function(clock)
      local served = operations.call_map(assert(operations.transports.redis(server.url)), { log = quiet })
      local registry = operations.registry()
      registry:register({ namespace = "heard", name = "of", handler = function(input)
        return input
      end })
      operations.call_handler(registry, served)
      local map = operations.call_map(assert(operations.transports.redis(server.url)), { log = quiet })
      local stream = assert(streams.connect("127.0.0.1", server.port))
      stream:each_chunk(function() end)
      stream:offer(require("operations.redis").command("PUBLISH", "ops:nodes",
        '{"node":"ghost","version":1,"offers":["heard.of","heard.not"]}'))
      eventually(function()
        local offered = table.concat(map:offered(), " ")
        return offered:find("heard.not", 1, true) and offered:find("services.list", 1, true)
      end)
      local calls = {}
      for i = 1, 40 do -- more than one message holds
        calls[i] = function()
          local text = ("x"):rep(1000) .. i
          assert.same({ text }, assert(map:call("heard.of", { text })).data)
        end
      end
      calls[41] = function()
        local _, err = map:call("heard.not")
        assert.same({ "UNAVAILABLE", true, false }, { err.code, err.retryable, err.mayHaveRun })
      end
      assert(clock:pass(operations.all, calls))
      map:close()
      served:close()
    end)
  end)

  it("waits for a server of an operation no longer than the call may take", function()
    local discovery = limits.discovery
    limits.discovery = 3600000
    operations.run(function()
      local map = connect()
      local _, err = map:call("nobody.serves", nil, { timeout = 50 })
      assert.same({ "TIMEOUT", false }, { err.code, err.mayHaveRun })
      map:close()
    end)
    limits.discovery = discovery
  end)

  it("says why it cannot connect", function()
    operations.run(function()
      local _, err = operations.transports.redis("redis://127.0.0.1:1")
      assert.same({ "TRANSPORT_LOST", "connect" }, { err.code, err.details.kind })
      _, err = operations.transports.redis(server.url:gsub("//", "//:secret@"), nil)
      assert.truthy(tostring(err):find("AUTH", 1, true))
      assert.is_nil(tostring(err):find("secret", 1, true))
    end)
    assert.has_error(function()
      operations.transports.redis("http://127.0.0.1")
    end, "bad argument #1 to 'redis' (URL of redis or rediss expected, got http://127.0.0.1)")
    for _, url in ipairs({ "reds://:secret@127.0.0.1", "redis://:secret@127.0.0.1:99999",
      "redis://:secret@127.0.0.1/first", "redis://:sec/secret@127.0.0.1", "rediss//u:secret@127.0.0.1?a=secret" }) do
      local ok, message = pcall(function()
        operations.transports.redis(url)
      end)
      assert.is_false(ok)
      assert.matches("redis_spec.lua:%d+: bad argument #1 to 'redis' %(.* expected, got ", message)
      assert.is_nil(message:find("secret", 1, true))
    end
    assert.has_error(function()
      operations.transports.redis(server.url, { vouch = true })
    end, "bad option 'vouch' to 'redis' (unknown; did you mean vouches?)")
    assert.has_error(function()
      operations.transports.redis(server.url, { mode = "sure" })
    end, "bad option 'mode' to 'redis' (\"fast\" or \"reliable\" expected, got \"sure\")")
  end)
end)
