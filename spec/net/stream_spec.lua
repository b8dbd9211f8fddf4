local eventually = require("spec.support.eventually")
local lfs = require("lfs")
local operations = require("operations")
local scheduler = require("operations.task.scheduler")
local stream = require("operations.net.stream")

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

  it("holds back who sends more than is read, and takes no more than its queue", function()
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
      for _ = queued + 1, 100 do
        assert(connected:write(piece))
      end
      connected:finish()
      assert.equal("", read_all(connected))
      assert.equal(100 * 65536, got)
    end)
  end)

  it("knows what it has not sent, and waits until that is nothing", function()
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

  it("is held by whoever uses it: dropped, it is closed", function()
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

  it("keeps nothing of those who wanted to write and gave up", function()
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
      assert.equal("TRANSPORT_LOST", select(2, stream.listen("nonsense", 0, print)).code)
    end)
  end)

  it("fails when what it talks TLS to does not", function()
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

  it("sends what is small together, at its release", function()
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

  it("sends what is large at once", function()
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

  it("sends it when a stream is dropped", function()
    sending:transmit("one")
    sending:cancel()
    assert.equal("one", received())
    ours:release()
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

  it("replaces a file at which nobody listens, and nothing else", function()
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
