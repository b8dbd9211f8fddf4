--- Peers that are known, and mean ill: what they say of requests that are not theirs, and more of it than there is room
--- for. Frames that break the rules of WebSocket and replies that are none of Redis' are in the specs of each.
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local streams = require("operations.net.stream")
local work = require("spec.support.work")

local function quiet() end

local function call_map(transport)
  return operations.call_map(assert(transport), { log = quiet })
end

local function event(name, payload)
  return { type = name, payload = payload }
end

local function answer(id, data)
  return event("call.responded", { requestId = id, output = operations.local_envelope(data, "work.sleep") })
end

-- All that ends a request, forged.
local function forgeries(id)
  return {
    answer(id, "forged"), event("call.completed", { requestId = id }), event("call.aborted", { requestId = id }),
    event("call.error", { requestId = id, code = "FORGED", message = "" }),
  }
end

describe("a spoke", function()
  it("cannot answer the request of another spoke", function()
    operations.run(function()
      local maps = {}
      local hub = assert(operations.transports.websocket_hub({ log = quiet, on_connection = function(map)
        maps[#maps + 1] = map
      end }))
      local asked, other = {}, {}
      for i, transport in ipairs({ asked, other }) do
        transport[1] = assert(operations.transports.websocket("ws://127.0.0.1:" .. hub.port))
        transport[2] = call_map(transport[1])
        eventually(function()
          return maps[i]
        end)
      end
      operations.call_handler(work(), asked[2])
      local call = operations.spawn(function()
        return maps[1]:call("work.sleep", { seconds = 0.1 }, { requestId = "theirs" })
      end)
      for _, forged in ipairs(forgeries("theirs")) do
        assert(other[1]:send(forged.type, forged.payload))
      end
      eventually(function()
        return maps[2]:counted().late == 4
      end)
      assert.equal("slept", assert(call:wait()).data)
      asked[2]:close()
      other[2]:close()
      hub:close()
    end)
  end)
end)

describe("a process that shares a Redis", function()
  local server = redis.around(setup, teardown)

  local kept = {} -- a stream that is dropped is closed

  after_each(function()
    for _ = 1, #kept do
      table.remove(kept):close()
    end
  end)

  local function connect()
    local stream = assert(streams.connect("127.0.0.1", server.port))
    kept[#kept + 1] = stream
    return stream
  end

  -- A peer made of bare commands: what is published on its channel comes to `take`.
  local function raw_peer(id, take)
    local publisher, subscriber, reader, ready = connect(), connect(), resp.reader(), false
    publisher:each_chunk(quiet)
    subscriber:each_chunk(function(bytes)
      for _, reply in ipairs(bytes and reader:feed(bytes) or {}) do
        ready = true
        for line in (reply[1] == "message" and reply[3] or ""):gmatch("[^\n]+") do -- answers may come together
          take(json.decode(line))
        end
      end
    end)
    assert(subscriber:write(resp.command("SUBSCRIBE", "ops:node:" .. id)))
    eventually(function()
      return ready
    end)
    return function(to, message)
      assert(publisher:write(resp.command("PUBLISH", "ops:node:" .. to, message)))
    end
  end

  local function serve(options)
    local transport = assert(operations.transports.redis(server.url))
    local map = call_map(transport)
    return transport, map, operations.call_handler(work(), map, options)
  end

  it("cannot answer the request of another", function()
    operations.run(function()
      local _, served = serve()
      local transport = assert(operations.transports.redis(server.url))
      local map = call_map(transport)
      local publish = raw_peer("forger", quiet)
      eventually(function()
        return map:call("work.sleep", { seconds = 0 })
      end)
      local call = operations.spawn(function()
        return map:call("work.sleep", { seconds = 0.2 }, { requestId = "theirs" })
      end)
      for _, forged in ipairs(forgeries("theirs")) do
        forged.from = "forger"
        publish(transport.id, (assert(json.encode(forged))))
      end
      eventually(function()
        return map:counted().refused == 4
      end)
      assert.equal("slept", assert(call:wait()).data)
      map:close()
      served:close()
    end)
  end)

  it("cannot end or feed the call of another, by asking with its id", function()
    operations.run(function()
      local transport, served, handler = serve()
      local map = call_map(assert(operations.transports.redis(server.url)))
      local refused = {}
      local publish = raw_peer("thief", function(message)
        refused[#refused + 1] = message.payload.code
      end)
      eventually(function()
        return map:call("work.sleep", { seconds = 0 })
      end)
      local ticks = assert(map:subscribe("work.ticks", { n = 10 }, { requestId = "theirs", window = 2 }))
      eventually(function()
        return handler.active == 1
      end)
      local function forge(name, payload)
        payload.requestId = "theirs"
        publish(transport.id, (assert(json.encode({ type = name, payload = payload, from = "thief" }))))
      end
      forge("call.requested", { operationId = "work.ticks" })
      forge("call.credit", { n = 1000 })
      forge("call.aborted", {})
      eventually(function()
        return served:counted().refused == 2 and served:counted().late == 1 and #refused > 0
      end)
      assert.same({ "VALIDATION_ERROR" }, refused)
      for i = 1, 10 do
        assert.equal(i, assert(ticks:next()).data)
      end
      assert.is_nil(ticks:next())
      map:close()
      served:close()
    end)
  end)

  it("and asks on and on gets an answer to each request, while no more run than may", function()
    operations.run(function()
      local transport, map, handler = serve({ max_requests = 16 })
      local answered, count, codes, most = {}, 0, {}, 0
      local publish = raw_peer("flooder", function(message)
        local id, code = message.payload.requestId, message.payload.code or "answered"
        assert(not answered[id], "answered twice")
        assert(message.payload.retryable == nil and message.payload.seq == nil) -- it never said hello
        answered[id], count, codes[code] = true, count + 1, (codes[code] or 0) + 1
        most = math.max(most, handler.active)
      end)
      for i = 1, 5000 do
        publish(transport.id, (assert(json.encode({ type = "call.requested", from = "flooder",
          payload = { requestId = "r" .. i, operationId = "work.sleep", input = { seconds = 0.01 } } }))))
      end
      eventually(function()
        return count == 5000
      end)
      assert.is_true(codes.BUSY > 0 and codes.answered > 0)
      assert.equal(5000, codes.BUSY + codes.answered)
      assert.is_true(most <= 16)
      eventually(function()
        return handler.active == 0
      end)
      map:close()
    end)
  end)
end)
