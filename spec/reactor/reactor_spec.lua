local core = require("operations.core")
local client = require("operations.net.http")
local test_server = require("spec.support.server")
local usage = require("spec.support.usage")

describe("a reactor", function()
  require("operations.transfer")
  local module = require("operations.reactor")
  local reactor, server

  setup(function()
    server = test_server.start()
  end)

  teardown(function()
    server:stop()
  end)

  before_each(function()
    reactor = assert(module.new())
  end)

  after_each(function()
    reactor:close()
  end)

  local function http(path, options, owner)
    options = options or {}
    options.url = server.url .. path
    options.method = options.method or "GET"
    return reactor:http(options, owner)
  end

  -- The next event, however long it takes.
  local function next_event()
    while not reactor:pending() do
      reactor:step(-1)
    end
    return reactor:next()
  end

  it("keeps additions to its types when it is loaded again", function()
    package.loaded["operations.reactor"] = nil
    local again = assert(require("operations.reactor").new())
    package.loaded["operations.reactor"] = module
    local handle = again:http({ url = server.url .. "/bytes?size=4", method = "GET" })
    assert.is_nil(handle:read())
    again:close()
  end)

  it("knows the defaults of a request, and of no stream", function()
    reactor = assert(module.new({ max_body = 1000, idle_timeout = 20, url = "http://nowhere/", decode = true }))
    local function outcome(path, options)
      local handle = http(path, options)
      local kind, a
      repeat
        kind, a = select(2, next_event())
      until kind == "done" or kind == "error"
      handle:cancel()
      return kind == "error" and a or kind
    end
    assert.equal("timeout", outcome("/slow?body=60"))
    assert.equal("size", outcome("/bytes?size=1001"))
    assert.equal("done", outcome("/bytes?size=1001", { max_body = 1001 }))
    assert.equal("done", outcome("/bytes?size=1001", { stream = true }))
    assert.equal("done", outcome("/slow?body=0.1", { stream = true }))
    assert.has_error(function()
      reactor:http({ method = "GET" })
    end, "bad options ('url' and 'method' expected)")
    assert.error_matches(function()
      module.new({ window = -1 }):http({ url = server.url, method = "GET" })
    end, "negative")
  end)

  it("a handle that is over serves another request", function()
    local first, second = {}, {}
    local handle = http("/echo", { method = "POST", body = "one" }, first)
    assert.error_matches(function()
      http("/echo", { handle = handle })
    end, "bad option 'handle' %(none of this kind that is over%)")
    assert.error_matches(function()
      http("/echo", { handle = reactor:timer(0) })
    end, "bad option 'handle'")
    repeat
      local done, kind = next_event()
    until done == handle and kind == "done"
    local timer = reactor:timer(0)
    assert.equal(timer, (next_event()))
    for _, other in ipairs({ timer, {}, "handle", io.stdout, false }) do
      assert.error_matches(function()
        http("/echo", { handle = other })
      end, "bad option 'handle'")
    end
    assert.equal(handle, http("/bytes?size=3", { handle = handle }, second))
    local done, kind, status, _, body = next_event()
    assert.same({ "done", 200, "012" }, { kind, status, body })
    assert.equal(handle, done)
    assert.equal(second, handle:owner())
    local another = assert(module.new())
    another:http({ url = server.url .. "/bytes?size=4", method = "GET", handle = handle })
    reactor:close()
    repeat
      another:step(-1)
    until another:pending()
    assert.equal("0123", (select(5, another:next())))
    another:close()
  end)

  it("gives a handle the owner that it is started with, or none, and takes no other argument", function()
    local path = os.tmpname()
    os.remove(path)
    local listener = assert(reactor:listen({ path = path }))
    for _, case in ipairs({
      { "timer", 1e9 }, { "listen", { host = "127.0.0.1" } }, { "http", { url = server.url, method = "GET" } },
      { "connect", { url = server.url } }, { "connect_path", { path = path } }, { "accept", { listener = listener } },
      { "process", { files = { "/bin/true" }, arguments = { "true" }, environment = {} } },
    }) do
      local start = reactor[case[1]]
      for i = 1, case[1] == "accept" and 3 or 0 do
        assert(reactor:connect_path({ path = path }, i))
      end
      assert.is_nil(start(reactor, case[2]):owner(), case[1])
      assert.equal("mine", start(reactor, case[2], "mine"):owner(), case[1])
      assert.is_false(start(reactor, case[2], false, "more", "arguments"):owner(), case[1])
    end
    listener:cancel()
  end)

  it("returns nothing from the functions that have no result", function()
    local path = os.tmpname()
    os.remove(path)
    local listener = assert(reactor:listen({ path = path }))
    local stream = assert(reactor:connect_path({ path = path }))
    local child = reactor:process({ files = { "/bin/cat" }, arguments = { "cat" }, environment = {} })
    local transfer = http("/echo", { method = "POST", upload = true })
    local relay = assert(reactor:relay())
    for _, case in ipairs({
      { reactor, "step", 0 }, { reactor, "flush" }, { reactor, "flush", true }, { reactor, "release" },
      { stream, "finish_sending" }, { child, "close_input" }, { child, "finish", 9 }, { transfer, "read" },
      { transfer, "lend", 1 }, { transfer, "write", "x" }, { transfer, "pause" }, { transfer, "resume" },
      { relay, "acknowledge" }, { relay, "close" }, { listener, "cancel" }, { reactor, "close" }, { reactor, "close" },
    }) do
      assert.equal(0, select("#", case[1][case[2]](case[1], case[3])), case[2])
    end
  end)

  it("has values in events that have them, and none in others", function()
    local path = os.tmpname()
    os.remove(path)
    local listener = assert(reactor:listen({ path = path }))
    local ours = assert(reactor:connect_path({ path = path, window = 100, queue = 100 }))
    local function event_of(handle)
      local event
      repeat
        event = { next_event() }
      until event[1] == handle
      table.remove(event, 1)
      return event
    end
    local timer = reactor:timer(0)
    assert.same({ "timer" }, event_of(timer))
    assert.same({ "data" }, event_of(listener))
    local theirs = assert(reactor:accept({ listener = listener, window = 100, queue = 100 }))
    assert.equal("sent", ours:transmit("x"))
    assert.same({ "data" }, event_of(theirs))
    ours:cancel()
    assert.same({ "done" }, event_of(theirs))
    local child = reactor:process({
      files = { "/bin/sh" }, arguments = { "sh", "-c", "echo a; read x; echo b >&2; exit 7" }, environment = {},
    })
    assert.same({ "data" }, event_of(child))
    assert.same({ "a\n", false }, { child:chunk() })
    assert.same({ nil, "wait" }, { child:chunk() })
    assert.equal("sent", child:send("x"))
    assert.equal("sent", child:send("\n"))
    local told = {}
    repeat
      local event = event_of(child)
      told[event[1]] = told[event[1]] or event
    until told.exit and told.log
    assert.same({ "exit", "code", 7 }, told.exit)
    assert.same({ "log", "b\n" }, told.log)
    listener:cancel()
  end)

  it("opens nothing when the module is loaded, and closes all it opened", function()
    usage.collect()
    local before = usage.descriptors()
    local another = module.new()
    another:timer(10)
    another:flush()
    assert.is_true(usage.descriptors() > before)
    another:close()
    another:close()
    assert.equal(before, usage.descriptors())
  end)

  it("refuses work when closed, and says so", function()
    reactor:close()
    assert.is_false(reactor:usable())
    assert.error_matches(function()
      reactor:step(0)
    end, "the reactor is closed")
    assert.error_matches(function()
      reactor:timer(1)
    end, "the reactor is closed")
  end)

  it("waits until something happens, whether or not there are timers", function()
    for _, ms in ipairs({ -1, 60000 }) do
      for _, timers in ipairs({ 0, 1 }) do
        local timer = timers == 1 and reactor:timer(120000)
        local child = reactor:process({ files = { "/bin/sh" }, arguments = { "sh", "-c", "sleep 0.1" },
          environment = {} })
        local steps = 0
        repeat
          reactor:step(ms)
          steps = steps + 1
        until reactor:pending()
        assert.is_true(steps < 10, steps)
        child:cancel()
        if timer then
          timer:cancel()
        end
        while reactor:inflight() > 0 do
          reactor:step(10)
        end
        while reactor:next() do end
      end
    end
  end)

  it("watches each descriptor, however many there are when the next is opened", function()
    for first = 1, 2 do -- two are opened between steps: one waits to be watched when the table may have to grow
      local many, listeners = assert(module.new()), {}
      for i = 1, 200 do
        listeners[i] = assert(many:listen({ host = "127.0.0.1" }))
        if i % 2 == first % 2 then
          many:step(0)
        end
      end
      for i, listener in ipairs(listeners) do
        local connection = many:connect({ url = "http://127.0.0.1:" .. listener:port(), window = 1, queue = 1 })
        local told
        repeat
          many:step(1000)
          local nothing = not many:pending()
          told = many:next()
        until told == listener or nothing
        assert.equal(listener, told, i)
        connection:cancel()
      end
      many:close()
    end
  end)

  it("starts nothing without a table of options", function()
    for _, name in ipairs({ "process", "listen", "accept", "connect_path", "stdin", "stdout", "http", "connect" }) do
      for _, options in ipairs({ false, 1, "path" }) do
        assert.error_matches(function()
          reactor[name](reactor, options)
        end, "bad argument #%d to '.*' %(table expected, got " .. type(options) .. "%)")
      end
    end
    assert.equal(0, reactor:inflight())
  end)

  it("does not wait when asked not to", function()
    local handle = reactor:timer(60000)
    reactor:step(0)
    assert.is_nil((reactor:next()))
    assert.equal(1, reactor:inflight())
    handle:cancel()
  end)

  describe("with timers", function()
    it("says which is due, in order of time and then of birth", function()
      local names = {}
      local handles = {} -- luacheck: ignore 241
      for i, ms in ipairs({ 20, 0, 10, 0 }) do
        handles[i] = reactor:timer(ms, i)
      end
      for _ = 1, 4 do
        local handle, kind = next_event()
        assert.equal("timer", kind)
        names[#names + 1] = handle:owner()
      end
      assert.equal(3, names[3])
      assert.equal(1, names[4])
      assert.equal(0, reactor:inflight())
    end)

    it("keeps order among thousands", function()
      local handles, earliest, latest = {}, {}, {} -- luacheck: ignore 241
      for i = 1, 2000 do
        local ms = (i * 7919) % 3 * 100
        earliest[i] = core.now() + ms - 2 -- the machine may stand still while timers are made
        handles[i] = reactor:timer(ms, i)
        latest[i] = core.now() + ms + 2
        if i % 3 == 0 then
          handles[i - 1]:cancel()
        end
      end
      local count, last = 0, 0
      while reactor:inflight() > 0 or reactor:pending() do
        local i = next_event():owner()
        count = count + 1
        assert.is_true(latest[i] >= last)
        last = math.max(last, earliest[i])
      end
      assert.equal(2000 - 666, count)
    end)

    it("takes times beyond 24.8 days, even endless ones", function()
      local handles = { reactor:timer(3e9), reactor:timer(math.huge), reactor:timer(1e300) }
      reactor:step(1)
      reactor:flush()
      assert.is_nil((reactor:next()))
      assert.equal(#handles, reactor:inflight())
    end)

    it("refuses anything but a number", function()
      assert.has_error(function()
        reactor:timer("soon")
      end)
      assert.error_matches(function()
        reactor:timer(0 / 0)
      end, "not a number")
    end)

    it("says nothing of a cancelled one, not even when it was due", function()
      local handle = reactor:timer(0)
      reactor:step(1)
      assert.is_true(reactor:pending())
      handle:cancel()
      handle:cancel()
      assert.is_nil((reactor:next()))
    end)

    it("keeps to parts of a millisecond", function()
      local first
      repeat -- until it is not interrupted between the two
        local later, sooner = reactor:timer(0.9, "later"), reactor:timer(0, "sooner")
        local told = { next_event(), next_event() }
        first = told[1]:owner()
        assert.is_true(told[1] == later or told[1] == sooner)
      until first == "sooner"
    end)

    it("forgets a dropped one", function()
      reactor:timer(60000)
      assert.equal(1, reactor:inflight())
      usage.collect()
      assert.equal(0, reactor:inflight())
    end)
  end)

  describe("for another loop", function()
    it("has one descriptor", function()
      assert.is_true(reactor:fd() >= 0)
      reactor:timer(1)
      reactor:flush()
      assert.equal(reactor:fd(), reactor:fd())
    end)

    it("works by flush and step(0) alone", function()
      local handle = http("/echo")
      local event, kind
      repeat
        reactor:flush()
        reactor:step(0)
        event, kind = reactor:next()
      until event
      assert.equal("done", kind)
      assert.equal(handle, event)
    end)
  end)

  describe("with transfers", function()
    it("says done once, with status, headers and body", function()
      local handle = http("/status/404", nil, "mine")
      local event, kind, status, head, body = next_event()
      assert.equal(handle, event)
      assert.equal("done", kind)
      assert.equal(404, status)
      assert.equal("404", core.http_fields(head)["x-status"])
      assert.matches("as asked", body)
      assert.equal("mine", event:owner())
      assert.is_nil((reactor:next()))
      assert.equal(0, reactor:inflight())
    end)

    it("says head, data and done of a stream, in this order", function()
      local handle = http("/sse?count=2", { stream = true, window = 1000 })
      local seen = {}
      repeat
        local _, kind = next_event()
        seen[#seen + 1] = kind
        if kind == "data" then
          assert.matches("^id: ", handle:read())
        end
      until kind == "done"
      assert.equal("head", seen[1])
      assert.equal("data", seen[2])
      assert.equal("done", seen[#seen])
      assert.is_nil(handle:read())
    end)

    it("says a small answer at once when a stream may join it and it is there whole", function()
      local handle = http("/note/none", { stream = true, join = true })
      while reactor:inflight() > 0 do
        reactor:step(1000)
      end
      local event, kind, status, head, body, content_type = reactor:next()
      assert.equal(handle, event)
      assert.equal("done", kind)
      assert.equal(200, status)
      assert.matches("^%a%a%a, %d%d %a%a%a %d+ %d%d:%d%d:%d%d GMT$", core.http_fields(head).date)
      assert.equal(core.http_fields(head)["content-type"], content_type)
      assert.equal("none", body)
      assert.is_nil((reactor:next()))
      assert.is_nil(handle:read())
    end)

    it("does not join large pieces, or pieces of a message that was begun", function()
      local handle = http("/bytes?size=20000", { stream = true, join = true })
      while reactor:inflight() > 0 do
        reactor:step(1000)
      end
      assert.equal("head", select(2, reactor:next()))
      assert.equal(20000, #handle:read())
      repeat
        local _, kind = reactor:next()
      until kind == "done"
      http("/slow?body=60", { stream = true, join = true })
      assert.equal("head", select(2, next_event()))
    end)

    it("keeps unread bytes until after the end", function()
      local handle = http("/sse?count=2", { stream = true })
      repeat
        local _, kind = next_event()
      until kind == "done"
      assert.matches("id: 2", handle:read())
      assert.is_nil(handle:read())
    end)

    it("lends received bytes, piece by piece", function()
      local handle = http("/sse?count=9", { stream = true })
      local copied = http("/sse?count=9", { stream = true })
      for _ = 1, 2 do
        repeat
          local _, kind = next_event()
        until kind == "done"
      end
      local reader = core.envelope_reader("lines", {}, 10000, false, nil, nil)
      local sizes, total = {}, 0
      for address, size in function() return handle:lend(60) end do
        assert.is_true(reader:feed(address, size))
        sizes[#sizes + 1], total = size, total + size
      end
      assert.same({ 60, 60 }, { sizes[1], sizes[2] })
      local text = copied:read()
      assert.equal(#text, total)
      reader:finish()
      local queue, i = reader:queue(), 1
      for line in text:gmatch("[^\n]+") do
        i = i + 1
        assert.equal(line, queue[i].data)
      end
      assert.is_false(queue[i + 1])
      assert.is_nil(handle:read())
    end)

    it("reads bytes that were not lent", function()
      local handle = http("/bytes?size=1000", { stream = true })
      repeat
        local _, kind = next_event()
      until kind == "done"
      assert.equal(300, select(2, handle:lend(300)))
      assert.equal(700, #handle:read())
      assert.is_nil(handle:lend(1))
      assert.has_error(function() handle:lend(0) end)
      assert.has_error(function() handle:lend(2 ^ 31) end)
    end)

    it("reads nothing while paused, and all of it when resumed", function()
      local handle = http("/bytes?size=200000", { stream = true })
      handle:pause()
      for _ = 1, 5 do
        reactor:step(10)
      end
      assert.is_nil(handle:read())
      handle:resume()
      local size = 0
      repeat
        local _, kind = next_event()
        size = size + #(handle:read() or "")
      until kind == "done"
      assert.equal(200000, size)
    end)

    it("never runs ahead of the window by more than one read of curl's", function()
      local handle = http("/bytes?size=2000000", { stream = true, window = 50000 })
      local size, largest = 0, 0
      repeat
        local _, kind = next_event()
        reactor:step(5)
        local chunk = handle:read() or ""
        size, largest = size + #chunk, math.max(largest, #chunk)
      until kind == "done"
      assert.equal(2000000, size)
      assert.is_true(largest <= 50000 + 16384)
    end)

    it("obeys the deadline of the waiting task, whatever time it has itself", function()
      for _, path in ipairs({ "/slow?head=60", "/slow?body=60" }) do
        for _, time in ipairs({ 0, 60000 }) do
          local handle = http(path, { deadline = 20, first_byte_timeout = time, idle_timeout = time })
          local _, kind, why, message, phase = next_event()
          assert.same({ "error", "timeout", "deadline" }, { kind, why, phase })
          assert.equal("the deadline passed", message)
          handle:cancel()
        end
      end
    end)

    it("uses a connection again", function()
      local function port()
        local handle = http("/note/none")
        local event = next_event()
        assert.equal(handle, event)
        return usage.descriptors()
      end
      local first = port()
      for _ = 1, 5 do
        assert.equal(first, port())
      end
    end)

    it("uses a connection again beside hundreds of open streams", function()
      -- Asked over a connection of the plain host's reactor, always the same one.
      local function connections()
        return tonumber((client.request({ url = server.url .. "/connections" }).body:match("requests%s+(%d+)")))
      end
      local streams = {}
      for i = 1, 300 do
        streams[i] = http("/slow?body=60", { stream = true })
      end
      for _ = 1, #streams do
        assert.equal("head", select(2, next_event()))
      end
      for _ = 1, 2 do
        http("/note/none")
        next_event()
      end
      local before = connections()
      for _ = 1, 5 do
        http("/note/none")
        next_event()
      end
      assert.equal(before, connections())
    end)

    it("cancels dropped handles", function()
      local held = { http("/slow?head=60") }
      reactor:step(10)
      assert.equal(#held, reactor:inflight())
      held[1] = nil
      usage.collect()
      assert.equal(0, reactor:inflight())
      reactor:step(0)
    end)

    it("cancels dropped handles with pending events", function()
      http("/echo")
      while not reactor:pending() do
        reactor:step(-1)
      end
      usage.collect()
      assert.is_nil((reactor:next()))
    end)

    it("lets go of everything when closed in the middle", function()
      usage.collect()
      local before = usage.descriptors()
      local another = module.new()
      local handles = {}
      for i = 1, 10 do
        handles[i] = another:http({ url = server.url .. "/slow?head=60", method = "GET", stream = i % 2 == 0 })
      end
      another:step(10)
      another:step(10)
      another:close()
      assert.equal(before, usage.descriptors())
      for i = 1, 10 do
        handles[i]:cancel()
        assert.is_nil(handles[i]:read())
      end
    end)

    it("outlives the reactor's own collection", function()
      local handle
      do
        local another = module.new()
        handle = another:http({ url = server.url .. "/slow?head=60", method = "GET" })
        another:step(5)
      end
      usage.collect()
      handle:cancel()
      handle:pause()
      handle:resume()
      assert.is_nil(handle:read())
    end)

    it("names the option that is wrong", function()
      assert.error_matches(function()
        reactor:http({ url = "http://h/" })
      end, "'url' and 'method' expected")
      assert.error_matches(function()
        reactor:http({ url = 5, method = "GET" })
      end, "bad option 'url' %(string expected, got number%)")
      assert.error_matches(function()
        reactor:http({ url = "http://h/\0", method = "GET" })
      end, "bad option 'url' %(contains a NUL%)")
      assert.error_matches(function()
        reactor:http({ url = "http://h/", method = "GET", window = -1 })
      end, "bad option 'window'")
      assert.error_matches(function()
        reactor:http({ url = "http://h/", method = "GET", headers = { "A: 1", {} } })
      end, "bad option 'headers' %(strings expected%)")
    end)

    it("reads only from transfers", function()
      assert.error_matches(function()
        reactor:timer(1):read()
      end, "not a transfer")
      assert.error_matches(function()
        reactor:timer(1):lend(1)
      end, "not a transfer")
    end)
  end)

  it("keeps two reactors in one program apart", function()
    local another = module.new()
    local one, two = reactor:timer(0, "one"), another:timer(0, "two")
    reactor:step(5)
    another:step(5)
    assert.equal(one, (reactor:next()))
    assert.equal(two, (another:next()))
    another:close()
  end)

  it("is left alone by a forked child", function()
    local ok, ffi = pcall(require, "ffi")
    if not ok then
      return -- only LuaJIT can fork without a library
    end
    ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);")
    local handle = http("/sse?count=3&delay=0.05", { stream = true })
    next_event()
    local pid = ffi.C.fork()
    if pid == 0 then
      local usable = reactor:usable()
      handle:cancel()
      reactor:close()
      ffi.C._exit(usable and 1 or 0)
    end
    local status = ffi.new("int[1]")
    ffi.C.waitpid(pid, status, 0)
    assert.equal(0, status[0])
    repeat
      local _, kind = next_event()
      assert.is_true(kind ~= "error")
    until kind == "done"
    assert.matches("id: 3", handle:read())
  end)
end)
