local connections = require("spec.calls.connections")
local contract = require("spec.calls.contract")
local core = require("operations.core")
local eventually = require("spec.support.eventually")
local hostile = require("spec.support.hostile_websocket")
local limits = require("operations.base.limits")
local operations = require("operations")

local function quiet() end

describe("a call map over WebSocket, from spoke to hub", function()
  contract(it, connections.spoke_to_hub)
end)

describe("a call map over WebSocket, from hub to spoke", function()
  contract(it, connections.hub_to_spoke)
end)

local websocket = operations.transports.websocket
local streams = require("operations.net.stream")
local task = require("operations.task")

local function registry()
  local served = operations.registry({ log = quiet })
  assert(served:register_all({
    { namespace = "a", name = "who", handler = function(_, context)
      return context.identity and context.identity.id or "nobody"
    end },
    { namespace = "a", name = "sleep", handler = function(input)
      operations.sleep(input.seconds)
      return "slept"
    end },
    { namespace = "a", name = "ticks", type = "subscription", handler = function()
      local i = 0
      while true do
        i = i + 1
        coroutine.yield(i)
        operations.sleep(0.005)
      end
    end },
  }))
  return served
end

-- Runs `fn(hub, connect)` with a hub that serves the registry above.
local function with_hub(options, fn)
  options.registry, options.log = options.registry or registry(), quiet
  operations.run(function()
    local hub = assert(operations.transports.websocket_hub(options))
    local maps = {}
    local ok, raised = pcall(fn, hub, function(given)
      local transport, err = websocket("ws://127.0.0.1:" .. hub.port .. "/calls?v=1", given)
      local map = transport and operations.call_map(transport, { log = quiet })
      maps[#maps + 1] = map
      return map, err
    end)
    for _, map in ipairs(maps) do
      map:close()
    end
    hub:close()
    if not ok then
      error(raised, 0)
    end
  end)
end

local opening, talk = hostile.opening, hostile.talk

describe("a WebSocket hub", function()
  it("gives each identity a share of the subscriptions, over all its connections", function()
    local function authorize(request)
      return { id = request.token, scopes = {} }
    end
    with_hub({ max_identity_streams = 2, authorize = authorize }, function(_, connect)
      local function ticks(who)
        local map = connect({ token = who })
        local stream = assert(map:subscribe("a.ticks"))
        local event, err = stream:next()
        return event and stream or err.code
      end
      local first, second = ticks("ada"), ticks("ada") -- a stream that is collected is closed
      assert.is_table(second)
      assert.equal("BUSY", ticks("ada"))
      assert.is_table(ticks("bob"))
      first:close()
      eventually(function()
        return ticks("ada") ~= "BUSY"
      end)
    end)
  end)

  it("limits the bytes of all unfinished messages, and ends the connection with the longest", function()
    local most = limits.websocket_unfinished
    limits.websocket_unfinished = 10000
    local ok, raised = pcall(with_hub, {}, function(hub, connect)
      local honest = connect()
      local function begin(bytes)
        local stream = assert(streams.connect("127.0.0.1", hub.port))
        local state = { stream = stream, got = "" }
        stream:each_chunk(function(piece)
          state.got, state.ended = state.got .. (piece or ""), piece == nil
        end)
        assert(stream:write(opening .. "\r\n\1\254" .. string.char(math.floor(bytes / 256), bytes % 256) .. "\0\0\0\0"
          .. ("x"):rep(bytes)))
        return state
      end
      local small = begin(1000)
      local large = {}
      for i = 1, 3 do
        large[i] = begin(4000)
        operations.sleep(0.02)
      end
      eventually(function()
        return large[1].ended or large[2].ended or large[3].ended
      end)
      assert.is_falsy(small.ended)
      assert.equal("nobody", assert(honest:call("a.who")).data)
      for _, each in ipairs({ small, large[1], large[2], large[3] }) do
        each.stream:close()
      end
    end)
    limits.websocket_unfinished = most
    assert(ok, raised)
  end)

  it("answers the handshake of RFC 6455, also when it comes byte by byte", function()
    with_hub({}, function(hub)
      local got = talk(hub.port, opening .. "\r\n", function(bytes)
        return bytes:find("\r\n\r\n", 1, true)
      end)
      assert.truthy(got:find("HTTP/1.1 101 Switching Protocols\r\n", 1, true))
      assert.truthy(got:find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", 1, true))
      local stream = assert(streams.connect("127.0.0.1", hub.port))
      local slowly = ""
      stream:each_chunk(function(piece)
        slowly = slowly .. (piece or "")
      end)
      for byte in (opening .. "\r\n"):gmatch(".") do
        assert(stream:write(byte))
        operations.sleep(0)
      end
      eventually(function()
        return slowly:find("101", 1, true)
      end)
      stream:close()
    end)
  end)

  it("refuses anything but a handshake, and says why", function()
    with_hub({}, function(hub)
      for _, case in ipairs(hostile.refusals) do
        local got = talk(hub.port, case[1])
        assert.equal("HTTP/1.1 " .. (case[3] or case[2]), got:sub(1, 12))
      end
      assert.matches("^HTTP/1%.1 400 ", talk(hub.port, (opening:gsub("/", "/a\n\27[forged]", 1)) .. "\r\n"))
      assert.matches("^HTTP/1%.1 400 .*a dot segment", talk(hub.port, (opening:gsub("/", "/a/%%2e./b", 1)) .. "\r\n"))
      assert.equal(0, hub.connections)
    end)
  end)

  it("keeps nothing of connections that are over", function()
    local maps = setmetatable({}, { __mode = "k" })
    with_hub({ registry = registry(), on_connection = function(map)
      maps[map] = true
    end }, function(hub, connect)
      for _ = 1, 10 do
        connect():close()
      end
      eventually(function()
        collectgarbage()
        local left = 0
        for _ in pairs(maps) do
          left = left + 1
        end
        return hub.connections == 0 and left < 5
      end)
    end)
  end)

  it("does not wait for ever for a handshake", function()
    with_hub({ handshake_timeout = 50 }, function(hub)
      assert.matches("^HTTP/1%.1 408 ", talk(hub.port, "GET / HTTP/1.1\r\n"))
      assert.equal("", talk(hub.port, ""))
    end)
  end)

  it("lets the identity of the authoriser count, which may wait", function()
    local function authorize(request)
      operations.sleep(0.01)
      if request.token == "good" then
        return { id = "ada", scopes = {} }
      end
      return nil, "unknown token"
    end
    with_hub({ authorize = authorize }, function(_, connect)
      assert.equal("ada", connect({ token = "good" }):call("a.who").data)
      local nothing, err = connect({ token = "bad" })
      assert.is_nil(nothing)
      assert.equal("ACCESS_DENIED", err.code)
      assert.equal(401, err.details.statusCode)
      assert.same({ false, false }, { err.retryable, err.mayHaveRun })
      assert.equal("ACCESS_DENIED", select(2, connect()).code)
    end)
  end)

  it("asks an authoriser that is a table, and says 503 where it cannot tell", function()
    local told, previous = {}, task.on_error
    finally(function()
      task.on_error = previous
    end)
    function task.on_error(_, traceback)
      told[#told + 1] = traceback
    end
    local authorize = operations.oauth.resource_server({ issuer = "https://login.example", audience = "api",
      introspection = { endpoint = "http://127.0.0.1:1/introspect", client_id = "hub", client_secret = "hush" } })
    with_hub({ authorize = authorize }, function(hub, connect)
      local got = talk(hub.port, opening .. "Authorization: Bearer opaque\r\n\r\n")
      assert.matches("^HTTP/1%.1 503 .*credentials cannot be checked now$", got)
      assert.is_nil(got:find("127.0.0.1:1", 1, true))
      assert.matches("^HTTP/1%.1 401 ", talk(hub.port, opening .. "\r\n"))
      assert.equal("TRANSPORT_LOST", select(2, connect({ token = "opaque" })).code)
      assert.equal(0, hub.connections)
    end)
    assert.matches("authorize: .-could not be checked", table.concat(told))
    assert.is_nil(table.concat(told):find("opaque", 1, true))
  end)

  it("asks for a password where the authoriser goes by passwords", function()
    local users = { ada = { password = "b", identity = { id = "ada", scopes = {} } } }
    with_hub({ authorize = operations.oauth.basic(users, { realm = "calls" }) }, function(hub)
      for _, given in ipairs({ "", "Authorization: Basic YWRhOmM=\r\n", "Authorization: Bearer YWRhOmI=\r\n" }) do
        local got = talk(hub.port, opening .. given .. "\r\n")
        assert.matches("^HTTP/1%.1 401 ", got)
        assert.matches('WWW-Authenticate: Basic realm="calls", charset="UTF-8"\r\n', got, 1, true)
      end
      assert.matches("^HTTP/1%.1 101 ", talk(hub.port, opening .. "Authorization: Basic YWRhOmI=\r\n\r\n",
        function(got) return got:find("\r\n\r\n", 1, true) end))
    end)
  end)

  it("refuses an authoriser that cannot be called", function()
    for _, authorize in ipairs({ {}, setmetatable({}, {}), setmetatable({}, { __call = "x" }) }) do
      assert.error_matches(function()
        operations.transports.websocket_hub({ port = false, authorize = authorize })
      end, "bad option 'authorize' to 'websocket_hub' %(something that can be called expected%)")
    end
  end)

  local function raise()
    error("the secret of the database")
  end

  for what, options in pairs({
    ["an authoriser that raises"] = { authorize = raise },
    ["an authoriser that answers with no identity"] = { authorize = function()
      operations.sleep(0.01)
      return true
    end },
    ["an on_connection that raises"] = { on_connection = raise, max_connections = 1 },
  }) do
    it("answers that " .. what .. " failed, and tells of it here", function()
      local told = {}
      local previous = task.on_error
      function task.on_error(_, traceback)
        told[#told + 1] = traceback
      end
      local ok, raised = pcall(with_hub, options, function(hub, connect)
        local got = talk(hub.port, opening .. "\r\n")
        assert.matches("^HTTP/1%.1 500 ", got)
        assert.is_nil(got:find("secret", 1, true))
        local _, err = connect()
        assert.same({ "TRANSPORT_LOST", "handshake" }, { err.code, err.details.kind })
        assert.matches("500", err.message, 1, true)
        assert.equal(0, hub.connections)
        eventually(function()
          return #told >= 2
        end)
      end)
      task.on_error = previous
      assert(ok, raised)
      assert.matches(options.on_connection and "on_connection: .-the secret"
        or options.authorize == raise and "authorize: .-the secret"
        or "authorize: an identity expected, got boolean", table.concat(told))
    end)
  end

  it("refuses origins that no page has a claim to", function()
    for _, origin in ipairs({ "null", "*", "https://good.example/" }) do
      assert.error_matches(function()
        operations.transports.websocket_hub({ port = false, origins = { origin } })
      end, "bad option 'origins' to 'websocket_hub'")
    end
  end)

  it("lets web pages of allowed origins in", function()
    with_hub({ origins = { "https://good.example" } }, function(hub)
      local got = talk(hub.port, opening .. "Origin: https://good.example\r\n\r\n", function(bytes)
        return #bytes > 12
      end)
      assert.equal("HTTP/1.1 101", got:sub(1, 12))
    end)
  end)

  it("has room for so many connections", function()
    with_hub({ max_connections = 1 }, function(_, connect)
      assert(connect())
      assert.equal("TRANSPORT_LOST", select(2, connect()).code)
    end)
  end)

  it("ends connections that break the rules, with a close frame that says why", function()
    with_hub({ max_message = 1000 }, function(hub)
      for name, case in pairs(hostile.frames) do
        local got = talk(hub.port, opening .. "\r\n" .. case[1])
        local frames = got:match("\r\n\r\n(.*)$")
        assert.equal(0x88, frames:byte(1), name)
        if case[2] then
          assert.equal(case[2], frames:byte(3) * 256 + frames:byte(4), name)
        end
      end
      eventually(function()
        return hub.connections == 0
      end)
    end)
  end)

  it("fails a call whose input or answer is too long, and no other", function()
    local served = registry()
    assert(served:register({ namespace = "a", name = "double", handler = function(input)
      return input.text .. input.text
    end }))
    assert(served:register({ namespace = "a", name = "doubles", type = "subscription", handler = function(input)
      coroutine.yield(1)
      coroutine.yield(input.text .. input.text)
    end }))
    with_hub({ registry = served, max_message = 2000 }, function(_, connect)
      local map = connect({ max_message = 2000 })
      local long = { text = ("x"):rep(1500) }
      local err = select(2, map:call("a.double", long))
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("a.double: the result cannot be sent: a message of %d+ bytes is longer than max_message, 2000",
        err.message)
      local events = assert(map:subscribe("a.doubles", long))
      assert.equal(1, events:next().data)
      assert.equal("EXECUTION_ERROR", select(2, events:next()).code)
      err = select(2, map:call("a.double", { text = ("x"):rep(2000) }))
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("xx", map:call("a.double", { text = "x" }).data)
      assert.equal(0, map:pending_count())
    end)
  end)

  it("raises on options that it does not know", function()
    assert.has_error(function()
      operations.transports.websocket_hub({ authorise = function() end })
    end, "bad option 'authorise' to 'websocket_hub' (unknown; did you mean authorize?)")
    assert.has_error(function()
      websocket("ws://127.0.0.1:1", { reconnect = 5 })
    end, "bad option 'reconnect' to 'websocket' (boolean or table expected, got number)")
    for problem, policy in pairs({
      ["'maxdelay' to 'reconnect' %(unknown; did you mean max_delay%?%)"] = { maxdelay = 5 },
      ["'delay' to 'reconnect' %(a number from 0 expected, got %-1%)"] = { delay = -1 },
      ["'jitter' to 'reconnect' %(a number from 0 expected, got %-?nan%)"] = { jitter = 0 / 0 },
    }) do
      local ok, message = pcall(function()
        websocket("ws://127.0.0.1:1", { reconnect = policy })
      end)
      assert.is_false(ok)
      assert.matches("websocket_spec.lua:%d+: bad option " .. problem, message)
    end
  end)

  it("refuses invalid events, and continues", function()
    with_hub({}, function(hub)
      local text = '{"type":"call.requested","payload":{"requestId":"1","operationId":"a.who"}}'
      local got = talk(hub.port, opening .. "\r\n\129\130\0\0\0\0{}\129\131\0\0\0\0[1]\129\203\0\0\0\0" .. text,
        function(bytes)
          return bytes:find("nobody", 1, true)
        end)
      assert.truthy(got:find('"requestId":"1"', 1, true))
    end)
  end)

  it("lets running calls end when it closes", function()
    with_hub({}, function(hub, connect)
      local map = connect()
      local call = operations.spawn(function()
        return map:call("a.sleep", { seconds = 0.1 })
      end)
      operations.sleep(0.03)
      hub:close(5000)
      assert.equal("slept", call:wait().data)
      eventually(function()
        return hub.connections == 0
      end)
    end)
  end)
end)

describe("a WebSocket hub on an HTTP server", function()
  it("serves spokes below its path, beside requests, on the same port", function()
    operations.run(function()
      local served = registry()
      local hub = assert(operations.transports.websocket_hub({ registry = served, port = false, log = quiet,
        authorize = function(request)
          return request.peer.address == "127.0.0.1" and request.token == "good" and { id = request.path } or nil
        end }))
      local server = assert(operations.to_http(served, { log = quiet }))
      server:mount("/calls", hub)
      local listener = assert(server:listen({}))
      local url = ("ws://127.0.0.1:%d/calls"):format(listener.port)
      local map = operations.call_map(assert(websocket(url .. "/a?b", { token = "good" })), { log = quiet })
      assert.equal("/calls/a?b", map:call("a.who").data)
      assert.equal(1, hub.connections)
      assert.same({ nil, "ACCESS_DENIED" }, { websocket(url), select(2, websocket(url)).code })
      local response = assert(operations.http.request({ url = url:gsub("^ws", "http") }))
      assert.equal(426, response.status)
      response = assert(operations.http.request({ url = url:gsub("^ws", "http"):gsub("calls$", "healthz") }))
      assert.equal(200, response.status)
      server:drain(1000)
      assert.equal("/calls/a?b", map:call("a.who").data) -- a connection of the hub's own
      hub:close(100)
      map:close()
      eventually(function()
        return hub.connections == 0
      end)
    end)
  end)

  it("leaves nothing behind of a client that asks and leaves", function()
    operations.run(function()
      local hub = assert(operations.transports.websocket_hub({ registry = registry(), log = quiet,
        authorize = function()
          operations.sleep(0.02)
          return { id = "ada" }
        end }))
      for _ = 1, 5 do
        local stream = assert(streams.connect("127.0.0.1", hub.port))
        assert(stream:write(opening .. "\r\n"))
        operations.sleep(0.005)
        stream:close()
      end
      operations.sleep(0.03)
      eventually(function()
        return hub.connections == 0
      end)
      hub:close()
    end)
  end)
end)

describe("a WebSocket hub that closes", function()
  it("sends the answers of running calls first, however large, and waits until they were read", function()
    local served = registry()
    assert(served:register({ namespace = "a", name = "large", handler = function()
      operations.sleep(0.05)
      return ("x"):rep(8000000)
    end }))
    with_hub({ registry = served }, function(hub, connect)
      local map = connect()
      local call = operations.spawn(map.call, map, "a.large")
      eventually(function()
        local _, handler = next(hub._handlers)
        return handler and handler.active == 1
      end)
      hub:close(20000)
      assert.is_nil(next(hub._streams))
      assert.equal(8000000, #assert(call:wait()).data)
    end)
  end)
end)

describe("a WebSocket spoke", function()
  it("takes no close whose reason is no UTF-8", function()
    local feed, lost
    local stream = { offer = quiet, linger = quiet, watch = quiet, each_chunk = function(_, fn)
      feed = fn
    end }
    local connection = require("operations.calls.websocket.connection").new(stream, false, {}, {})
    connection:open({ lost = function(err)
      lost = err
    end })
    connection:start("")
    for byte in ("\136\4\3\233\192\128"):gmatch(".") do
      feed(byte)
    end
    assert.same({ "protocol", "the other side broke the rules of WebSocket" }, { lost.details.kind, lost.message })
  end)

  it("is closed also when no call map took it", function()
    with_hub({}, function(hub)
      local spoke = assert(websocket("ws://127.0.0.1:" .. hub.port))
      spoke:close()
      eventually(function()
        return hub.connections == 0
      end)
    end)
  end)

  it("says why it cannot connect", function()
    operations.run(function()
      local _, err = websocket("ws://127.0.0.1:1")
      assert.same({ "TRANSPORT_LOST", "connect" }, { err.code, err.details.kind })
      local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
        stream:offer("HTTP/1.1 200 OK\r\n\r\n")
      end))
      _, err = websocket("ws://127.0.0.1:" .. listener.port)
      assert.equal("TRANSPORT_LOST", err.code)
      listener:close()
    end)
    assert.has_error(function()
      websocket("http://127.0.0.1")
    end, "bad argument #1 to 'websocket' (URL of ws or wss expected, got http://127.0.0.1)")
    for _, url in ipairs({ "wsx://u:secret@127.0.0.1", "ws://127.0.0.1/a HTTP/1.1\r\nX: y", "ws://127.0.0.1:99999" }) do
      local ok, message = pcall(websocket, url)
      assert.is_false(ok)
      assert.matches("bad argument #1 to 'websocket' %(URL of ws or wss expected", message)
      assert.is_nil(message:find("secret", 1, true))
    end
  end)

  it("connects again, and resubscribes by option", function()
    local served, hub, port = registry(), nil, nil
    operations.run(function()
      hub = assert(operations.transports.websocket_hub({ registry = served, log = quiet }))
      port = hub.port
      local map = operations.call_map(assert(websocket("ws://127.0.0.1:" .. port, {
        reconnect = { delay = 5, max_delay = 20 },
      })), { log = quiet })
      local ticks = assert(map:subscribe("a.ticks", nil, { resubscribe = true }))
      local lost = assert(map:subscribe("a.ticks"))
      assert.equal(1, ticks:next().data)
      assert.equal(1, lost:next().data)
      hub:close()
      local err
      repeat
        local envelope
        envelope, err = lost:next()
      until not envelope
      assert.equal("TRANSPORT_LOST", err.code)
      assert.is_true(err.retryable)
      local _, refused = map:call("a.who")
      assert.same({ "TRANSPORT_LOST", true, false }, { refused.code, refused.retryable, refused.mayHaveRun })
      hub = assert(operations.transports.websocket_hub({ registry = served, port = port, log = quiet }))
      local last, again = 1, false
      while not again do
        local tick = ticks:next().data
        again, last = tick <= last, tick
      end
      assert.equal(1, last)
      assert.equal("nobody", map:call("a.who").data)
      ticks:close()
      map:close()
      hub:close()
    end)
  end)

  it("connects once without `reconnect`, and its errors say that another try is useless", function()
    operations.run(function()
      local hub = assert(operations.transports.websocket_hub({ registry = registry(), log = quiet }))
      local map = operations.call_map(assert(websocket("ws://127.0.0.1:" .. hub.port)), { log = quiet })
      assert.equal("nobody", map:call("a.who").data)
      hub:close()
      local err
      eventually(function()
        err = select(2, map:call("a.who"))
        return err and err.mayHaveRun == false
      end)
      assert.same({ "TRANSPORT_LOST", false }, { err.code, err.retryable })
      map:close()
    end)
  end)

  it("connects again and again to a hub that ends at once, with growing delays", function()
    operations.run(function()
      local times = {}
      local hub = assert(operations.transports.websocket_hub({ log = quiet, on_connection = function(map)
        times[#times + 1] = core.now()
        operations.spawn(function()
          map:close()
        end)
      end }))
      local map = operations.call_map(assert(websocket("ws://127.0.0.1:" .. hub.port, {
        reconnect = { delay = 20, jitter = 0 },
      })), { log = quiet })
      eventually(function()
        return #times == 5
      end)
      assert.is_true(times[5] - times[1] >= 0.9 * (20 + 40 + 80 + 160), times[5] - times[1])
      map:close()
      hub:close()
    end)
  end)

  it("notices that the other side is gone without a word", function()
    operations.run(function()
      local held = {}
      local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
        held[1] = stream
        stream:each_chunk(function(bytes)
          local key = bytes and bytes:match("Sec%-WebSocket%-Key: (%S+)")
          if key then
            local digest = require("operations.websocket").sha1(key .. "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
            stream:offer("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
              .. require("operations.base.base64").encode(digest) .. "\r\nSec-WebSocket-Protocol: ops.v1.json\r\n\r\n")
          end
        end)
      end))
      local map = operations.call_map(assert(websocket("ws://127.0.0.1:" .. listener.port, { ping_interval = 20 })))
      local _, err = map:call("a.who")
      assert.same({ "TRANSPORT_LOST", "timeout" }, { err.code, err.details.kind })
      assert.equal(1, #held)
      listener:close()
    end)
  end)
end)
