local failing = require("spec.support.failing")

if not failing.library then
  return
end

local EINTR, EIO, EAGAIN, ENOMEM, EACCES, EMFILE, ENOSPC = 4, 5, 11, 12, 13, 24, 28
local ENOSYS, EOPNOTSUPP, EADDRINUSE, ECONNABORTED = 38, 95, 98, 103

-- What each script begins with. `unchanged` runs a function, and tells whether it left a descriptor open.
local BEGIN = [[
  local lfs = require("lfs")
  local reactor_module = require("operations.reactor")
  require("operations.transfer")
  local function descriptors()
    local count = 0
    for _ in lfs.dir("/proc/self/fd") do
      count = count + 1
    end
    return count
  end
  local reactor = assert(reactor_module.new())
  local path = os.tmpname()
  os.remove(path)
  local function await(handle, wanted)
    while true do
      reactor:step(-1)
      repeat
        local told, kind, a, b = reactor:next()
        if told == handle and (not wanted or kind == wanted) then
          return kind, a, b
        end
      until told == nil
    end
  end
]]

local function prints(expected, script, ...)
  assert.same({ expected, 0 }, { failing.run(BEGIN .. script:format(...)) })
end

describe("a call of the system that fails", function()
  for name, errno in pairs({ epoll_create1 = EMFILE }) do
    it(name .. " is why there is no reactor", function()
      prints("nil\tepoll_create1: Too many open files\n0\n", [[
        local before = descriptors()
        fail("%s", %d)
        told(reactor_module.new())
        print(descriptors() - before)
      ]], name, errno)
    end)
  end

  for name, case in pairs({ eventfd = { EMFILE, "Too many open files" }, getrandom = { EIO, "Input/output error" },
    pthread_create = { EAGAIN, "Resource temporarily unavailable" }, socket = { EMFILE, "Too many open files" },
    bind = { EACCES, "Permission denied" }, listen = { EADDRINUSE, "Address already in use" },
    getsockname = { ENOMEM, "Cannot allocate memory" }, fcntl = { EMFILE, "Too many open files" } }) do
    it(name .. " is why there is no relay, of which nothing is left", function()
      prints(("nil\trelay: %s\n0\ntrue\n"):format(case[2]), [[
        local before = descriptors()
        fail("%s", %d)
        told(reactor:relay())
        print(descriptors() - before)
        local relay, port, token = reactor:relay()
        print(relay ~= nil and port > 0 and #token == 32)
        relay:close()
      ]], name, case[1])
    end)
  end

  it("leaves nothing of a connection to a Unix socket of another user, which is refused", function()
    prints("nil\tOperation not permitted\n0\ntrue\n", [[
      local listener = assert(reactor:listen({ path = path }))
      local before = descriptors()
      fail("geteuid", 0)
      told(reactor:connect_path({ path = path }))
      print(descriptors() - before)
      print(reactor:connect_path({ path = path }) ~= nil)
      listener:cancel()
    ]])
  end)

  it("leaves nothing of a process whose streams could not be set up", function()
    prints("nil\tdescriptors\tInput/output error\n0\n", [[
      local before = descriptors()
      fail("dup2", %d)
      told(reactor:process({ files = { "/bin/true" }, arguments = { "true" }, environment = {} }))
      print(descriptors() - before)
    ]], EIO)
  end)

  for name, errno in pairs({ read = EIO, send = EIO, poll = EIO }) do
    it(name .. " in the thread of a relay ends the connection to it", function()
      prints("over\n0\n", [[
        local relay, port, token = assert(reactor:relay())
        local mine = reactor_module.new()
        local connection = mine:connect({ url = "http://127.0.0.1:" .. port, window = 100, queue = 100 })
        repeat
          mine:step(-1)
        until select(2, mine:next()) == "head"
        connection:transmit(token)
        local bytes
        repeat
          mine:step(-1)
          bytes = connection:receive()
        until bytes
        fail("%s", %d)
        relay:acknowledge()
        repeat
          if mine:inflight() > 0 then
            mine:step(1000)
          end
          connection:receive()
        until mine:inflight() == 0
        told("over")
        print(mine:inflight())
        relay:close()
      ]], name, errno)
    end)
  end

  it("read and poll in the thread of a relay are tried again when they were interrupted", function()
    for _, name in ipairs({ "read", "poll" }) do
      prints("2\n", [[
        local relay, port, token = assert(reactor:relay())
        local mine = reactor_module.new()
        local connection = mine:connect({ url = "http://127.0.0.1:" .. port, window = 100, queue = 100 })
        repeat
          mine:step(-1)
        until select(2, mine:next()) == "head"
        connection:transmit(token)
        local count = 0
        local function one()
          repeat
            mine:step(-1)
            local bytes = connection:receive()
          until bytes
          count = count + 1
        end
        one()
        fail("%s", %d)
        relay:acknowledge()
        one()
        told(count)
        relay:close()
      ]], name, EINTR)
    end
  end)

  for name, case in pairs({ timerfd_create = { EMFILE, "Too many open files" },
    epoll_ctl = { ENOSPC, "No space left on device" }, timerfd_settime = { ENOMEM, "Cannot allocate memory" } }) do
    it(name .. " is why a reactor cannot be polled by another loop", function()
      prints(("false\talarm: %s\ntrue\ntimer\n"):format(case[2]), [[
        local timer = reactor:timer(1)
        fail("%s", %d)
        local ok, raised = pcall(reactor.flush, reactor)
        told(ok, raised:match("alarm: .*"))
        print((pcall(reactor.flush, reactor)))
        print((await(timer)))
      ]], name, case[1])
    end)
  end

  for _, name in ipairs({ "socket", "bind", "listen" }) do
    it(name .. " is why nobody listens at an address", function()
      prints("nil\tPermission denied\n0\ntrue\n", [[
        local before = descriptors()
        fail("%s", %d)
        told(reactor:listen({ host = "127.0.0.1" }))
        print(descriptors() - before)
        print(reactor:listen({ host = "127.0.0.1" }):port() > 0)
      ]], name, EACCES)
    end)
  end

  it("getsockname leaves the port of a listener unknown", function()
    prints("0\n", [[
      fail("getsockname", %d)
      told(reactor:listen({ host = "127.0.0.1" }):port())
    ]], ENOMEM)
  end)

  for _, name in ipairs({ "socket", "bind", "chmod", "lstat", "listen" }) do
    it(name .. " is why nobody listens at a path, where no file is left", function()
      prints("nil\tPermission denied\n0\nnil\nsocket\n", [[
        local before = descriptors()
        fail("%s", %d)
        told(reactor:listen({ path = path }))
        print(descriptors() - before)
        print((lfs.attributes(path, "mode")))
        local listener = assert(reactor:listen({ path = path }))
        print((lfs.attributes(path, "mode")))
        listener:cancel()
      ]], name, EACCES)
    end)
  end

  for _, name in ipairs({ "socket", "getsockopt" }) do
    it(name .. " is why a path is not connected to", function()
      prints("nil\tPermission denied\n0\ntrue\n", [[
        local listener = assert(reactor:listen({ path = path }))
        local before = descriptors()
        fail("%s", %d)
        told(reactor:connect_path({ path = path }))
        print(descriptors() - before)
        print((reactor:connect_path({ path = path })) ~= nil)
        listener:cancel()
      ]], name, EACCES)
    end)
  end

  it("accept4 is tried again when it was interrupted or the client left", function()
    for _, errno in ipairs({ EINTR, ECONNABORTED }) do
      prints("true\n", [[
        local listener = assert(reactor:listen({ path = path }))
        local ours = assert(reactor:connect_path({ path = path }))
        await(listener)
        fail("accept4", %d, 3)
        told((reactor:accept({ listener = listener })) ~= nil)
        listener:cancel()
      ]], errno)
    end
  end)

  it("accept4 is tried again later when there are no descriptors", function()
    prints("Too many open files\ntrue\ndata\ntrue\n", [[
      local listener = assert(reactor:listen({ path = path }))
      local ours = assert(reactor:connect_path({ path = path }))
      await(listener)
      fail("accept4", %d)
      told(select(2, reactor:accept({ listener = listener })))
      print(reactor:due() > 0 and reactor:due() <= 100)
      print((await(listener)))
      print((reactor:accept({ listener = listener })) ~= nil)
      listener:cancel()
    ]], EMFILE)
  end)

  it("recv, send and read are tried again when they were interrupted", function()
    prints("hello\nhello again\nwords\n", [[
      local listener = assert(reactor:listen({ path = path }))
      local ours = assert(reactor:connect_path({ path = path, window = 100, queue = 100 }))
      await(listener)
      local theirs = assert(reactor:accept({ listener = listener, window = 100, queue = 100 }))
      for _, text in ipairs({ "hello", "hello again" }) do
        fail(text == "hello" and "send" or "recv", %d, 3)
        ours:transmit(text)
        local got
        repeat
          reactor:step(10)
          got = theirs:receive()
        until got
        told(got)
      end
      listener:cancel()
      local process = assert(reactor:process({ files = { "/bin/echo" }, arguments = { "echo", "words" },
        environment = {}, window = 100, max_line = 100, queue = 100 }))
      fail("read", %d, 3)
      local line
      repeat
        reactor:step(10)
        line = process:line()
      until line
      told(line)
    ]], EINTR, EINTR)
  end)

  it("recv or send is why a stream is lost, which takes nothing any more", function()
    for name, sent in pairs({ recv = "sent", send = "closed" }) do
      prints(sent .. "\nerror\treset\tInput/output error\nclosed\tnil\tnil\t1\n", [[
        local listener = assert(reactor:listen({ path = path }))
        local ours = assert(reactor:connect_path({ path = path, window = 100, queue = 100 }))
        await(listener)
        local theirs = assert(reactor:accept({ listener = listener, window = 100, queue = 100 }))
        assert(theirs:transmit("x") == "sent")
        fail("%s", %d)
        local lost = "%s" == "recv" and ours or theirs
        print(theirs:transmit("y"))
        local kind, what, reason = await(lost, "error")
        told(kind, what, reason)
        local other = lost == ours and theirs or ours
        other:cancel()
        print(lost:transmit("z"), lost:peer(), lost:unsent(), reactor:inflight())
        listener:cancel()
      ]], name, EIO, name)
    end
  end)

  it("read and pwritev2 are called again, and once, for a process when they were interrupted", function()
    prints("nil\tcommand\tNo such file or directory\nx\nlog\ty\n", [[
      local options = { files = { "/nowhere" }, arguments = { "sh", "-c", "cat; echo y >&2" }, environment = {} }
      fail("read", %d)
      told(reactor:process(options))
      options.files[1] = "/bin/sh"
      options.environment[1] = "PATH=/bin:/usr/bin"
      local process = assert(reactor:process(options))
      fail("pwritev2", %d)
      process:send("x")
      process:close_input()
      local bytes
      repeat
        reactor:step(-1)
        bytes = process:chunk()
      until bytes
      told(bytes)
      local kind, text
      repeat
        if not reactor:pending() then
          reactor:step(-1)
        end
        kind, text = select(2, reactor:next())
      until kind == "log"
      print(kind, (text:gsub("%%s", "")))
    ]], EINTR, EINTR)
  end)

  it("read takes the alarm of a reactor that another loop has polled, though it was interrupted", function()
    prints("1\n", [[
      reactor:flush(true)
      fail("read", %d)
      reactor:step(-1)
      local timer, steps = reactor:timer(20), 0
      repeat
        reactor:step(-1)
        steps = steps + 1
      until reactor:pending()
      told(steps)
    ]], EINTR)
  end)

  it("socket is why a request cannot connect, and getsockname keeps it from nothing", function()
    prints("error\tconnect\nhead\n", [[
      local listener = assert(reactor:listen({ host = "127.0.0.1" }))
      local url = "http://127.0.0.1:" .. listener:port() .. "/"
      local request = assert(reactor:http({ url = url, method = "GET" }))
      fail("socket", %d, 100)
      local kind, what = await(request)
      told(kind, what)
      fail("getsockname", %d, 100)
      local connection = assert(reactor:connect({ url = url, window = 100, queue = 100 }))
      told((await(connection)))
    ]], EMFILE, ENOMEM)
  end)

  it("curl_global_init of libcurl is why its module is not loaded; the next attempt loads it", function()
    prints("false\tlibcurl cannot be initialized\ntrue\ttable\n", [[
      package.loaded["operations.transfer"] = nil
      fail("curl_global_init", 27)
      print(pcall(require, "operations.transfer"))
      package.loaded["operations.transfer"] = nil -- LuaJIT leaves a mark there
      local ok, module = pcall(require, "operations.transfer")
      print(ok, type(module))
    ]])
  end)

  for name, reason in pairs({ curl_multi_init = "libcurl could not be started", curl_easy_init = ".*",
    curl_multi_add_handle = "libcurl refused the transfer", curl_slist_append = ".*" }) do
    it(name .. " of libcurl is why a request does not begin; the next one does", function()
      prints("nil\tmemory\ttrue\n0\nerror\tconnect\n", [[
        local options = { url = "http://127.0.0.1:1/", method = "PUT", body = "x", headers = { "A: b", "C: d" } }
        fail("%s", 27)
        local handle, kind, message = reactor:http(options)
        told(handle, kind, message:find("^%s$") ~= nil)
        print(reactor:inflight())
        local request = assert(reactor:http(options))
        local event, what = await(request)
        print(event, what)
      ]], name, reason)
    end)
  end

  it("curl_multi_add_handle of libcurl is why a connection does not begin", function()
    prints("nil\tmemory\tlibcurl refused the transfer\n0\nerror\tconnect\n", [[
      fail("curl_multi_add_handle", 27)
      told(reactor:connect({ url = "http://127.0.0.1:1/" }))
      print(reactor:inflight())
      local event, what = await((assert(reactor:connect({ url = "http://127.0.0.1:1/" }))))
      print(event, what)
    ]])
  end)

  for _, name in ipairs({ "pipe2", "fcntl" }) do
    it(name .. " is why a process is not started, and leaves nothing open", function()
      prints("nil\tdescriptors\tToo many open files\n0\n", [[
        local before = descriptors()
        fail("%s", %d)
        told(reactor:process({ files = { "/bin/true" }, arguments = { "true" }, environment = {} }))
        print(descriptors() - before)
      ]], name, EMFILE)
    end)
  end

  it("pidfd_open does not keep the end of a process from being told", function()
    prints("exit\tcode\t3\n", [[
      fail("pidfd_open", %d)
      local process = assert(reactor:process({ files = { "/bin/sh" }, arguments = { "sh", "-c", "exit 3" },
        environment = {}, window = 100, max_line = 100, queue = 100 }))
      told(await(process, "exit"))
    ]], ENOSYS)
  end)

  it("waitid makes the end of a process unknown", function()
    prints("exit\tunknown\n", [[
      local process = assert(reactor:process({ files = { "/bin/true" }, arguments = { "true" },
        environment = {}, window = 100, max_line = 100, queue = 100 }))
      fail("waitid", 10, 1000000)
      local kind, how = await(process, "exit")
      told(kind, how)
    ]])
  end)

  it("waitpid is tried again for a process that could not be started", function()
    prints("nil\tcommand\tNo such file or directory\n", [[
      fail("waitpid", %d, 2)
      told(reactor:process({ files = { "/none" }, arguments = { "none" }, environment = {} }))
    ]], EINTR)
  end)

  it("close_range leaves a process no descriptor but the standard ones either", function()
    prints("0 1 2 3 \n", [[
      local files = { io.open("/dev/null"), io.open("/dev/null") }
      fail("close_range", %d, 10)
      local process = assert(reactor:process({ files = { "/bin/sh" }, arguments = { "sh", "-c",
        "for f in /proc/self/fd/*; do printf '%%s ' ${f##*/}; done; echo" }, environment = {}, window = 1000,
        max_line = 1000, queue = 100 }))
      local line
      repeat
        reactor:step(-1)
        line = process:line()
      until line
      told(line)
      files[1]:close()
    ]], ENOSYS)
  end)

  it("pwritev2 to a closed pipe ends no process, and consumes no signal of the program", function()
    for _, errno in ipairs({ ENOSYS, EOPNOTSUPP }) do
      prints("sent\nwords\nclosed\ngoes on\n", [[
        local function start(script)
          return assert(reactor:process({ files = { "/bin/sh" }, arguments = { "sh", "-c", script }, environment = {},
            window = 1000, max_line = 1000, queue = 1000000 }))
        end
        local process = start("cat")
        fail("pwritev2", %d, 1000)
        print(process:send("words\n"))
        local line
        repeat
          reactor:step(-1)
          line = process:line()
        until line
        print(line)
        process = start("exec <&-; sleep 10")
        local sent
        repeat
          reactor:step(10)
          sent = process:send(("x"):rep(100000))
        until sent == "closed"
        print(sent)
        process:finish(9)
        told("goes on")
      ]], errno)
    end
  end)

  it("getrandom is why there is no identifier, unless it was interrupted only", function()
    prints("no random bytes from the system\nno random bytes from the system\ntrue\ttrue\n", [[
      local core = require("operations.core")
      for _, name in ipairs({ "random_id", "random_bytes" }) do
        fail("getrandom", %d, 100)
        local ok, raised
        repeat
          ok, raised = pcall(core[name], 16)
        until not ok
        told((raised:gsub("^.-:%%d+: ", "")))
      end
      fail("getrandom", %d, 3)
      local bytes, id = core.random_bytes(256), core.random_id()
      told(#bytes == 256 and bytes ~= ("\0"):rep(256), #id == 36)
    ]], EIO, EINTR)
  end)

  for _, name in ipairs({ "mmap", "madvise" }) do
    it(name .. " leaves identifiers that differ, and reactors that know their process", function()
      prints("true\ttrue\n", [[
        package.loaded["operations.core"] = nil
        local registry = debug.getregistry()
        for key, value in pairs(registry) do
          if type(value) == "table" and value.random_id then
            registry[key] = nil -- as in a new state
          end
        end
        fail("%s", %d, 2)
        local core = require("operations.core")
        local ids, differ = {}, true
        for _ = 1, 500 do
          local id = core.random_id()
          differ = differ and not ids[id]
          ids[id] = true
        end
        fail("%s", %d, 1)
        local another = reactor_module.new()
        told(differ, another:usable())
        another:close()
      ]], name, ENOMEM, name, ENOMEM)
    end)
  end

  for name, case in pairs({ fsync = { EIO, "Input/output error" }, rename = { EACCES, "Permission denied" },
    write = { ENOSPC, "No space left on device" } }) do
    it(name .. " leaves the private file of before, and no draft of the next", function()
      prints(("nil\tx: %s\nold\t1\ntrue\tnew\n"):format(case[2]), [[
        local system = require("operations.system")
        assert(lfs.mkdir(path))
        assert(lfs.chdir(path))
        assert(system.write_private("x", "old"))
        fail("%s", %d)
        local ok, err = system.write_private("x", "new")
        told(ok, err)
        print(io.open("x"):read("*a"), #system.list("."))
        fail("write", %d, 2)
        ok = system.write_private("x", "new")
        told(ok, io.open("x"):read("*a"))
        os.remove("x")
        lfs.rmdir(path)
      ]], name, case[1], EINTR)
    end)
  end
end)
