local command = require("spec.support.command")
local failing = require("spec.support.failing")
local system = require("operations.system")
local terminal = require("spec.support.terminal")

describe("operations.system", function()
  local root

  before_each(function()
    root = os.tmpname()
    os.remove(root)
    assert(os.execute(("mkdir '%s'"):format(root)))
  end)

  after_each(function()
    os.execute(("rm -rf '%s'"):format(root))
  end)

  it("lists a directory without its dots", function()
    assert(os.execute(("cd '%s' && touch a && mkdir b && touch b/c"):format(root)))
    local listed = assert(system.list(root))
    table.sort(listed)
    assert.same({ "a", "b" }, listed)
  end)

  it("tells files from directories, and follows links to their identity", function()
    assert(os.execute(("cd '%s' && touch a && ln -s a b"):format(root)))
    local kind, identity, version = system.kind(root .. "/a")
    assert.equal("file", kind)
    assert.same({ "file", identity, version }, { system.kind(root .. "/b") })
    assert.equal("directory", (system.kind(root)))
    assert.equal("other", (system.kind("/dev/null")))
  end)

  it("gives a file another version once it was written to", function()
    local function version_after(script)
      assert(os.execute(("cd '%s' && %s"):format(root, script)))
      return (select(3, system.kind(root .. "/a")))
    end
    local first = version_after("printf x >a && touch -d @1000.25 a")
    assert.equal(first, version_after("cat a >b"))
    assert.not_equal(first, version_after("touch -d @1000.5 a"))
    assert.not_equal(first, version_after("printf xy >a && touch -d @1000.25 a"))
  end)

  it("reads regular files within a limit, and no others", function()
    assert(os.execute(("cd '%s' && printf 'a\\0b' >a && ln -s a link && mkfifo pipe && : >empty"):format(root)))
    assert.equal("a\0b", system.read_regular(root .. "/link", 3))
    assert.equal("", system.read_regular(root .. "/empty", 0))
    assert.same({ nil, root .. "/a: too large" }, { system.read_regular(root .. "/a", 2) })
    assert.same({ nil, root .. "/b: No such file or directory" }, { system.read_regular(root .. "/b", 2) })
    for _, path in ipairs({ root, root .. "/pipe", "/dev/zero" }) do
      assert.same({ nil, path .. ": not a regular file" }, { system.read_regular(path, 100) })
    end
    assert(os.execute(("head -c 300000 /dev/zero >'%s/large'"):format(root)))
    assert.equal(("\0"):rep(300000), system.read_regular(root .. "/large", 300000))
  end)

  it("resolves links and dots of a path", function()
    assert(os.execute(("cd '%s' && mkdir -p a/b && touch a/c && ln -s a/b link"):format(root)))
    local real = assert(system.real_path(root))
    assert.equal(real .. "/a/c", system.real_path(root .. "/link/.././c"))
    assert.same({ nil, root .. "/x: No such file or directory" }, { system.real_path(root .. "/x") })
  end)

  it("says why it could not look", function()
    assert.same({ nil, root .. "/x: No such file or directory" }, { system.list(root .. "/x") })
    assert.same({ nil, root .. "/x: No such file or directory" }, { system.kind(root .. "/x") })
  end)

  it("knows that a closed descriptor is no terminal", function()
    assert.is_false(system.is_terminal(-1))
    assert.is_nil(system.terminal_size(-1))
  end)

  it("knows the width of a terminal that has one", function()
    local file = assert(io.open(root .. "/width.lua", "w"))
    file:write('local system = require("operations.system") ',
      'print(system.is_terminal(0), (tostring(system.terminal_size(0))))')
    file:close()
    assert.same("true\tnil\ntrue\t1\ntrue\t2\ntrue\t93\nfalse\tnil\n", (terminal.run(([[
      width() { LD_PRELOAD="$SANITIZER" %s %s/width.lua; }
      for columns in 0 1 2 93; do stty cols $columns; width; done
      width </dev/null]]):format(command.interpreter(), root)):gsub("[ \t]+", "\t")))
  end)

  local function output_of(line)
    local pipe = io.popen(line)
    local text = pipe:read("*a")
    pipe:close()
    return text
  end

  it("leaves a private file as it was where the new text does not fit", function()
    local result = command.run(([[
      trap '' XFSZ
      ulimit -f 1 # 512 bytes
      lua -e 'local system, path = require("operations.system"), "%s/a"
        assert(system.write_private(path, "before"))
        print(system.write_private(path, ("x"):rep(5000)))
        io.write(io.open(path):read("a"), "\n")'
      ls %s]]):format(root, root))
    assert.equal("nil\t" .. root .. "/a: File too large\nbefore\na\n", result.out)
  end)

  it("writes a file that only its owner reads, whole or not at all", function()
    local path = root .. "/secret"
    assert(os.execute(("umask 0; echo old >'%s'; ln '%s' '%s/linked'"):format(path, path, root)))
    assert.is_true(system.write_private(path, "new\0text"))
    assert.equal("600\n", output_of(("stat -c %%a '%s'"):format(path)))
    assert.equal("new\0text", io.open(path):read("*a"))
    assert.equal("old\n", io.open(root .. "/linked"):read("*a")) -- replaced, not written over
    assert.is_true(system.write_private(path, ""))
    assert.equal("", io.open(path):read("*a"))
    assert.equal(2, #system.list(root))
  end)

  it("leaves the file that is there when it cannot write", function()
    assert.same({ nil, root .. "/x/y: No such file or directory" }, { system.write_private(root .. "/x/y", "") })
    assert(os.execute(("mkdir '%s/full' && touch '%s/full/x'"):format(root, root)))
    assert.same({ nil, root .. "/full: Is a directory" }, { system.write_private(root .. "/full", "text") })
    assert.same({ "full" }, system.list(root))
    local longest = root .. "/full/x" .. ("/x"):rep(2044) -- the system takes 4095 bytes, seven of them the draft's
    longest = longest:sub(1, 4088)
    assert.same({ nil, longest .. ": Not a directory" }, { system.write_private(longest, "") })
    assert.same({ nil, longest .. "x: File name too long" }, { system.write_private(longest .. "x", "") })
  end)

  it("makes directories that only their owner enters, and leaves those that are there", function()
    assert(os.execute(("umask 0; mkdir -m 755 '%s/a'"):format(root)))
    for _ = 1, 2 do
      assert.is_true(system.make_private_directory(root .. "/a/b/c/"))
    end
    assert.equal("755\n700\n700\n", output_of(("cd '%s'; stat -c %%a a a/b a/b/c"):format(root)))
    assert(os.execute(("touch '%s/file'"):format(root)))
    assert.same({ nil, root .. "/file: Not a directory" }, { system.make_private_directory(root .. "/file") })
    assert.same({ nil, root .. "/file/x: Not a directory" }, { system.make_private_directory(root .. "/file/x") })
    local longest = (root .. "/file" .. ("/x"):rep(2044)):sub(1, 4095)
    assert.same({ nil, longest .. ": Not a directory" }, { system.make_private_directory(longest) })
    assert.same({ nil, longest .. "x: File name too long" }, { system.make_private_directory(longest .. "x") })
  end)

  it("survives pipes without a reader, but not for the programs it starts", function()
    local path = root .. "/program.lua"
    local file = assert(io.open(path, "w"))
    file:write([[
      require("operations.system").survive_broken_pipes()
      local pipe = io.popen("sleep 0.1; kill -PIPE $PPID; sleep 0.1; echo text")
      assert(pipe:read("*l") == "text")
      repeat until not (io.write(("x"):rep(65536)) and io.flush())
      local ended = os.execute("kill -PIPE $$")
      io.stderr:write((ended == true or ended == 0) and "ignored" or "as ever")
    ]])
    file:close()
    assert.equal("as ever", output_of(("{ %s %s 2>&3 | true; } 3>&1"):format(command.interpreter(), path)))
  end)

  it("raises a signal again that came before it let go of them", function()
    local result = require("spec.support.command").run([[lua -e '
      local system = require("operations.system")
      assert(system.catch_signals() and not system.catch_signals())
      os.execute("kill -TERM $PPID")
      system.release_signals()
      print("not reached")
    ']])
    assert.same({ "", 143 }, { result.out, result.code })
  end)

  it("counts HUP once it is asked to, so that it ends nothing", function()
    local result = require("spec.support.command").run([[lua -e '
      local system = require("operations.system")
      assert(system.catch_signals() and system.hangups() == 0)
      for count = 1, 3 do
        os.execute("kill -HUP $PPID")
        assert(system.hangups() == count)
      end
      io.write("goes on\n")
      io.flush()
      system.release_signals()
      os.execute("kill -HUP $PPID")
      print("not reached")
    ']])
    assert.same({ "goes on\n", 129 }, { result.out, result.code })
  end)

  -- What a program prints, and its exit code.
  local function outcome(program, before)
    local result = command.run((before or "") .. [[lua -e '
      local system = require("operations.system")
      local function send(names)
        io.popen((names:gsub("%S+", "kill -%0 $PPID;"))):close() -- os.execute ignores INT
      end
      local function spin(seconds)
        local stop = os.clock() + seconds
        repeat until os.clock() > stop
      end
      local function spin_after(names, seconds) -- the signals are raised 100 ms later: on a busy machine before spin
        send(names)
        spin(seconds)
      end
      local function wait(seconds) -- in C, and then in Lua
        os.execute("sleep " .. seconds)
        spin(0.01)
      end
    ]] .. program .. "'")
    return { result.out, result.code }
  end

  -- The same where signals are caught.
  local function caught(program, before)
    return outcome("assert(system.catch_signals())\n" .. program, before)
  end

  it("raises a signal in the loop that runs, and ends by it in the end", function()
    for name, number in pairs({ INT = 2, TERM = 15, HUP = 1 }) do
      assert.same({ ("false\tinterrupted!\t%d\n"):format(number), 128 + number }, caught(([[
        assert(system.interrupted() == nil)
        local ok, err = pcall(spin_after, "%s", 60)
        print(ok, err, system.interrupted())
      ]]):format(name)))
    end
  end)

  it("raises a signal in a loop that calls nothing", function()
    assert.same({ "false\tinterrupted!\n", 143 }, caught([[
      if jit then
        jit.off() -- compiled loops call no hooks
      end
      print(pcall(function()
        send("TERM")
        while true do end
      end))
    ]]))
  end)

  it("raises one signal of several that come at once", function()
    assert.same({ "false\t2\ntrue\t2\nfalse\t15\n", 143 }, caught([[
      print((pcall(spin_after, "INT INT TERM", 60)), system.interrupted()) -- INT is first
      print((pcall(spin, 0.5)), system.interrupted())
      print((pcall(spin_after, "TERM", 60)), system.interrupted())
    ]]))
  end)

  it("puts the program's hook back", function()
    assert.same({ "false\t100\nfalse\t100\n", 0 }, caught([[
      local function hook() end
      debug.sethook(hook, "", 100)
      print(pcall(spin_after, "TERM", 60), debug.gethook() == hook and select(3, debug.gethook()))
      system.hold_signals(function()
        send("TERM")
        wait(0.3)
        io.write(tostring(pcall(system.raise_signal)), "\t")
        system.release_signals()
      end)
      print(debug.gethook() == hook and select(3, debug.gethook()))
    ]]))
  end)

  it("raises no signal where it is held, but where that is asked for", function()
    assert.same({ "a\tb\t3\nfalse\tinterrupted!\nfalse\tx\nfalse\tinterrupted!\n", 143 }, caught([[
      print(system.hold_signals(function(...)
        send("TERM")
        wait(0.3)
        return ..., "b", select("#", ...)
      end, "a", nil, nil))
      print(pcall(spin, 60))
      print(pcall(system.hold_signals, error, "x"))
      print(pcall(system.hold_signals, function()
        system.raise_signal()
        send("TERM")
        wait(0.3)
        system.hold_signals(function() end)
        wait(0.3)
        system.raise_signal()
      end))
    ]]))
  end)

  it("ends by no signal that was raised before it let go of them", function()
    assert.same({ "false\tnil\nfalse\tinterrupted!\n", 0 }, caught([[
      local ok = pcall(spin_after, "TERM", 60)
      system.release_signals()
      system.release_signals()
      print(ok, system.interrupted())
      assert(system.catch_signals())
      print(pcall(spin_after, "TERM", 60))
      system.release_signals()
    ]]))
  end)

  it("leaves a signal ignored that was ignored before", function()
    assert.same({ "true\tnil\n", 0 }, caught([[
      local ok = pcall(spin_after, "TERM", 0.5)
      print(ok, system.interrupted())
    ]], "trap \"\" TERM; "))
  end)

  it("wakes what waits in C, so that the signal is raised", function()
    assert.same({ "false\tinterrupted!\n", 143 }, caught([[
      os.execute("(sleep 0.2; kill -TERM $PPID) &")
      print(pcall(function() while true do io.popen("sleep 1"):close() end end))
    ]]))
  end)

  it("leaves a wait in C alone once the signal was raised, and where HUP is counted", function()
    assert.same({ "false\ttext\nmore\t1\n", 143 }, caught([[
      local ok = pcall(spin_after, "TERM", 60)
      spin(0.5) -- an alarm may still be on its way
      print(ok, io.popen("sleep 1.3; echo text"):read("*l"))
      system.hangups()
      local pipe = io.popen("sleep 0.1; kill -HUP $PPID; sleep 0.1; echo more")
      print(pipe:read("*l"), system.hangups())
    ]]))
  end)

  it("ends by a signal that comes again where Lua cannot raise it", function()
    assert.same({ "", 130 }, caught([[
      os.execute("(sleep 0.2; kill -TERM $PPID; sleep 2; kill -INT $PPID) &")
      pcall(string.find, ("a"):rep(200000), (".-"):rep(30) .. "b")
      print("not reached")
    ]]))
  end)

  -- Threads run where make builds what runs them.
  local describe_threads = failing.library and describe or pending

  describe_threads("in a process with many states", function()
    -- Runs `program` with what is needed to run other programs in threads, each in a state of its own.
    local function with_threads(program)
      return outcome([[
        local module = package.cpath:match("([^;]*/build/[^;/]*)/%?%.so") .. "/threads.so"
        local function threads(count, text)
          return package.loadlib(module, "luaopen_threads")().run(count, text, package.path, package.cpath)
        end
      ]] .. program)
    end

    it("restores the handlers, whichever state had them last", function()
      assert.same({ "nil\n", 143 }, with_threads([[
        print(threads(16, [=[
          local operations = require("operations")
          operations.catch_signals(true)
          for i = 1, 2000 do
            assert(operations.run(function() return i end) == i)
          end
        ]=]))
        io.stdout:flush()
        os.execute("kill -TERM $PPID")
        print("not reached")
      ]]))
    end)

    it("has one handle that catches signals; the other handles report it, and change nothing", function()
      assert.same({ "nil\nfalse\tinterrupted!\t15\n", 143 }, with_threads([[
        assert(system.catch_signals())
        local failed
        local ok, err = pcall(function()
          send("TERM")
          failed = threads(4, [=[
            local system = require("operations.system")
            assert(system.catch_signals() == false)
            system.release_signals()
            system.raise_signal()
            assert(system.hold_signals(function() return system.interrupted() end) == nil)
          ]=])
          spin(60)
        end)
        print(failed)
        print(ok, err, system.interrupted())
      ]]))
    end)

    it("gives them back when the state that had them closes", function()
      assert.same({ "nil\ttrue\n", 0 }, with_threads([[
        print(threads(1, "assert(require([=[operations.system]=]).catch_signals())"), system.catch_signals())
      ]]))
    end)

    it("keeps them when what an earlier call left is collected", function()
      assert.same({ "false\tinterrupted!\n", 143 }, with_threads([[
        assert(system.catch_signals())
        system.release_signals()
        assert(system.catch_signals())
        collectgarbage()
        collectgarbage()
        print(pcall(spin_after, "TERM", 60))
      ]]))
    end)

    it("raises a signal in the thread that catches it, whichever gets it", function()
      assert.same({ "nil\n", 0 }, with_threads([[
        print(threads(2, [=[
          local system = require("operations.system")
          if system.catch_signals() then
            io.popen("kill -TERM $PPID"):close()
            local stop = os.clock() + 60
            local ok, err = pcall(function() repeat until os.clock() > stop end)
            assert(not ok and err == "interrupted!" and system.interrupted() == 15)
            system.release_signals()
          end
        ]=]))
      ]]))
    end)
  end)

  it("returns nothing from the functions that have no result", function()
    assert.same({ "0\t0\t0\t0\t0\t0\n", 0 }, caught([[
      print(select("#", system.catch_signals()), select("#", system.raise_signal()),
        select("#", system.release_signals()), select("#", system.release_signals()),
        select("#", system.survive_broken_pipes()), (select("#", system.hold_signals(function() end))))
    ]]))
  end)

  it("names the argument that is wrong", function()
    assert.error_matches(function() system.make_private_directory("") end, "bad argument #1 to 'make_private")
    assert.error_matches(function() system.write_private("a") end, "bad argument #2 to 'write_private'")
    assert.error_matches(function() system.list({}) end, "bad argument #1 to 'list'")
    assert.error_matches(function() system.kind("a\0b") end, "bad argument #1 to 'kind'.*zero byte")
  end)
end)
