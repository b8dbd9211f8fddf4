local failing = require("spec.support.failing")

if not failing.library then
  return
end

-- What each script begins with. `count` is how many descriptors the process has; `wait_for` steps until the handle says
-- a kind of event, and returns the event's values.
local BEGIN = [[
  local lfs = require("lfs")
  local reactor_module = require("operations.reactor")
  local function count()
    local n = 0
    for _ in lfs.dir("/proc/self/fd") do
      n = n + 1
    end
    return n
  end
  local before = count()
  local reactor = assert(reactor_module.new())
  local path = os.tmpname()
  os.remove(path)
  local function wait_for(handle, wanted)
    repeat
      reactor:step(5000)
      local told, kind, a, b
      repeat
        told, kind, a, b = reactor:next()
        if told == handle and kind == wanted then
          return kind, a, b
        end
      until told == nil
    until not reactor:usable()
  end
  local function process(script, window)
    return assert(reactor:process({ files = { "/bin/sh" }, arguments = { "sh", "-c", script },
      environment = { "PATH=/bin:/usr/bin" }, window = window or 1000, max_line = 1000, queue = 1000 }))
  end
  local function pair()
    local listener = assert(reactor:listen({ path = path }))
    local ours = assert(reactor:connect_path({ path = path, window = 1000, queue = 1000 }))
    wait_for(listener, "data")
    local theirs = assert(reactor:accept({ listener = listener, window = 1000, queue = 1000 }))
    assert(not reactor:accept({ listener = listener })) -- from now on it says when another one waits
    return listener, ours, theirs
  end
]]

local function prints(expected, script)
  assert.same({ expected, 0 }, { failing.run(BEGIN .. script) })
end

describe("a forked copy of a program", function()
  it("cannot use the reactor that it was forked with, but one of its own", function()
    prints("false\tfalse\tthe reactor is closed, or of another process\ttrue\ntrue\ntrue\ttimer\n", [[
      local handle = reactor:timer(1)
      in_copy(function()
        local ok, raised = pcall(reactor.step, reactor, 0)
        print(reactor:usable(), ok, raised:match("%((.*)%)"), handle:cancelled())
        reactor:close()
        reactor = assert(reactor_module.new())
        print(reactor:usable())
      end)
      print(reactor:usable(), (wait_for(handle, "timer")))
    ]])
  end)

  it("knows that it is one where the system cannot mark memory", function()
    prints("false\ntrue\ttimer\n", [[
      reactor:close()
      fail("madvise", 12)
      reactor = assert(reactor_module.new())
      fail("", 0, 0)
      local handle = reactor:timer(1)
      in_copy(function()
        print(reactor:usable())
        reactor:close()
      end)
      print(reactor:usable(), (wait_for(handle, "timer")))
    ]])
  end)

  it("closes its descriptors with the reactor, and takes nothing from the program", function()
    prints("0\ndata\tdata\twords\tothers\texit\t3\tsocket\nnil\n0\n", [[
      local listener, ours, theirs = pair()
      local child = process("read word; echo $word; exit 3")
      reactor:flush(true) -- opens the alarm
      reactor:step(0)
      in_copy(function()
        reactor:close()
        print(count() - before)
      end)
      local another = assert(reactor:connect_path({ path = path, window = 1000, queue = 1000 }))
      local waits = wait_for(listener, "data")
      ours:transmit("words")
      local came = wait_for(theirs, "data")
      child:send("others\n")
      local kind, _, code = wait_for(child, "exit")
      print(waits, came, theirs:receive(), child:line(), kind, code, lfs.attributes(path, "mode"))
      listener:cancel()
      another:cancel()
      print((lfs.attributes(path, "mode")))
      reactor:close()
      print(count() - before)
    ]])
  end)

  it("cancels handles without an effect on those of the program", function()
    prints("true\ttrue\tfalse\tfalse\ndata\twords\tothers\n", [[
      local listener, ours, theirs = pair()
      local child, timer = process("read word; echo $word"), reactor:timer(10000)
      in_copy(function()
        local open = count()
        for _, handle in ipairs({ listener, ours, theirs, child, timer }) do
          handle:cancel()
        end
        local over = { child:chunk() }
        print(open > count(), ours:cancelled(), reactor:pending(), reactor:inflight() > 0)
      end)
      ours:transmit("words")
      local came = wait_for(theirs, "data")
      child:send("others\n")
      wait_for(child, "exit")
      print(came, theirs:receive(), child:line())
      reactor:close()
    ]])
  end)

  it("can neither send to a process of the program, nor read from it, nor end it", function()
    prints("closed\tfull\tnil\tover\tnil\tover\tclosed\nstarted\nexit\tcode\t0\nmore\tover\n", [[
      local child = process("echo started; cat")
      local held = process("sleep 1000")
      held:send(("x"):rep(100000))
      local kept = held:send("x")
      in_copy(function()
        local sent = child:send("never\n")
        local chunk, why = child:chunk()
        local line, reason = child:line()
        child:close_input()
        child:finish(9)
        print(sent, kept, chunk, why, line, reason, child:send(""))
      end)
      wait_for(child, "data")
      print(child:line())
      child:send("more\n")
      child:close_input()
      print(wait_for(child, "exit"))
      local function line()
        local text, reason = child:line()
        while reason == "wait" do -- its end may be told before that of its output
          reactor:step(5000)
          text, reason = child:line()
        end
        return text or reason
      end
      print(line(), line())
      reactor:close()
    ]])
  end)

  it("has the output of a process until the fork, to the last byte", function()
    prints("one\ntwo\nnil\tover\n", [[
      local child = process("printf 'one\ntwo'; sleep 1000")
      local first
      repeat
        wait_for(child, "data")
        first = child:line()
      until first
      print(first)
      in_copy(function()
        print(child:line())
        print(child:line())
      end)
      reactor:close()
    ]])
  end)

  it("can neither send on a connection of the program nor tell its peer", function()
    prints("closed\tnil\tnil\tkept\nunix:\t0\tkept\ndata\twords\tnil\n", [[
      local listener, ours, theirs = pair()
      ours:transmit("kept")
      wait_for(theirs, "data")
      in_copy(function()
        print(ours:transmit("lost"), ours:unsent(), (ours:peer()), theirs:receive())
        ours:finish_sending()
      end)
      print(ours:peer(), ours:unsent(), theirs:receive())
      ours:transmit("words")
      print(wait_for(theirs, "data"), theirs:receive(), theirs:receive())
      reactor:close()
    ]])
  end)

  it("does not send pieces that the program gathers", function()
    prints("data\tonce\n", [[
      local listener, ours, theirs = pair()
      reactor:hold()
      ours:transmit("once")
      in_copy(function()
        ours:cancel()
        reactor:close()
      end)
      reactor:release()
      print(wait_for(theirs, "data"), theirs:receive())
      reactor:close()
    ]])
  end)

  it("leaves the dropped processes of the program to it, and keeps no descriptor of them", function()
    prints("0\nfalse\n", [[
      local child = process("trap '' TERM; exec sleep 1000")
      local pid = child:pid()
      os.execute("kill -STOP " .. pid)
      child:cancel()
      child = nil
      in_copy(function()
        reactor:close()
        print(count() - before)
      end)
      reactor:close()
      print(lfs.attributes("/proc/" .. pid, "mode") == "directory")
    ]])
  end)

  it("does not end the relay of the program", function()
    prints("0\ntrue\n0\n", [[
      local relay, port, token = assert(reactor:relay())
      require("operations.transfer")
      in_copy(function()
        relay:close()
        reactor:close()
        print(count() - before)
      end)
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
      print(bytes == "\0")
      relay:close()
      mine:close()
      reactor:close()
      print(count() - before)
    ]])
  end)
end)
