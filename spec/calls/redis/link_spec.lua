--- One connection to a Redis that is none, or not itself.
local core = require("operations.core")
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local limits = require("operations.base.limits")
local link = require("operations.calls.redis.link")
local operations = require("operations")
local redis_reply = require("operations.calls.redis.reply")
local resp = require("operations.redis")
local streams = require("operations.net.stream")
local task = require("operations.task")

-- Runs `fn(port)` with a server that answers each command with what `answer(words, stream)` says.
local function with_server(answer, fn)
  operations.run(function()
    local kept = {}
    local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
      local reader = resp.reader()
      kept[#kept + 1] = stream
      stream:each_chunk(function(bytes)
        for _, words in ipairs(bytes and reader:feed(bytes) or {}) do
          local text = answer(words, stream)
          if text then
            stream:offer(text)
          end
        end
      end)
    end))
    fn(listener.port)
    listener:close()
    for _, stream in ipairs(kept) do
      stream:close()
    end
  end)
end

local function connect(port, on)
  return assert(link.connect({ host = "127.0.0.1", port = port, proxy = "" }, on or { ready = function() end }))
end

describe("a connection to Redis", function()
  it("is made within its time, whatever Redis sends meanwhile", function()
    local stop = task.spawn(function() end)
    with_server(function(_, stream)
      stop:cancel()
      stop = task.spawn(function()
        while true do
          stream:offer("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n", true)
          operations.sleep(0.02)
        end
      end)
    end, function(port)
      local one, err = link.connect({ host = "127.0.0.1", port = port, proxy = "", connect_timeout = 200 },
        { ready = function() end, channels = { "c" }, message = function() end })
      stop:cancel()
      assert.is_nil(one)
      assert.same({ "TRANSPORT_LOST", "timeout", "Redis did not accept the connection within 200 ms" },
        { err.code, err.details.kind, err.message })
    end)
  end)

  describe("that lies", function()
    local lies = { "$-1\r\n", ":7\r\n", "*0\r\n", "*-1\r\n", "$3\r\nabc\r\n", "*1\r\n*1\r\n:1\r\n",
      "*2\r\n$-1\r\n$-1\r\n" }

    it("is not connected to, and the error says why", function()
      for _, lie in ipairs(lies) do
        with_server(function()
          return lie
        end, function(port)
          for _, given in ipairs({ {}, { password = "p" }, { database = 1 }, { key = "k" } }) do
            for _, channels in ipairs({ false, { "c" } }) do
              local at = { host = "127.0.0.1", port = port, proxy = "" }
              for name, value in pairs(given) do
                at[name] = value
              end
              local one, err = link.connect(at, { ready = function() end, channels = channels or nil,
                message = function() end })
              assert.is_nil(one)
              assert.equal("protocol", err.details.kind)
              assert.matches("an unexpected answer of Redis to %u+: ", err.message)
            end
          end
        end)
      end
    end)

    it("is not connected to when one answer never ends", function()
      local endless = task.spawn(function() end)
      with_server(function(_, stream)
        endless = task.spawn(function()
          while stream:offer(("x"):rep(100000), true) ~= nil do
            operations.sleep(0.001)
          end
        end)
        return "+"
      end, function(port)
        local one, err = link.connect({ host = "127.0.0.1", port = port, proxy = "" }, { ready = function() end })
        endless:cancel()
        assert.is_nil(one)
        assert.equal("an endless answer of Redis", err.message)
      end)
    end)

    -- A transport of mode `reliable` to a server that lies once it is connected, and a map over it.
    local function with_liar(lie, fn)
      local first = { PING = "+PONG\r\n", UNLINK = ":0\r\n", PUBLISH = ":1\r\n", PUBSUB = "*2\r\n$1\r\nx\r\n:1\r\n",
        TIME = "*2\r\n$1\r\n1\r\n$1\r\n1\r\n" }
      with_server(function(words)
        if words[1] == "SUBSCRIBE" then
          return ("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"):rep(#words - 1)
        end
        return first[words[1]] or lie
      end, function(port)
        local transport = assert(operations.transports.redis("redis://127.0.0.1:" .. port, { mode = "reliable" }))
        local map = operations.call_map(transport, { log = function() end })
        fn(map, transport, port)
        map:close()
      end)
    end

    it("fails calls and dead letters with an error that says so", function()
      for _, lie in ipairs({ "$-1\r\n", ":7\r\n", "$3\r\nabc\r\n", "*1\r\n*1\r\n:1\r\n" }) do
        with_liar(lie, function(map, transport)
          local _, err = map:call("a.b", {}, { timeout = 20000 })
          assert.same({ "EXECUTION_ERROR", true }, { err.code, err.mayHaveRun })
          assert.matches("an unexpected answer of Redis to a script: ", err.message, 1, true)
          eventually(function()
            local _, problem = transport:dead_letters()
            return problem and problem.message:find("an unexpected answer of Redis to SMEMBERS: ", 1, true)
          end)
        end)
      end
    end)

    it("does not stop a worker that reads its queues", function()
      for _, lie in ipairs({ "$-1\r\n", ":7\r\n", "*1\r\n*2\r\n$1\r\nq\r\n*1\r\n*2\r\n$1\r\nx\r\n*0\r\n" }) do
        local reads = 0
        local function counted(words)
          reads = reads + (words[1] == "XREADGROUP" and 1 or 0)
        end
        local ok = { PING = "+PONG\r\n", UNLINK = ":0\r\n", PUBLISH = ":1\r\n", TIME = "*2\r\n$1\r\n1\r\n$1\r\n1\r\n" }
        with_server(function(words)
          counted(words)
          if words[1] == "SUBSCRIBE" then
            return ("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"):rep(#words - 1)
          end
          return ok[words[1]] or words[1] == "XREADGROUP" and lie or "$-1\r\n"
        end, function(port)
          local map = operations.call_map(assert(operations.transports.redis("redis://127.0.0.1:" .. port,
            { mode = "reliable" })), { log = function() end })
          local registry = operations.registry({ log = function() end })
          assert(registry:register({ namespace = "a", name = "b", handler = function() end }))
          operations.call_handler(registry, map)
          eventually(function()
            return reads >= 3
          end)
          map:close()
        end)
      end
    end)

    it("lets each process count its rates for itself, and keeps no answers", function()
      for _, lie in ipairs(lies) do
        with_liar(lie, function(_, _, port)
          local store = operations.middleware.redis("redis://127.0.0.1:" .. port)
          assert.is_true((store:take("k", 1000, 1)))
          assert.is_false((store:take("k", 1000, 1)))
          local known, err = store:add("k", "v", 1000)
          if known then
            assert.is_string(known)
          else
            assert.is_true(err ~= nil)
          end
          store:close()
        end)
      end
    end)
  end)

  it("takes no answer for that of another command", function()
    local extra = false
    with_server(function(words)
      if words[1] == "ECHO" then
        return ("+%s\r\n"):format(words[2])
      elseif words[1] == "EXTRA" then
        extra = true
        return "+OK\r\n+nobody asked\r\n"
      end
      return "+PONG\r\n"
    end, function(port)
      local lost
      local one = connect(port, { ready = function() end, lost = function(err)
        lost = err
      end })
      assert.equal("a", one:call("ECHO", "a"))
      assert.equal("OK", one:call("EXTRA"))
      assert.is_true(extra)
      eventually(function()
        return lost
      end)
      assert.same({ "TRANSPORT_LOST", "protocol" }, { lost.code, lost.details.kind })
      eventually(function()
        return one.connected
      end)
      for _, word in ipairs({ "b", "c" }) do
        assert.equal(word, one:call("ECHO", word))
      end
      one:close()
    end)
  end)

  it("ends with an answer that makes no sense, which the program does not", function()
    for _, bytes in ipairs({ "*3\r\n$7\r\nmessage\r\n:1\r\n:2\r\n", "*1\r\n$7\r\nmessage\r\n" }) do
      local last
      with_server(function(words, stream)
        last = stream
        return words[1] == "SUBSCRIBE" and "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n" or "+PONG\r\n"
      end, function(port)
        local err
        local one = connect(port, { channels = { "c" }, ready = function() end, lost = function(why)
          err = err or why
        end, message = function(channel, text)
          assert(channel .. text == nil, "no message")
        end })
        last:offer(bytes)
        eventually(function()
          return err
        end)
        assert.same({ "TRANSPORT_LOST", "protocol" }, { err.code, err.details.kind })
        one:close()
      end)
    end
  end)

  it("is not made again at once, again and again, when it is lost as often", function()
    local count, first, last = 0, nil, nil
    with_server(function(words)
      if words[1] == "ECHO" then -- it serves no more than that
        return "-READONLY You can't write against a read only replica.\r\n"
      end
      return "+PONG\r\n"
    end, function(port)
      local one
      one = connect(port, { ready = function(self)
        count, first, last = count + 1, first or core.now(), core.now()
        self:post(function() end, "ECHO", "x")
      end })
      eventually(function()
        return count >= 5
      end)
      one:close()
    end)
    local least = 0
    for i = 0, 3 do
      least = least + limits.reconnect_delay * 2 ^ i
    end
    assert.is_true(last - first >= 0.9 * least, ("%d connections in %d ms"):format(count, last - first))
  end)

  it("says why it is not there, and whether it is of use to wait", function()
    with_server(function()
      return "+PONG\r\n"
    end, function(port)
      local one = connect(port)
      local function told(outage)
        one.outage = outage
        local err = one:unconnected()
        return { err.code, err.message, err.details.kind, err.retryable, err.mayHaveRun }
      end
      local lost = errors.new("TRANSPORT_LOST", "gone")
      assert.same({ "TRANSPORT_LOST", "not connected to Redis: gone", "connect", true, false }, told(lost))
      assert.same({ "TRANSPORT_LOST", "not connected to Redis: Redis: LOADING", "connect", true, false },
        told(redis_reply.error("LOADING")))
      assert.same({ "ACCESS_DENIED", "Redis: NOAUTH", "connect", nil, false }, told(redis_reply.error("NOAUTH")))
      assert.same({ "BUSY", "Redis: ERR max number of clients", "connect", true, false },
        told(redis_reply.error("ERR max number of clients")))
      one:close()
    end)
  end)
end)
