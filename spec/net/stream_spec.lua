local certificates = require("spec.support.certificates")
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local lfs = require("lfs")
local operations = require("operations")
local scheduler = require("operations.task.scheduler")
local stream = require("operations.net.stream")
local usage = require("spec.support.usage")

-- Reads a stream in direct style: a function that returns the next piece, or nil and the error of its end.
local function reader(of)
  local pieces, first, wake = {}, 1, nil
  of:each_chunk(function(bytes, err)
    pieces[#pieces + 1] = { bytes, err }
    if wake then
      local woken = wake
      wake = nil
      woken()
    end
  end)
  return function()
    if not pieces[first] then
      scheduler.await(function(waker)
        wake = waker
      end)
    end
    first = first + 1
    return pieces[first - 1][1], pieces[first - 1][2]
  end
end

local function read_all(of)
  local read, bytes = reader(of), {}
  local piece, err = read()
  while piece do
    bytes[#bytes + 1] = piece
    piece, err = read()
  end
  return table.concat(bytes), err
end

-- A listener whose streams `serve` deals with, each in a task of its own; and a stream to it.
local function with(serve, fn)
  operations.run(function()
    local listener = assert(stream.listen("127.0.0.1", 0, function(accepted)
      operations.spawn(serve, accepted)
    end))
    local ok, raised = pcall(fn, assert(stream.connect("127.0.0.1", listener.port)), listener)
    listener:close()
    if not ok then
      error(raised, 0)
    end
  end)
end

local function echo(accepted)
  for piece in reader(accepted) do
    if not accepted:write(piece) then
      return
    end
  end
  accepted:finish()
end

describe("a byte stream", function()
  it("is tested while it is silent; intervals in which it is not read do not count", function()
    with(function() end, function(connected)
      local asked = 0
      scheduler.await(function(wake)
        connected:watch(1, 2, function()
          asked = asked + 1
          return asked <= 3
        end, wake)
      end)
      assert.equal(5, asked)
      connected:close()
    end)
  end)

  it("carries bytes both ways until either side ends", function()
    with(echo, function(connected)
      local sent = ("0123456789\0\255"):rep(200000)
      operations.spawn(function()
        for i = 1, #sent, 70000 do
          assert(connected:write(sent:sub(i, i + 69999)))
        end
        connected:finish()
      end)
      local got, err = read_all(connected)
      assert.is_true(got == sent)
      assert.is_nil(err)
    end)
  end)

  it("holds back a sender of more than is read, and takes no more than its queue", function()
    local go, got
    with(function(accepted)
      scheduler.await(function(wake)
        go = wake
      end)
      got = #read_all(accepted)
      accepted:finish()
    end, function(connected)
      local piece, queued = ("x"):rep(65536), 0
      local ok, why = connected:offer(piece)
      while ok do
        queued = queued + 1
        if queued % 8 == 0 then
          operations.sleep(0.001)
        end
        ok, why = connected:offer(piece)
      end
      assert.equal("full", why)
      operations.sleep(0.05)
      go()
      local total = math.max(queued, 100) -- the kernel takes more where it is slow
      for _ = queued + 1, total do
        assert(connected:write(piece))
      end
      connected:finish()
      assert.equal("", read_all(connected))
      assert.equal(total * 65536, got)
    end)
  end)

  it("reports unsent bytes, and waits until all were sent", function()
    with(function(accepted)
      operations.sleep(0.02)
      assert.equal(20000000, #read_all(accepted))
      accepted:finish()
    end, function(connected)
      assert.is_true(connected:offer(("x"):rep(20000000)))
      assert.is_true(connected:unsent() > 0)
      assert.is_true(connected:flush())
      assert.equal(0, connected:unsent())
      connected:finish()
      read_all(connected)
      connected:close()
      local ok, err = connected:flush()
      assert.same({ nil, "TRANSPORT_LOST" }, { ok, err.code })
    end)
  end)

  it("stops waiting until all is sent when it is lost", function()
    with(function(accepted)
      operations.sleep(0.01)
      accepted:close()
    end, function(connected)
      assert.is_true(connected:offer(("x"):rep(20000000)))
      local ok, err = connected:flush()
      assert.same({ nil, "TRANSPORT_LOST" }, { ok, err.code })
    end)
  end)

  it("knows the address and the port of the other side", function()
    local address, port
    with(function(accepted)
      address, port = accepted:peer()
      accepted:close()
    end, function(connected)
      read_all(connected)
    end)
    assert.equal("127.0.0.1", address)
    assert.is_true(port > 0)
  end)

  it("is held by the code that uses it: dropped, it is closed", function()
    local held = {}
    operations.run(function()
      local listener = assert(stream.listen("127.0.0.1", 0, function(accepted)
        held[1] = accepted
      end))
      local connected = assert(stream.connect("127.0.0.1", listener.port))
      while not held[1] do
        operations.sleep(0.001)
      end
      held[1] = nil
      local ended
      connected:each_chunk(function(bytes)
        ended = bytes == nil
      end)
      while not ended do
        collectgarbage()
        operations.sleep(0.001)
      end
      listener:close()
    end)
  end)

  it("keeps nothing of tasks that waited to write and gave up", function()
    local accepted
    with(function(of)
      accepted = of
    end, function(of)
      assert.is_true(of:offer(("x"):rep(20000000))) -- more than anybody on the way takes
      for _ = 1, 3 do
        local writer = operations.spawn(of.write, of, "y")
        operations.sleep(0)
        assert.equal(1, #of._writers)
        writer:cancel()
        assert.equal("ABORTED", select(2, writer:wait()).code)
        assert.equal(0, #of._writers)
      end
      local writers = {}
      for i = 1, 3 do
        writers[i] = operations.spawn(of.write, of, tostring(i))
      end
      operations.sleep(0)
      writers[2]:cancel()
      operations.spawn(function()
        for i = 1, 3, 2 do
          assert(writers[i]:wait())
        end
        of:finish()
      end)
      eventually(function() return accepted end)
      assert.equal("13", read_all(accepted):match("^x*(.*)$"))
      accepted:close()
    end)
  end)

  it("tells of the end to later calls", function()
    with(function(accepted)
      accepted:write("last words")
      accepted:finish()
      read_all(accepted)
    end, function(connected)
      operations.sleep(0.05)
      assert.equal("last words", read_all(connected))
      connected:close()
      assert.same({ false, "closed" }, { connected:offer("x") })
      assert.equal("TRANSPORT_LOST", select(2, connected:write("x")).code)
    end)
  end)

  it("says why it cannot connect", function()
    operations.run(function()
      local listener = assert(stream.listen("127.0.0.1", 0, print))
      local port = listener.port
      listener:close()
      local nothing, err = stream.connect("127.0.0.1", port)
      assert.is_nil(nothing)
      assert.same({ "TRANSPORT_LOST", "connect" }, { err.code, err.details.kind })
      assert.same({ true, false }, { err.retryable, err.mayHaveRun })
      err = select(2, stream.connect("nowhere.invalid", 80))
      assert.same({ "dns", true, false }, { err.details.kind, err.retryable, err.mayHaveRun })
      err = select(2, stream.listen("localhost", 0, print))
      assert.equal("TRANSPORT_LOST: localhost:0: expected a numeric address", tostring(err))
    end)
  end)

  it("fails when the other end does not speak TLS", function()
    with(function(accepted)
      accepted:write("what?\r\n")
      read_all(accepted)
    end, function(connected, listener)
      local _, err = stream.connect("127.0.0.1", listener.port, { tls = true })
      assert.same({ "tls", false, false }, { err.details.kind, err.retryable, err.mayHaveRun })
      connected:close()
    end)
  end)

  it("can be cancelled while it connects", function()
    operations.run(function()
      local connecting = operations.spawn(stream.connect, "192.0.2.1", 9)
      operations.sleep(0.01)
      connecting:cancel()
      assert.truthy(({ ABORTED = true, TRANSPORT_LOST = true })[select(2, connecting:wait()).code])
    end)
  end)

  it("says what is wrong with its arguments", function()
    for _, port in ipairs({ -1, 65536, 1.5, "80" }) do
      assert.has_error(function()
        stream.connect("127.0.0.1", port)
      end, ("bad argument #2 to 'connect' (port expected, got %s)"):format(port))
    end
  end)
end)

describe("a byte stream over TLS", function()
  teardown(certificates.remove)

  it("stays open while nothing is said, whatever connections are made meanwhile", function()
    with(echo, function(connected)
      local port = free_port()
      local server = assert(operations.process.spawn({ "openssl", "s_server", "-accept", tostring(port), "-rev",
        "-tls1_2", "-cert", certificates.path("localhost.pem"), "-key", certificates.path("localhost.key") }))
      local quiet = eventually(function()
        return (stream.connect("localhost", port, { tls = true, ca_file = certificates.path("ca.pem") }))
      end)
      operations.sleep(2.1) -- must wait: libcurl counts idle time in whole seconds
      assert(stream.connect(connected:peer())):close()
      assert.is_true(quiet:offer("still here\n"))
      assert.equal("ereh llits\n", (reader(quiet)()))
      quiet:close()
      server:stop({ close = 0 })
    end)
  end)
end)

describe("a reactor that gathers", function()
  require("operations.transfer")
  local module = require("operations.reactor")
  local ours, theirs, sending, receiving, listener

  local function received()
    theirs:step(0)
    return receiving:receive()
  end

  before_each(function()
    ours, theirs = module.new(), module.new()
    listener = theirs:listen({ host = "127.0.0.1", port = 0 })
    sending = ours:connect({ url = "http://127.0.0.1:" .. listener:port(), window = 65536, queue = 65536 })
    repeat
      ours:step(100)
      local _, kind = ours:next()
    until kind == "head"
    repeat
      theirs:step(100)
      receiving = theirs:accept({ listener = listener, window = 65536, queue = 65536 })
    until receiving
    ours:hold()
  end)

  after_each(function()
    ours:close()
    theirs:close()
  end)

  it("sends small pieces together, at its release", function()
    assert.equal("sent", sending:transmit("one, "))
    assert.equal("sent", sending:transmit("two"))
    assert.is_nil(received())
    ours:release()
    assert.equal("one, two", received())
    sending:transmit("three")
    assert.equal("three", received())
  end)

  it("sends it when it steps, or is about to be polled", function()
    sending:transmit("one")
    ours:step(0)
    assert.equal("one", received())
    sending:transmit("two")
    assert.is_nil(received())
    ours:flush()
    assert.equal("two", received())
  end)

  it("sends large pieces at once", function()
    sending:transmit(("x"):rep(2048))
    assert.is_nil(received())
    sending:transmit(("x"):rep(2048))
    assert.equal(4096, #received())
  end)

  it("sends it when its side of a stream ends", function()
    sending:transmit("one")
    sending:finish_sending()
    assert.equal("one", received())
    ours:release()
  end)

  it("is at work while something is to be sent, also to a peer that sends no more", function()
    ours:release()
    sending:finish_sending()
    repeat
      theirs:step(100)
    until theirs:inflight() == 1 -- the listener
    local sent, got = 0, 0
    while receiving:transmit(("x"):rep(100000)) == "sent" do
      sent = sent + 100000
    end
    assert.equal(2, theirs:inflight())
    repeat
      ours:step(10)
      got = got + #(sending:receive() or "")
      theirs:step(0)
    until got == sent
    assert.equal(1, theirs:inflight())
  end)

  it("sends nothing of a stream that is gone, and all of the others", function()
    local function connect()
      local handle = ours:connect({ url = "http://127.0.0.1:" .. listener:port(), window = 65536, queue = 65536 })
      repeat
        ours:step(100)
        local told, kind = ours:next()
      until told == handle and kind == "head"
      ours:hold()
      return handle
    end
    local streams = { connect(), connect(), sending }
    for _, first in ipairs({ 1, 2 }) do
      for i = first, 3 do
        assert.equal("sent", streams[i]:transmit(tostring(i)))
      end
      streams[first]:cancel()
      streams[first] = false
      usage.collect() -- its memory is not read any more
      ours:release()
      ours:hold()
    end
    assert.equal("33", received())
  end)

  it("sends it when a stream is dropped", function()
    sending:transmit("one")
    sending:cancel()
    assert.equal("one", received())
    ours:release()
  end)
end)

describe("a stream of a reactor", function()
  local module = require("operations.reactor")
  local reactor, path, listener

  before_each(function()
    reactor = assert(module.new())
    path = os.tmpname()
    os.remove(path)
    listener = assert(reactor:listen({ path = path }))
  end)

  after_each(function()
    reactor:close()
  end)

  -- Both ends of a connection, with options of the one that accepts.
  local function pair(window, queue, other_window)
    local ours = assert(reactor:connect_path({ path = path, window = other_window or 2 ^ 30, queue = 2 ^ 30 }))
    repeat
      reactor:step(-1)
    until reactor:next() == listener
    local theirs = assert(reactor:accept({ listener = listener, window = window, queue = queue }))
    assert.same({ nil, "wait" }, { reactor:accept({ listener = listener }) })
    return ours, theirs
  end

  -- Steps until a handle says an event of a kind.
  local function await(handle, wanted)
    local told, kind
    repeat
      reactor:step(-1)
      told, kind = reactor:next()
    until told == handle and kind == wanted
  end

  it("carries every byte in its place, whatever is queued when more comes", function()
    for _, size in ipairs({ 10, 1000, 60000, 150000, 250000 }) do
      local ours, theirs = pair(100000, 100000)
      local sent, came, length, got = {}, {}, 0, 0
      local function take()
        reactor:step(0)
        local bytes = theirs:receive() or ""
        got, came[#came + 1] = got + #bytes, bytes
      end
      for i = 1, 9 do
        sent[i] = ("%d "):format(i * 1000003):rep(math.ceil(size / 8))
        length = length + #sent[i]
        assert.equal("sent", ours:transmit(sent[i]))
        if i % 3 == 0 then
          take()
        end
      end
      repeat
        take()
      until got == length
      assert.is_true(table.concat(came) == table.concat(sent))
      ours:cancel()
      theirs:cancel()
    end
  end)

  it("reports once to the caller that all was sent", function()
    local ours, theirs = pair(2 ^ 30, 2 ^ 30)
    assert.equal(0, ours:unsent(true))
    assert.equal("sent", ours:transmit(("x"):rep(1000000)))
    assert.is_true(ours:unsent(true) > 0)
    local drained, got = 0, 0
    local function take()
      reactor:step(-1)
      for told, kind in function() return reactor:next() end do
        drained = drained + (told == ours and kind == "drain" and 1 or 0)
      end
      got = got + #(theirs:receive() or "")
    end
    repeat
      take()
    until got == 1000000 and drained > 0
    for i = 1, 3 do
      theirs:transmit("x")
      await(ours, "data")
      assert.equal("x", ours:receive())
      ours:transmit("y")
      repeat
        take()
      until got == 1000000 + i
    end
    assert.equal(1, drained)
  end)

  it("says so of what was gathered, and that it can send again", function()
    local ours, theirs = pair(100, 1) -- `theirs` queues a byte
    for _, is_full in ipairs({ false, true }) do
      reactor:hold()
      assert.equal("sent", theirs:transmit("x"))
      if is_full then
        assert.equal("full", theirs:transmit("y"))
      else
        assert.equal(1, theirs:unsent(true))
      end
      reactor:step(0)
      assert.same({ theirs, "drain" }, { reactor:next() })
      assert.equal(0, theirs:unsent())
      await(ours, "data")
      assert.equal("x", ours:receive())
    end
    reactor:hold()
    assert.equal("sent", theirs:transmit("z"))
    reactor:step(0)
    assert.is_true(reactor:next() ~= theirs) -- that was told
  end)

  it("says that it can send again once it can", function()
    local ours, theirs = pair(100, 1000000, 1)
    assert.equal("sent", theirs:transmit(("x"):rep(1000000))) -- more than the other end and the sockets take
    await(ours, "data")
    for _ = 1, 9 do
      reactor:step(0)
    end
    while theirs:unsent() < 1000000 do
      assert.equal("sent", theirs:transmit(("x"):rep(1000000 - theirs:unsent()), true))
    end
    assert.equal("full", theirs:transmit("y"))
    assert.equal("sent", ours:transmit("z"))
    await(theirs, "data")
    assert.equal(1000000, theirs:unsent())
    assert.is_nil((reactor:next()))
    local told, kind
    repeat
      reactor:step(1)
      ours:receive()
      told, kind = reactor:next()
    until told == theirs
    assert.equal("drain", kind)
    assert.equal("sent", theirs:transmit("y"))
  end)

  it("says once that it was lost, though something of it waits to be sent", function()
    local ours, theirs = pair(100, 100, 1)
    assert.equal("sent", theirs:transmit("ab"))
    await(ours, "data")
    assert.equal("sent", ours:transmit("x"))
    theirs:cancel() -- without "x"
    reactor:hold()
    assert.equal("sent", ours:transmit("y"))
    assert.equal("ab", ours:receive()) -- and reads on
    assert.same({ ours, "error", "reset", "Connection reset by peer" }, { reactor:next() })
    reactor:release()
    assert.is_nil((reactor:next()))
    assert.same({ "closed" }, { ours:transmit("z"), ours:receive(), ours:unsent() })
    assert.equal(1, reactor:inflight())
  end)

  it("says why it was lost, whatever else its descriptor has to tell", function()
    local ours, theirs = pair(1, 2 ^ 30)
    assert.equal("sent", theirs:transmit("a"))
    assert.equal("sent", ours:transmit(("x"):rep(1000000))) -- more than the sockets take
    await(theirs, "data")
    theirs:cancel() -- without what it was sent
    local told
    repeat
      reactor:step(-1)
      told = { reactor:next() }
    until told[2] == "error"
    assert.same({ ours, "error", "reset" }, { told[1], told[2], told[3] })
    assert.is_true(told[4] == "Broken pipe" or told[4] == "Connection reset by peer", told[4])
    assert.is_nil((reactor:next()))
  end)

  it("takes memory for large data only until that is read and sent", function()
    local result = command.run(([[export MALLOC_MMAP_THRESHOLD_=65536; lua -e '
      local usage = require("spec.support.usage")
      local reactor = require("operations.reactor").new()
      local listener = assert(reactor:listen({ path = "%s" }))
      local options = { path = "%s", listener = listener, window = 2 ^ 30, queue = 2 ^ 30 }
      local ours, theirs = reactor:connect_path(options), nil
      repeat
        reactor:step(-1)
        theirs = reactor:accept(options)
      until theirs
      io.write(usage.growth(function()
        local got = 0
        ours:transmit(("x"):rep(2 ^ 26))
        repeat
          reactor:step(0)
          got = got + (ours:unsent() == 0 and #(theirs:receive() or "") or 0)
        until got == 2 ^ 26
      end) < 2 ^ 14 and "none" or "much")
    ']]):format(path .. "-", path .. "-"))
    assert.same({ "none", "" }, { result.out, result.err })
  end)

  it("is at work until both sides have ended, or it is dropped", function()
    local ours, theirs = pair(100, 100)
    assert.equal(3, reactor:inflight())
    ours:transmit("x")
    await(theirs, "data")
    assert.equal("x", theirs:receive())
    assert.equal(3, reactor:inflight())
    ours:finish_sending()
    await(theirs, "done")
    assert.equal(2, reactor:inflight())
    assert.equal("sent", theirs:transmit("y"))
    await(ours, "data")
    theirs:finish_sending()
    await(ours, "done")
    assert.equal(1, reactor:inflight())
  end)

  -- A timer ends within a few steps: nothing that is ready calls for more.
  local function lets_wait()
    local timer, steps = reactor:timer(30), 0
    repeat
      reactor:step(-1)
      steps = steps + 1
    until reactor:pending()
    assert.same({ timer, "timer" }, { reactor:next() })
    assert.is_true(steps < 10)
  end

  it("takes no more than its window, and lets the program wait meanwhile", function()
    local ours, theirs = pair(10, 10)
    ours:transmit(("x"):rep(200000))
    await(theirs, "data")
    for _ = 1, 3 do
      lets_wait()
    end
    assert.is_true(#theirs:receive() <= 65536)
  end)

  it("leaves a listener whose clients wait to the program, which may wait for others meanwhile", function()
    local ours = assert(reactor:connect_path({ path = path, window = 10, queue = 10 }))
    await(listener, "data")
    lets_wait()
    ours:cancel()
  end)
end)

describe("a listener at a Unix socket", function()
  local directory, path

  before_each(function()
    directory = os.tmpname()
    os.remove(directory)
    assert(lfs.mkdir(directory))
    path = directory .. "/socket"
  end)

  after_each(function()
    os.remove(path)
    lfs.rmdir(directory)
  end)

  local function listen(options)
    return stream.listen_path(path, function(accepted)
      operations.spawn(function()
        accepted:write("from " .. accepted:peer())
        accepted:linger(1000)
      end)
    end, options)
  end

  local function get()
    local child = assert(operations.process.spawn({ "curl", "-s", "--http0.9", "--unix-socket", path, "http://a/" }))
    local text = child:read()
    child:wait()
    return text
  end

  it("accepts streams, and removes its file when it is closed", function()
    operations.run(function()
      local listener = assert(listen())
      assert.equal("rw-------", lfs.attributes(path, "permissions"))
      assert.equal(0, listener.port)
      assert.equal("from unix:", get())
      listener:close()
      assert.is_nil(lfs.attributes(path))
    end)
  end)

  it("gives its file the mode that it is told", function()
    operations.run(function()
      local listener = assert(listen({ mode = tonumber("660", 8) }))
      assert.equal("rw-rw----", lfs.attributes(path, "permissions"))
      listener:close()
    end)
  end)

  it("replaces a socket file without a listener, and no other file", function()
    operations.run(function()
      local first = assert(listen())
      local second, err = listen()
      assert.is_nil(second)
      assert.equal("TRANSPORT_LOST", err.code)
      assert.matches("in use", err.message)
      assert(os.rename(path, path .. "-left"))
      first:close()
      assert(os.rename(path .. "-left", path)) -- as a process leaves it that was killed
      second = assert(listen())
      assert.equal("from unix:", get())
      second:close()
      assert(io.open(path, "w")):close()
      assert.is_nil((listen()))
      assert.is_not_nil(lfs.attributes(path))
    end)
  end)

  it("is connected to by its path", function()
    operations.run(function()
      local listener = assert(listen())
      local connected = assert(stream.connect_path(path))
      local pieces = {}
      operations.await(function(wake)
        connected:each_chunk(function(bytes)
          pieces[#pieces + 1] = bytes
          return bytes == nil and wake()
        end)
      end)
      assert.equal("from unix:", table.concat(pieces))
      connected:close()
      listener:close()
    end)
  end)

  it("says why a path is not connected to", function()
    operations.run(function()
      for given, reason in pairs({ [path] = "No such file", [("x"):rep(200)] = "too long", ["a\0b"] = "NUL" }) do
        local ok, connected, err = pcall(stream.connect_path, given)
        assert.matches(reason, ok and err.message or tostring(connected))
        assert.is_true(not ok or connected == nil and err.details.kind == "connect" and err.mayHaveRun == false)
      end
      local first = assert(listen())
      assert(os.rename(path, path .. "-left"))
      first:close()
      assert(os.rename(path .. "-left", path)) -- as a process leaves it that was killed
      local _, err = stream.connect_path(path)
      assert.matches("refused", err.message)
    end)
  end)

  it("says what is wrong with a path", function()
    operations.run(function()
      local listener, err = stream.listen_path(directory .. "/" .. ("x"):rep(200), function() end)
      assert.is_nil(listener)
      assert.matches("too long", err.message)
      listener, err = stream.listen_path(directory .. "/no/such", function() end)
      assert.is_nil(listener)
      assert.matches("No such file", err.message)
    end)
  end)
end)
