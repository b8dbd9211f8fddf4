local contract = require("spec.hosts.contract")

local busted = { describe = describe, it = it, setup = setup, teardown = teardown, assert = assert }

contract("plain", busted)

describe("the plain host", function()
  -- What a program of its own prints.
  local function printed(program, before)
    local i = -1
    while arg[i - 1] do
      i = i - 1
    end
    local pipe = io.popen(("%s %s -e '%s'"):format(before or "", arg[i], (program:gsub("\n", " "))))
    local answer = pipe:read("*a")
    pipe:close()
    return answer
  end

  -- In a program of its own, where nothing else is under way that would be waited for.
  it("says deadlock instead of waiting for nothing", function()
    assert.equal("fine\n", printed([[
      local task = require("operations.task")
      local ok, raised = pcall(task.await, function() end)
      assert(not ok and tostring(raised):find("deadlock", 1, true), raised)
      print("fine")
    ]]))
  end)

  it("does not load the reactor until something waits", function()
    assert.equal("fine\n", printed([[
      local operations = require("operations")
      assert(not package.loaded["operations.reactor"])
      operations.run(function() operations.spawn(function() end) end)
      assert(not package.loaded["operations.reactor"])
      operations.sleep(0)
      assert(package.loaded["operations.reactor"])
      print("fine")
    ]]))
  end)

  it("does not load libcurl until something is asked for over HTTP, or connected to", function()
    assert.equal("fine\n", printed([[
      local operations = require("operations")
      local stream = require("operations.net.stream")
      local function loaded()
        for line in io.lines("/proc/self/maps") do
          if line:find("libcurl", 1, true) then
            return true
          end
        end
        return false
      end
      local listener = assert(stream.listen("127.0.0.1", 0, function() end))
      local process = assert(operations.process.spawn({ "echo", "word" }))
      assert(process:read_line() == "word")
      process:wait()
      operations.sleep(0)
      assert(not loaded())
      assert(stream.connect("127.0.0.1", listener.port)):close()
      assert(loaded())
      print("fine")
    ]]))
  end)

  it("says what is missing where libcurl is", function()
    assert.equal("fine\n", printed([[
      package.preload["operations.transfer"] = function() error("libcurl.so.4: cannot open", 0) end
      local operations = require("operations")
      for _ = 1, 2 do
        local ok, why = pcall(operations.http.request, { url = "http://127.0.0.1:1/" })
        assert(not ok and why:find("need libcurl (", 1, true) and why:find("libcurl.so.4: cannot open", 1, true), why)
      end
      print("fine")
    ]]))
  end)

  it("says why it cannot wait when descriptors have run out, and waits once there are some", function()
    assert.equal("fine\n", printed([[
      local operations = require("operations")
      local sleep = operations.sleep
      require("operations.hosts.plain")
      require("operations.reactor")
      local files = {}
      repeat
        files[#files + 1] = io.open("/dev/null")
        local another = io.open("/dev/null")
        files[#files + 1] = another
      until not another
      local ok, why = pcall(sleep, 0)
      assert(not ok and why:find("cannot wait for anything: [%w_]+: %u"), why)
      files[1]:close()
      sleep(0)
      print("fine")
    ]], "ulimit -n 64;"))
  end)

  it("lets a program end with an open subscription whose cleanup waits", function()
    assert.equal("1\nstopped\nwaited\nlast words\n", printed([[
      local operations = require("operations")
      local registry = operations.registry()
      registry:register({ namespace = "a", name = "watch", type = "subscription", handler = function(_, context)
        local child = assert(operations.process.spawn({ "cat" }))
        context.defer(function()
          assert(child:stop())
          print("stopped")
          operations.sleep(0)
          print("waited")
          print(assert(operations.process.spawn({ "echo", "last words" })):read_line())
        end)
        coroutine.yield(1)
      end })
      subscription = registry:subscribe("a.watch")
      print(subscription:next().data)
    ]]))
  end)

  -- What a program of its own says that gets signals, 0.3 s apart, once it has said its first line. (A shell has what
  -- it runs in the background ignore INT.)
  local function interrupted(signals, program, before)
    local path, i = os.tmpname(), -1
    local file = assert(io.open(path, "w"))
    file:write('local operations = require("operations")\nio.stdout:setvbuf("no")\n', program)
    file:close()
    while arg[i - 1] do
      i = i - 1
    end
    local script = ([[
      mkfifo $path.out; $before
      perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' $lua $path >$path.out 2>&1 & pid=$!
      { read -r line; echo "$line"; for signal in $signals; do kill -$signal $pid; sleep 0.3; done; cat; } <$path.out
      wait $pid; echo "ended $?"; rm $path $path.out
    ]]):gsub("$(%l+)", { path = path, lua = arg[i], signals = signals, before = before or "" })
    local pipe = io.popen(script)
    local answer = pipe:read("*a")
    pipe:close()
    return answer
  end

  for signal, code in pairs({ INT = 130, TERM = 143, HUP = 129 }) do
    it(("ends a program by %s when its tasks have cleaned up, without a traceback"):format(signal), function()
      assert.equal(("waiting\nchild false ABORTED\nparent false ABORTED\nstate closed\nended %d\n"):format(code),
        interrupted(signal, [[
          local compat = require("operations.base.compat")
          kept = compat.finalizer(function() print("state closed") end)
          operations.run(function()
            operations.spawn(function()
              local ok, raised = pcall(operations.sleep, 60)
              print("child " .. tostring(ok) .. " " .. raised.code)
            end)
            operations.sleep(0)
            print("waiting")
            local ok, raised = pcall(operations.sleep, 60)
            print("parent " .. tostring(ok) .. " " .. raised.code)
          end)
          print("not reached")
        ]]))
    end)
  end

  it("raises the interruption where the program catches it, and leaves the signals to it again", function()
    assert.equal("waiting\nfalse\ton\nended 143\n", interrupted("INT TERM", [[
      local ok, raised = pcall(operations.run, function()
        print("waiting")
        operations.sleep(60)
      end)
      print(ok, operations.run(function() return "on" end))
      while true do end
    ]]))
  end)

  it("ends a program at the second signal, when its cleanup takes longer than a second", function()
    local text = interrupted("INT TERM TERM TERM TERM TERM", [[
      operations.run(function()
        print("waiting")
        pcall(operations.sleep, 60)
        while true do end
      end)
    ]])
    assert.equal("waiting\nended 143\n", text)
  end)

  it("ends a program that computes without end after five seconds", function()
    assert.equal("waiting\nended 143\n", interrupted("TERM", [[
      operations.run(function()
        print("waiting")
        while true do end
      end)
    ]]))
  end)

  it("raises an error object that names the signal where the program catches it", function()
    for name, number in pairs({ INT = 2, TERM = 15, HUP = 1 }) do
      assert.equal(("waiting\nABORTED\tSIG%s\t%d\tABORTED\nended %d\n"):format(name, number, 128 + number),
        interrupted(name, [[
        local inner
        local ok, err = pcall(operations.run, function()
          print("waiting")
          local _, raised = pcall(operations.sleep, 60)
          inner = raised.code
        end)
        print(err.code, err.details.signal, err.details.number, inner)
        os.exit(err.details.exitCode)
      ]]))
    end
  end)

  it("leaves a signal alone that the program is to ignore", function()
    assert.equal("waiting\nwaited\nended 0\n", interrupted("HUP", [[
      operations.run(function()
        print("waiting")
        -- waits: a signal from outside must come within
        operations.sleep(0.5)
        print("waited")
      end)
    ]], "trap '' HUP;"))
  end)

  it("ends at the interpreter's word when interrupted outside of run", function()
    if not rawget(_G, "jit") then -- what luajit does with the signal is its own
      assert.matches("^waiting\n.*interrupted!.*ended 1\n$", interrupted("INT", [[
        print("waiting")
        operations.sleep(60)
      ]]))
    end
  end)
end)
