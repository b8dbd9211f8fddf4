local command = require("spec.support.command")
local lfs = require("lfs")
local raises = require("spec.support.raises")
local usage = require("spec.support.usage")

describe("a listener of a reactor", function()
  local module = require("operations.reactor")
  local reactor, directory, path

  before_each(function()
    reactor = assert(module.new())
    directory = os.tmpname()
    os.remove(directory)
    assert(lfs.mkdir(directory))
    path = directory .. "/socket"
  end)

  after_each(function()
    reactor:close()
    os.execute(("rm -rf '%s'"):format(directory))
  end)

  local function connect()
    return assert(reactor:connect_path({ path = path, window = 100, queue = 100 }))
  end

  local function accept(listener)
    return reactor:accept({ listener = listener, window = 100, queue = 100 })
  end

  local function await(handle)
    repeat
      reactor:step(-1)
      local told, kind = reactor:next()
      if told == handle then
        return kind
      end
    until false
  end

  it("accepts all clients that wait, and reports new ones", function()
    local listener = assert(reactor:listen({ path = path }))
    assert.same({ nil, "wait" }, { accept(listener) })
    for _ = 1, 3 do
      local ours = { connect(), connect(), connect() }
      assert.equal("data", await(listener))
      local theirs = {}
      for i = 1, 3 do
        theirs[i] = assert(accept(listener))
        assert.equal("sent", ours[i]:transmit("to " .. i))
      end
      assert.same({ nil, "wait" }, { accept(listener) })
      assert.is_nil((reactor:next()))
      for i = 1, 3 do
        local bytes
        repeat
          reactor:step(-1)
          bytes = theirs[i]:receive()
        until bytes
        assert.equal("to " .. i, bytes)
        theirs[i]:cancel()
      end
    end
  end)

  it("at an address has the port that it is told, or one of its own", function()
    local first = assert(reactor:listen({ host = "127.0.0.1", port = 0 }))
    local port = first:port()
    assert.is_true(port > 0 and port < 65536)
    assert.same({ nil, "Address already in use" }, { reactor:listen({ host = "127.0.0.1", port = port }) })
    first:cancel()
    local second = assert(reactor:listen({ host = "127.0.0.1", port = port }))
    assert.equal(port, second:port())
    assert.equal(0, assert(reactor:listen({ path = path })):port())
  end)

  local six = module.new()
  local has_six = six:listen({ host = "::1" }) ~= nil
  six:close()

  local where_six = has_six and it or pending
  where_six("knows the address of a client, in both families and one within the other", function()
    require("operations.transfer")
    for _, case in ipairs({ { "127.0.0.1", "127.0.0.1", "127.0.0.1" }, { "::1", "[::1]", "::1" },
      { "::", "127.0.0.1", "127.0.0.1" } }) do
      local listener = assert(reactor:listen({ host = case[1] }))
      local url = ("http://%s:%d"):format(case[2], listener:port())
      local ours = assert(reactor:connect({ url = url, window = 100, queue = 100 }))
      assert.equal("data", await(listener))
      local theirs = assert(accept(listener))
      local host, port = theirs:peer()
      assert.equal(case[3], host)
      assert.is_true(port > 0 and port < 65536 and port ~= listener:port())
      ours:cancel()
      theirs:cancel()
      assert.is_nil((theirs:peer()))
    end
  end)

  it("that cannot be opened, and a stream that cannot, leave nothing open", function()
    local live = assert(reactor:listen({ path = path }))
    local taken = assert(reactor:listen({ host = "127.0.0.1", port = 0 }))
    local stale, file = directory .. "/stale", directory .. "/file"
    local left = assert(reactor:listen({ path = stale }))
    assert(os.rename(stale, stale .. "-"))
    left:cancel()
    assert(os.rename(stale .. "-", stale)) -- as a process leaves it that was killed
    assert(io.open(file, "w")):close()
    local long = directory .. "/" .. ("x"):rep(108 - #directory - 1)
    local cases = {
      { "listen", { host = "no.address" }, "Invalid argument" }, { "listen", { host = "" }, "Invalid argument" },
      { "listen", { host = "localhost" }, "Invalid argument" }, -- a name
      { "listen", { host = "127.0.0.1", port = taken:port() }, "Address already in use" },
      { "listen", { path = path }, "Address already in use" }, { "listen", { path = file }, "Address already in use" },
      { "listen", { path = long }, "File name too long" },
      { "listen", { path = directory .. "/no/file" }, "No such file or directory" },
      { "connect_path", { path = stale }, "Connection refused" },
      { "connect_path", { path = long }, "File name too long" },
      { "connect_path", { path = directory .. "/none" }, "No such file or directory" },
      { "connect_path", { path = file }, "Connection refused" },
    }
    usage.collect()
    local before = usage.descriptors()
    for _ = 1, 3 do
      for _, case in ipairs(cases) do
        assert.same({ nil, case[3] }, { reactor[case[1]](reactor, case[2]) })
      end
    end
    assert.equal(before, usage.descriptors())
    assert.equal(2, reactor:inflight())
    assert.same({ "file", "socket" }, { lfs.attributes(file, "mode"), lfs.attributes(path, "mode") })
    live:cancel()
    taken:cancel()
    assert.equal(before - 2, usage.descriptors())
  end)

  it("takes a path of 107 bytes, and the place of a socket file without a listener", function()
    path = directory .. "/" .. ("x"):rep(107 - #directory - 1)
    for _ = 1, 2 do
      local listener = assert(reactor:listen({ path = path }))
      connect()
      assert(accept(listener))
      assert(os.rename(path, path:sub(1, -2)))
      listener:cancel()
      assert(os.rename(path:sub(1, -2), path))
    end
  end)

  it("removes its file when it is cancelled, dropped or closed with the reactor, and no other's", function()
    reactor:listen({ path = path }):cancel()
    assert.is_nil(lfs.attributes(path))
    reactor:listen({ path = path })
    usage.collect()
    assert.is_nil(lfs.attributes(path))
    local listener = assert(reactor:listen({ path = path }))
    assert(os.rename(path, path .. "-"))
    assert(io.open(path, "w")):close()
    listener:cancel()
    assert.equal("file", lfs.attributes(path, "mode"))
    os.remove(path)
    reactor:listen({ path = path })
    reactor:close()
    assert.is_nil(lfs.attributes(path))
  end)

  it("is opened again at the port of connections that it has closed", function()
    require("operations.transfer")
    local first = assert(reactor:listen({ host = "127.0.0.1" }))
    local port = first:port()
    local ours = assert(reactor:connect({ url = "http://127.0.0.1:" .. port }))
    assert.equal("data", await(first))
    assert(accept(first)):cancel() -- its address is kept a while by the system
    repeat until await(ours) == "done"
    ours:cancel()
    first:cancel()
    assert.equal(port, assert(reactor:listen({ host = "127.0.0.1", port = port })):port())
  end)

  it("and its streams may have any descriptor, 0 among them", function()
    local result = command.run(([[exec <&-; lua -e '
      local reactor = require("operations.reactor").new()
      local path = "%s"
      local function exchange(listener, ours)
        local theirs = assert(reactor:accept({ listener = listener, window = 100, queue = 100 }))
        for _, way in ipairs({ { ours, theirs }, { theirs, ours } }) do
          assert(way[1]:transmit("hello") == "sent")
          repeat
            reactor:step(-1)
            local bytes = way[2]:receive()
          until bytes == "hello"
        end
        assert(theirs:peer() == "unix:" and theirs:unsent() == 0)
        for _, last in ipairs({ theirs, ours }) do
          if last == theirs then
            ours:finish_sending()
          else
            theirs:cancel()
          end
          repeat
            reactor:step(-1)
            local handle, kind = reactor:next()
          until handle == last and kind == "done"
        end
        assert(theirs:transmit("hello") == "closed")
        ours:cancel()
      end
      local function connect()
        return assert(reactor:connect_path({ path = path, window = 100, queue = 100 }))
      end
      -- The lowest free descriptor is the next one.
      local zero = assert(reactor:listen({ path = path }))
      exchange(zero, connect())
      zero:cancel()
      zero = assert(io.open("/dev/null"))
      local listener = assert(reactor:listen({ path = path }))
      zero:close()
      exchange(listener, connect())
      zero = assert(io.open("/dev/null"))
      local ours = connect()
      zero:close()
      exchange(listener, ours)
      listener:cancel()
      print("all was said")
    ']]):format(path))
    assert.same({ "all was said\n", "" }, { result.out, result.err })
  end)

  it("accepts again once there are descriptors", function()
    local result = command.run(([[ulimit -n 64; lua -e '
      local reactor = require("operations.reactor").new()
      local listener = assert(reactor:listen({ path = "%s" }))
      local ours = assert(reactor:connect_path({ path = "%s", window = 100, queue = 100 }))
      local function await()
        repeat
          reactor:step(-1)
        until reactor:next() == listener
      end
      await()
      local files = {}
      repeat
        local file = io.open("/dev/null")
        files[#files + 1] = file
      until not file
      local function accept()
        return reactor:accept({ listener = listener, window = 100, queue = 100 })
      end
      print(select(2, accept()))
      print(reactor:due() <= 100)
      for _, file in ipairs(files) do
        file:close()
      end
      await()
      local theirs = assert(accept())
      ours:transmit("hello")
      repeat
        reactor:step(-1)
        local bytes = theirs:receive()
      until bytes == "hello"
      print(select(2, accept()), reactor:due())
    ']]):format(path, path))
    assert.equal("Too many open files\ntrue\nwait\n", result.out)
  end)

  it("names what is wrong", function()
    local listener = assert(reactor:listen({ path = path }))
    local timer = reactor:timer(1e6)
    raises({
      ["no listener, or one that was cancelled"] = function() accept(timer) end,
      ["not a listener"] = function() timer:port() end,
      ["not a stream that is connected"] = function() listener:transmit("x") end,
      ["bad options ('path' expected)"] = function() reactor:connect_path({}) end,
      ["bad options ('host' or 'path' expected)"] = function() reactor:listen({ port = 0 }) end,
      ["bad option 'port' (number expected, got boolean)"] = function() reactor:listen({ port = true }) end,
      ["bad option 'port' (negative)"] = function() reactor:listen({ port = -1 }) end,
      ["bad option 'path' (contains a NUL)"] = function() reactor:listen({ path = "a\0" }) end,
      ["bad option 'host' (string expected, got number)"] = function() reactor:listen({ host = 1 }) end,
      ["table expected"] = function() reactor:listen() end,
    })
    listener:cancel()
    assert.error_matches(function() accept(listener) end, "one that was cancelled")
  end)
end)
