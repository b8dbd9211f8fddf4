local eventually = require("spec.support.eventually")
local http_peer = require("spec.support.http_peer")
local lfs = require("lfs")
local listener = require("operations.server.listener")
local operations = require("operations")

local connect, with = http_peer.connect, http_peer.with

local GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

local function hello()
  return { status = 200, body = "hello" }
end

-- A handler that answers when `release()` was called, and what counts those that wait.
local function held()
  local state = { waiting = 0, reasons = {} }
  function state.handle(request)
    state.waiting = state.waiting + 1
    local reason
    request.left(function(why)
      reason = why
      table.insert(state.reasons, why)
    end)
    while not state.released and not reason do
      operations.sleep(0.001)
    end
    return { status = reason and 503 or 200, body = "" }
  end
  return state
end

describe("a listener of the HTTP server", function()
  it("keeps listening when its handle was dropped", function()
    operations.run(function()
      local weak = setmetatable({ assert(listener.listen({}, hello)) }, { __mode = "v" })
      local port = weak[1].port
      for _ = 1, 3 do
        collectgarbage()
      end
      assert.equal(200, (connect(port):send(GET):answer()))
      weak[1]:close()
    end)
  end)

  it("says where it cannot listen", function()
    with(hello, {}, function(server)
      local other, err = listener.listen({ port = server.port }, hello)
      assert.is_nil(other)
      assert.equal("TRANSPORT_LOST", err.code)
      assert.equal("listen", err.details.kind)
    end)
  end)

  it("serves curl at a Unix socket, whose file is removed with it", function()
    local directory = os.tmpname()
    os.remove(directory)
    assert(lfs.mkdir(directory))
    local path, peer = directory .. "/http", nil
    with(function(request)
      peer = request.peer
      return hello()
    end, { path = path }, function(server)
      assert.same({ path }, { server.path, server.port })
      assert.equal("rw-------", lfs.attributes(path, "permissions"))
      local child = assert(operations.process.spawn({ "curl", "-sS", "--unix-socket", path, "http://a/" }))
      assert.equal("hello", child:read())
      child:wait()
    end)
    assert.same({ address = "unix:", tls = false }, peer)
    assert.is_nil(lfs.attributes(path))
    lfs.rmdir(directory)
  end)

  it("closes the connection that is idle for the longest when there are too many", function()
    with(hello, { max_connections = 3 }, function(server)
      local clients = {}
      for i = 1, 3 do
        clients[i] = connect(server.port):send(GET)
        clients[i]:answer()
        operations.sleep(0.002)
      end
      clients[1]:send(GET):answer() -- the second is now idle for the longest
      local another = connect(server.port):send(GET)
      assert.equal(200, (another:answer()))
      assert.equal("", clients[2]:rest())
      for _, i in ipairs({ 1, 3 }) do
        assert.equal(200, (clients[i]:send(GET):answer()))
      end
    end)
  end)

  it("answers 503 when there are too many and none is idle", function()
    local state = held()
    with(state.handle, { max_connections = 2 }, function(server)
      local busy = { connect(server.port):send(GET), connect(server.port):send(GET) }
      eventually(function()
        return state.waiting == 2
      end)
      local refused = connect(server.port):send(GET)
      local status, headers = refused:answer()
      assert.same({ 503, "close" }, { status, headers.connection })
      assert.equal("", refused:rest())
      state.released = true
      assert.equal(200, (busy[1]:answer()))
      assert.equal(200, (busy[2]:answer()))
      assert.equal(200, (connect(server.port):send(GET):answer()))
    end)
  end)

  it("survives more connections than it may have, twice over", function()
    local state = held()
    with(state.handle, { max_connections = 5 }, function(server)
      local clients = {}
      for i = 1, 50 do
        clients[i] = connect(server.port)
        pcall(clients[i].send, clients[i], GET)
        assert.is_true(server.connections <= 10)
      end
      state.released = true
      for i = 1, 5 do
        assert.equal(200, (clients[i]:answer()))
      end
      for i = 1, 50 do
        clients[i]:close()
      end
      eventually(function()
        return server.connections == 0
      end)
    end)
  end)

  describe("that is drained", function()
    it("finishes what runs, closes idle connections and accepts no client", function()
      local state = held()
      with(state.handle, {}, function(server)
        local busy = connect(server.port):send(GET)
        local idle = connect(server.port)
        eventually(function()
          return state.waiting == 1 and server.connections == 2
        end)
        local drained
        operations.spawn(function()
          server:drain(5000)
          drained = true
        end)
        assert.equal("", idle:rest())
        assert.is_nil(drained)
        busy:send(GET)
        state.released = true
        local status, headers = busy:answer()
        assert.same({ 200, "close" }, { status, headers.connection })
        assert.equal("", busy:rest())
        eventually(function()
          return drained
        end)
        assert.equal(0, server.connections)
        assert.is_false(pcall(connect, server.port))
      end)
      assert.same({}, state.reasons)
    end)

    it("tells what still runs after the grace to end, whose answer goes out", function()
      local state = held()
      with(state.handle, {}, function(server)
        local busy = connect(server.port):send(GET)
        eventually(function()
          return state.waiting == 1
        end)
        server:drain(10)
        assert.equal(0, server.connections)
        local status, headers = busy:answer()
        assert.same({ 503, "close" }, { status, headers.connection })
      end)
      assert.same({ "draining" }, state.reasons)
    end)

    it("cuts no answer that is being read", function()
      with(function()
        return { status = 200, body = ("x"):rep(30000000) }
      end, {}, function(server)
        local client = connect(server.port)
        client.stream:pause()
        client:send(GET)
        operations.sleep(0.02)
        local drained = operations.spawn(server.drain, server, 20000)
        operations.sleep(0.02)
        local size = 0
        client.stream:each_chunk(function(bytes)
          size = size + #(bytes or "")
        end)
        drained:wait()
        eventually(function()
          return size > 30000000
        end)
      end)
    end)

    it("ends at once when nothing runs", function()
      with(hello, {}, function(server)
        server:drain(1e9)
        server:drain()
        server:close()
      end)
    end)
  end)

  it("ends everything at once when it is closed", function()
    local state = held()
    with(state.handle, {}, function(server)
      local busy = connect(server.port):send(GET)
      eventually(function()
        return state.waiting == 1
      end)
      server:close()
      assert.equal("", busy:rest())
      eventually(function()
        return server.connections == 0
      end)
      assert.same({ "left" }, state.reasons)
    end)
  end)

  it("leaves nothing behind of many connections", function()
    with(hello, {}, function(server)
      local function round(count)
        for _ = 1, count do
          local client = connect(server.port):send(GET)
          client:answer()
          client:close()
        end
        eventually(function()
          return server.connections == 0
        end)
        collectgarbage()
        collectgarbage()
      end
      round(50)
      local before = collectgarbage("count")
      round(500)
      assert.is_true(collectgarbage("count") - before < 64)
    end)
  end)

  it("refuses misuse", function()
    assert.has_error(function() listener.listen({}) end)
    assert.has_error(function() listener.listen({ prot = 80 }, hello) end)
    assert.has_error(function() listener.listen({ port = "80" }, hello) end)
    assert.has_error(function() listener.listen({ port = 70000 }, hello) end)
  end)
end)
