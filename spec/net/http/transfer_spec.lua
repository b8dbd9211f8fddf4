--- Transfers of a reactor and a server of the spec in one thread: what either side does next is decided here.
require("operations.transfer")
local core = require("operations.core")
local module = require("operations.reactor")
local usage = require("spec.support.usage")

describe("a transfer", function()
  local reactor, server

  before_each(function()
    reactor = assert(module.new())
  end)

  after_each(function()
    reactor:close()
  end)

  local function listen(host)
    local listener = assert(reactor:listen({ host = host }))
    server = { listener = listener, connections = {},
      url = ("http://%s:%d/"):format(host == "::1" and "[::1]" or host, listener:port()) }
  end

  local function accept()
    local stream = reactor:accept({ listener = server.listener, window = 2 ^ 20, queue = 2 ^ 20 })
    while stream do
      table.insert(server.connections, { stream = stream, got = "" })
      stream = reactor:accept({ listener = server.listener, window = 2 ^ 20, queue = 2 ^ 20 })
    end
  end

  -- Waits for events, or for `ms` at the most. Returns those of transfers, each a list.
  local function turn(ms)
    local events, stop = {}, core.now() + 30000
    repeat
      reactor:step(ms or 100) -- returns early without an event, too
    until ms or reactor:pending() or core.now() > stop and error("nothing happens any more")
    for handle, kind, a, b, c, d in function() return reactor:next() end do
      if handle == server.listener then
        accept()
      else
        events[#events + 1] = { kind, a, b, c, d, handle = handle }
      end
    end
    for i = #events, 1, -1 do
      for _, connection in ipairs(server.connections) do
        if events[i] and connection.stream == events[i].handle then
          connection.got = connection.got .. (connection.stream:receive() or "")
          connection.over = connection.over or events[i][1] == "done"
          table.remove(events, i)
        end
      end
    end
    return events
  end

  -- Steps until a transfer says something else than that it wants more of its body.
  local function await()
    while true do
      for _, event in ipairs(turn()) do
        if event[1] ~= "want" then
          event.handle = nil
          return event
        end
      end
    end
  end

  -- Steps until a transfer ends. Returns the names of its events.
  local function await_end(handle)
    local kinds = {}
    repeat
      for _, event in ipairs(turn()) do
        kinds[#kinds + 1] = event.handle == handle and event[1] or nil
      end
    until kinds[#kinds] == "done" or kinds[#kinds] == "error"
    return kinds
  end

  -- Steps until what came on a connection ends with a text.
  local function await_request(i, text)
    while not server.connections[i] or server.connections[i].got:sub(-#text) ~= text do
      turn()
    end
    return server.connections[i]
  end

  local function start(options)
    options.url, options.method = options.url or server.url, options.method or "GET"
    options.keep_alive, options.idle_connections, options.decode = options.keep_alive or 60000, 100, true
    options.headers = { "Expect:" }
    return assert(reactor:http(options))
  end

  local function answer(connection, text)
    assert.equal("sent", connection.stream:transmit(text))
    connection.got = ""
  end

  local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  local six = module.new()
  local has_six = six:listen({ host = "::1" }) ~= nil
  six:close()

  for _, host in ipairs({ "127.0.0.1", has_six and "::1" or nil }) do
    it("uses a connection again that has nothing to say, at " .. host, function()
      listen(host)
      for _ = 1, 3 do
        local handle = start({})
        local connection = await_request(1, "\r\n\r\n")
        answer(connection, OK)
        assert.same({ "done", 200, "Content-Length: 2\n", "ok" }, await())
        handle:cancel()
      end
      assert.equal(1, #server.connections)
    end)

    it("uses another connection than one on which bytes came unasked, at " .. host, function()
      listen(host)
      for i = 1, 3 do
        local handle = start({})
        local connection = await_request(i, "\r\n\r\n")
        answer(connection, OK)
        assert.same({ "done", 200, "Content-Length: 2\n", "ok" }, await())
        answer(connection, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        handle:cancel()
      end
      for _ = 1, 2 do
        local handle = start({})
        answer(await_request(4, "\r\n\r\n"), OK)
        assert.equal("done", await()[1])
        handle:cancel()
      end
      assert.equal(4, #server.connections)
    end)
  end

  it("takes bytes that came unasked for no answer, whichever of many connections they came on", function()
    listen("127.0.0.1")
    local handles = {}
    for i = 1, 20 do
      handles[i] = start({})
    end
    for i = 1, 20 do
      await_request(i, "\r\n\r\n")
    end
    for i = 1, 20 do
      answer(server.connections[i], OK)
      assert.equal("done", await()[1])
    end
    for i = 1, 20, 2 do
      answer(server.connections[i], "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
    end
    for i = 1, 20 do
      handles[i] = start({})
    end
    for i = 2, 20, 2 do
      answer(await_request(i, "\r\n\r\n"), OK)
    end
    for i = 21, 30 do
      answer(await_request(i, "\r\n\r\n"), OK)
    end
    for _, handle in ipairs(handles) do
      handle:cancel()
    end
    assert.equal(30, #server.connections)
  end)

  it("takes no more than its window before that is read", function()
    listen("127.0.0.1")
    for _, window in ipairs({ 1, 10, 1000 }) do
      local handle = start({ stream = true, window = window })
      local connection = await_request(#server.connections + 1, "\r\n\r\n")
      answer(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" .. ("a"):rep(window - 1))
      assert.equal("head", await()[1])
      local first = "a"
      for _, byte in ipairs({ "b", "c", "d" }) do -- the second one fills it
        answer(connection, byte)
        for _ = 1, 3 do
          turn(5)
        end
        first = byte
      end
      assert.equal("d", first)
      assert.equal(("a"):rep(window - 1) .. "b", handle:read())
      local rest = ""
      repeat
        turn(5)
        rest = rest .. (handle:read() or "")
      until rest == "cd"
      handle:cancel()
    end
  end)

  it("joins an answer of 16 KiB at the most", function()
    listen("127.0.0.1")
    for size, kinds in pairs({ [0] = { "done" }, [1] = { "done" }, [16383] = { "done" }, [16384] = { "done" },
      [16385] = { "head", "data", "done" } }) do
      local handle = start({ stream = true, join = true, window = 2 ^ 20 })
      local connection = await_request(#server.connections + (server.connections[1] and 0 or 1), "\r\n\r\n")
      answer(connection, ("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"):format(size, ("x"):rep(size)))
      local active = reactor:inflight()
      repeat
        reactor:step(1000)
      until reactor:inflight() < active
      local seen = {}
      for told, kind, _, _, body in function() return reactor:next() end do
        if told == handle then
          seen[#seen + 1] = kind
          assert.equal(#kinds == 1 and size or nil, body and #body)
        end
      end
      assert.same(kinds, seen)
      handle:cancel()
    end
  end)

  it("sends a body as it is produced, asking for more when none is left, and ends it", function()
    listen("127.0.0.1")
    for _, case in ipairs({ { 5, "Content%-Length: 5\r\n", "abcde" },
      { nil, "Transfer%-Encoding: chunked\r\n", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" } }) do
      local handle = start({ method = "PUT", upload = true, upload_size = case[1], fresh = true })
      local wants = 0
      local function until_wanted()
        local seen
        repeat
          for _, event in ipairs(turn()) do
            assert.same({ "want", handle }, { event[1], event.handle })
            seen = true
          end
        until seen
        wants = wants + 1
      end
      until_wanted()
      handle:write("abc")
      until_wanted()
      handle:write("de")
      if not case[1] then
        until_wanted()
        handle:write("")
      end
      local connection = await_request(#server.connections, case[3])
      assert.matches("^PUT / HTTP/1.1\r\n", connection.got)
      assert.matches(case[2], connection.got)
      answer(connection, OK)
      assert.equal("done", await()[1])
      assert.equal(case[1] and 2 or 3, wants)
      handle:write("not needed any more")
      handle:cancel()
    end
  end)

  it("sends the size of a body of up to 2^53 bytes", function()
    listen("127.0.0.1")
    for size, field in pairs({ [2 ^ 53] = "\r\nContent%-Length: 9007199254740992\r\n",
      [2 ^ 54] = "\r\nTransfer%-Encoding: chunked\r\n" }) do
      local handle = start({ method = "PUT", upload = true, upload_size = size, fresh = true })
      assert.matches(field, await_request(#server.connections + 1, "\r\n\r\n").got)
      handle:cancel()
    end
  end)

  it("takes nothing while it is paused, whatever is read meanwhile", function()
    listen("127.0.0.1")
    local handle = start({ stream = true, window = 1000 })
    local connection = await_request(1, "\r\n\r\n")
    local function send(bytes)
      answer(connection, bytes)
      for _ = 1, 3 do
        turn(5)
      end
    end
    send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab")
    handle:pause()
    send("cd")
    assert.equal("ab", handle:read())
    turn(5)
    assert.is_nil(handle:read())
    handle:resume()
    turn(5)
    assert.equal("cd", handle:read())
    handle:pause()
    send("ef")
    handle:cancel()
    handle:resume()
    assert.is_nil(handle:read())
  end)

  it("keeps one framing at a time: two end the connection", function()
    listen("127.0.0.1")
    local handle = start({})
    answer(await_request(1, "\r\n\r\n"),
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
    assert.equal("done", await()[1])
    handle:cancel()
    for _ = 1, 2 do
      handle = start({})
      answer(await_request(2, "\r\n\r\n"), OK)
      assert.equal("done", await()[1])
      handle:cancel()
    end
    assert.equal(2, #server.connections)
  end)

  it("waits for its first byte, then for the next one, as long as it is told and no longer", function()
    listen("127.0.0.1")
    local handle = start({ first_byte_timeout = 60, stream = true })
    local event = await()
    assert.same({ "error", "timeout", "first_byte" }, { event[1], event[2], event[4] })
    handle:cancel()
    handle = start({ idle_timeout = 500, stream = true, window = 100 })
    local connection = await_request(2, "\r\n\r\n")
    answer(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    assert.equal("head", await()[1])
    for _ = 1, 8 do -- longer than the timeout in all
      local timer = reactor:timer(70)
      local seen = {}
      repeat
        for _, each in ipairs(turn()) do
          seen[each.handle] = each[1]
        end
      until seen[timer]
      assert.is_true(seen[handle] == nil or seen[handle] == "data")
      answer(connection, "x")
    end
    repeat
      event = await()
    until event[1] ~= "data"
    assert.same({ "error", "timeout", "idle" }, { event[1], event[2], event[4] })
    assert.equal(("x"):rep(8), handle:read())
    handle:cancel()
    start({ timeout = 0.5 })
    event = await()
    assert.same({ "error", "timeout" }, { event[1], event[2] })
  end)

  it("has the fields of the last head alone, whatever their names", function()
    listen("127.0.0.1")
    for text, expected in pairs({
      ["HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 1\r\n\r\nx"] = { "done", 200, "A: b\nContent-Length: 1\n", "x" },
      ["HTTP/1.1 200 OK\r\n: none\r\nA: b\r\n: none\r\nContent-Length: 1\r\n\r\nx"] = {
        "done", 200, "A: b\nContent-Length: 1\n", "x" },
      ["HTTP/1.1 103 Early Hints\r\nContent-Type: a/b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"] = {
        "done", 200, "Content-Length: 1\n", "x" },
      ["HTTP/1.1 103 Early Hints\r\nContent-Type: a/b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: c\r\n" ..
        "Content-Length: 1\r\n\r\nx"] = { "done", 200, "Content-Type: c\nContent-Length: 1\n", "x", "c" },
      ["HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"] = {
        "done", 200, "Content-Length: 1\n", "x" },
      ["HTTP/1.1 200 OK\r\nContent-Type: a;\r\n b\r\nContent-Length: 1\r\n\r\nx"] = {
        "done", 200, "Content-Type: a;\n b\nContent-Length: 1\n", "x" },
      ["HTTP/1.1 200 OK\r\nA: b\r\n \r\n\t c\r\nContent-Type: a/b\r\nContent-Length: 1\r\n\r\nx"] = {
        "done", 200, "A: b\n \n\t c\nContent-Type: a/b\nContent-Length: 1\n", "x", "a/b" },
      ["HTTP/1.1 200 OK\nA: b\nContent-Length: 1\n\nx"] = { "done", 200, "A: b\nContent-Length: 1\n", "x" },
      ["HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Type: c\r\nContent-Length: 1\r\n\r\nx"] = {
        "done", 200, "Content-Type: a/b\nContent-Type: c\nContent-Length: 1\n", "x" },
      ["HTTP/1.1 200 OK\r\nContent-Types: a/b\r\nXontent-Type: c\r\nContent-Length: 1\r\n\r\nx"] = {
        "done", 200, "Content-Types: a/b\nXontent-Type: c\nContent-Length: 1\n", "x" },
      ["HTTP/1.1 200 OK\r\nContent-Length: 000000000000000001\r\n\r\nx"] = {
        "done", 200, "Content-Length: 000000000000000001\n", "x" },
      ["HTTP/1.1 200 OK\r\nContent-Length: 0000000000000000001\r\n\r\nx"] = {
        "error", "protocol", "two different Content-Length headers" },
      ["HTTP/1.1 200 OK\r\nContent-Length: 0, 1\r\n\r\nx"] = {
        "error", "protocol", "two different Content-Length headers" },
      ["HTTP/1.1 200 OK\r\nContent-Length: 1, x\r\n\r\nx"] = {
        "error", "protocol", "Content-Length is not a number" },
      [("HTTP/1.1 103 x\r\n\r\n"):rep(11)] = { "error", "protocol", "too many informational (1xx) answers" },
    }) do
      local handle = start({ fresh = true })
      answer(await_request(#server.connections + 1, "\r\n\r\n"), text)
      assert.same(expected, await())
      handle:cancel()
    end
  end)

  it("keeps the connection of an answer whose informational one had chunks", function()
    listen("127.0.0.1")
    for _ = 1, 3 do
      local handle = start({})
      answer(await_request(1, "\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n" .. OK)
      assert.same({ "done", 200, "Content-Length: 2\n", "ok" }, await())
      handle:cancel()
    end
    assert.equal(1, #server.connections)
  end)

  it("says its events with these values and no more", function()
    listen("127.0.0.1")
    local handle = start({ method = "PUT", upload = true, stream = true, window = 1000, fresh = true })
    local function next_event(wanted)
      while true do
        reactor:step(100)
        local told, event
        local function take(first, ...)
          told, event = first, { select("#", ...), ... }
          return told
        end
        while take(reactor:next()) do
          if told == server.listener then
            accept()
          elseif told == handle then
            assert.equal(wanted, event[2])
            return event
          end
        end
      end
    end
    assert.same({ 1, "want" }, next_event("want"))
    handle:write("")
    local connection = server.connections[1].stream
    assert.equal("sent", connection:transmit("HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n"))
    assert.same({ 3, "head", 200, "A: b\nConnection: close\n" }, next_event("head"))
    assert.equal("sent", connection:transmit("x"))
    assert.same({ 1, "data" }, next_event("data"))
    connection:finish_sending()
    assert.same({ 1, "done" }, next_event("done"))
    assert.equal("x", handle:read())
  end)

  it("lends its bytes in pieces of the size that is asked for", function()
    listen("127.0.0.1")
    local handle = start({ stream = true, window = 1000 })
    answer(await_request(1, "\r\n\r\n"), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789")
    assert.same({ "head", "data", "done" }, await_end(handle))
    local sizes = {}
    for _, max in ipairs({ 3, 4, 3, 1 }) do
      sizes[#sizes + 1] = select(2, handle:lend(max)) or "none"
    end
    assert.same({ 3, 4, 3, "none" }, sizes)
  end)

  it("ends late with a connection that is not made as with an answer", function()
    listen("127.0.0.1")
    for phase, options in pairs({ first_byte = { first_byte_timeout = 50 }, deadline = { deadline = 50 } }) do
      options.url = server.url:gsub("^http:", "https:")
      local handle = assert(reactor:connect(options))
      local event = await()
      assert.same({ "error", "timeout", phase }, { event[1], event[2], event[4] })
      handle:cancel()
    end
  end)

  it("may take longer for its body than for its first byte", function()
    listen("127.0.0.1")
    local handle = start({ stream = true, window = 1000, first_byte_timeout = 1000 })
    local connection = await_request(1, "\r\n\r\n")
    answer(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
    assert.equal("head", await()[1])
    local timer = reactor:timer(1200)
    local events = turn()
    assert.same({ 1, timer }, { #events, events[1].handle })
    answer(connection, "x")
    assert.equal("data", await()[1])
    handle:cancel()
  end)

  it("asks for a path as it is, and for the codings that this libcurl knows", function()
    local _, _, features = require("operations.transfer").libcurl()
    local codings = {}
    for _, case in ipairs({ { "gzip", "deflate, gzip" }, { "brotli", "br" }, { "zstd", "zstd" } }) do
      codings[#codings + 1] = features[case[1]] and case[2] or nil
    end
    for _, host in ipairs({ "127.0.0.1", has_six and "::1" or nil }) do
      listen(host)
      local handle = start({ url = server.url .. "a/../b/./c" })
      local connection = await_request(1, "\r\n\r\n")
      assert.matches("^GET /a/%.%./b/%./c HTTP/1.1\r\n", connection.got)
      assert.equal(table.concat(codings, ", "), connection.got:match("\r\nAccept%-Encoding: ([^\r]*)\r\n"))
      handle:cancel()
    end
  end)

  it("has a head before its body also where libcurl takes a line that begins with CR for the head's end", function()
    listen("127.0.0.1")
    local handle = start({ stream = true, window = 1000 })
    answer(await_request(1, "\r\n\r\n"), "HTTP/1.1 200 OK\r\nConnection: close\r\n\rA: b\r\nbody")
    assert.same({ "head", 200, "Connection: close\n" }, await())
    handle:cancel()
  end)

  it("has trailers of max_headers at the most", function()
    listen("127.0.0.1")
    for length, kind in pairs({ [99] = "done", [100] = "done", [101] = "error" }) do
      local handle = start({ fresh = true, max_headers = 100 })
      answer(await_request(#server.connections + 1, "\r\n\r\n"), "HTTP/1.1 200 OK\r\n" ..
        "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: " .. ("y"):rep(length - 5) .. "\r\n\r\n")
      assert.equal(kind, await()[1], length)
      handle:cancel()
    end
  end)

  it("waits for its first byte once its body is not taken any more", function()
    listen("127.0.0.1")
    local handle = start({ method = "PUT", body = ("x"):rep(2 ^ 24), first_byte_timeout = 60, deadline = 10000 })
    local event
    repeat
      local told, kind, a, _, c
      repeat
        reactor:step(-1)
        told, kind, a, _, c = reactor:next()
      until told
      if told == server.listener then
        server.slow = reactor:accept({ listener = server.listener, window = 2 ^ 20, queue = 1 })
      elseif told == handle then
        event = { kind, a, c }
      end
    until event
    assert.same({ "error", "timeout", "first_byte" }, event)
  end)

  it("keeps its body no longer than it may be sent", function()
    listen("127.0.0.1")
    for _, head in ipairs({ OK, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n" }) do
      local before = usage.heap()
      local handle = start({ method = "POST", body = ("x"):rep(2 ^ 22) .. "end", fresh = true })
      local connection = await_request(#server.connections + 1, "end")
      answer(connection, head)
      local kind = await()[1]
      assert.is_true(usage.heap() - before < 1024, kind)
      handle:cancel()
    end
  end)

  it("closes an idle connection after keep_alive, and then only waits", function()
    listen("127.0.0.1")
    start({ keep_alive = 1000 })
    local connection = await_request(1, "\r\n\r\n")
    answer(connection, OK)
    assert.equal("done", await()[1])
    local steps = 0
    while not connection.over do
      turn(1000)
      steps = steps + 1
    end
    local timer, told = reactor:timer(100), nil
    while told ~= timer do
      local event = turn(1000)[1]
      told = event and event.handle
      steps = steps + 1
    end
    assert.is_true(steps < 50, steps)
  end)
end)
