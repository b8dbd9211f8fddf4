--- One connection to a Redis that is none, or not itself.
local core = require("operations.core")
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local limits = require("operations.base.limits")
local link = require("operations.calls.redis.link")
local operations = require("operations")
local refusal = require("operations.calls.redis.refusal")
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
        told(refusal.error("LOADING")))
      assert.same({ "ACCESS_DENIED", "Redis: NOAUTH", "connect", nil, false }, told(refusal.error("NOAUTH")))
      assert.same({ "BUSY", "Redis: ERR max number of clients", "connect", true, false },
        told(refusal.error("ERR max number of clients")))
      one:close()
    end)
  end)
end)
