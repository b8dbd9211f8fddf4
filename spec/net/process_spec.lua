local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local lfs = require("lfs")
local process = require("operations.net.process")
local task = require("operations.task")

local function spawn(options)
  return assert(process.spawn(options))
end

local function shell(script, options)
  options = options or {}
  options[1], options[2], options[3] = "sh", "-c", script
  return spawn(options)
end

-- All that is left of a process's stdout.
local function read_all(child)
  local parts = {}
  for chunk in child.read, child do
    parts[#parts + 1] = chunk
  end
  return table.concat(parts)
end

local function output_of(...)
  return read_all(shell(...))
end

-- Its state in the kernel's words: "S", "Z", ...; nil when there is none.
local function state_of(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  local text = file and file:read("*l") -- nil when it was reaped since it was opened
  if file then
    file:close()
  end
  return text and text:match("^%d+ %(.*%) (%S)")
end

-- Waits until a process is gone.
local function expect_gone(pid)
  eventually(function()
    return (state_of(pid) or "Z") == "Z"
  end)
end

local function collect()
  for _ = 1, 3 do
    collectgarbage()
  end
end

-- How many descriptors we have, those of the process that counts them included.
local function descriptors()
  collect()
  return tonumber(output_of("ls /proc/$PPID/fd | wc -l"))
end

describe("process.spawn", function()
  it("runs a program with its arguments as they are, without a shell", function()
    local child = spawn({ "printf", "%s|", "a b", "$HOME", "*", "", "'\"" })
    assert.equal("a b|$HOME|*||'\"|", read_all(child))
  end)

  it("looks for the command in the PATH that the process gets", function()
    local child, err = process.spawn({ "cat", env = { PATH = "/nowhere" } })
    assert.is_nil(child)
    assert.equal("command", err.details.kind)
    assert.same({ false, false }, { err.retryable, err.mayHaveRun })
    assert.equal("in\n", output_of("echo in", { env = { PATH = "/nowhere:/bin:/usr/bin" } }))
  end)

  it("does not look further once it has found a file that the system cannot run", function()
    local directory = os.tmpname()
    os.remove(directory)
    assert(lfs.mkdir(directory))
    local file = assert(io.open(directory .. "/cat", "w"))
    file:write("\0")
    file:close()
    assert(os.execute("chmod +x " .. directory .. "/cat"))
    local child, err = process.spawn({ "cat", env = { PATH = directory .. ":/bin:/usr/bin" } })
    os.execute("rm -r " .. directory)
    assert.is_nil(child)
    assert.matches("Exec format error", err.message)
  end)

  it("names the command that cannot be started, and why", function()
    local child, err = process.spawn({ "no-such-program" })
    assert.is_nil(child)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.matches("no%-such%-program: .*No such file or directory", err.message)
    child, err = process.spawn({ "/etc/passwd" })
    assert.is_nil(child)
    assert.matches("Permission denied", err.message)
  end)

  it("runs in the directory that is asked for, and says when it cannot", function()
    assert.equal("/\n", output_of("pwd", { cwd = "/" }))
    local child, err = process.spawn({ "pwd", cwd = "/no/such/place" })
    assert.is_nil(child)
    assert.equal("cwd", err.details.kind)
    assert.matches("/no/such/place", err.message, 1, true)
  end)

  it("leaves nothing behind when it fails", function()
    process.spawn({ "no-such-program" })
    local before = descriptors()
    for _ = 1, 20 do
      process.spawn({ "no-such-program" })
      process.spawn({ "cat", cwd = "/no/such/place" })
    end
    assert.is_true(descriptors() - before < 8) -- a stack may still keep one process
  end)

  it("hands down the variables of the list, and those that are given", function()
    local text = output_of("env", { env = { ADDED = "1=2", COUNT = 3 } })
    assert.matches("ADDED=1=2\n", text)
    assert.matches("COUNT=3\n", text)
    assert.matches("PATH=", text)
    assert.is_nil(text:find("LUA_PATH", 1, true))
    assert.is_nil(text:find("LUA_CPATH", 1, true))
  end)

  it("inherits every variable that is allowed, the first one as well", function()
    local file = assert(io.open("/proc/self/environ"))
    local before = file:read("*a")
    file:close()
    local names, expected, got = {}, {}, {}
    for entry in before:gmatch("[^%z]+") do
      names[#names + 1], expected[#expected + 1] = entry:match("^[^=]+"), entry
    end
    for entry in read_all(spawn({ "/usr/bin/env", "-0", env_allow = names })):gmatch("[^%z]+") do
      got[#got + 1] = entry
    end
    table.sort(expected)
    table.sort(got)
    assert.same(expected, got)
  end)

  it("lets the list be chosen, with stars", function()
    local text = output_of("env", { env_allow = { "LUA_*" }, env = { PATH = os.getenv("PATH") } })
    assert.matches("LUA_PATH=", text)
    assert.is_nil(text:find("HOME=", 1, true))
    local none = read_all(spawn({ "/usr/bin/env", env_allow = {} }))
    assert.equal("", none)
    local home = read_all(spawn({ "/usr/bin/env", env_allow = { "HOME", "no-such-*" }, env = { LAST = "1" } }))
    assert.equal("HOME=" .. os.getenv("HOME") .. "\nLAST=1\n", home)
  end)

  it("hands down no descriptor but the standard ones", function()
    local file = io.open("/dev/null")
    -- `ls` opens one of its own to look.
    local text = output_of("exec ls /proc/self/fd")
    file:close()
    assert.equal("0\n1\n2\n3\n", text)
  end)

  it("runs in a program that has no standard descriptors itself", function()
    for _, closed in ipairs({ "<&-", ">&-", "<&- >&-", "<&- >&- 2>&-" }) do
      local result = command.run(([[
        out=$(mktemp); exec 3>$out
        lua -e 'local child = require("operations.net.process").spawn({ "sh", "-c", "cat; echo error >&2; exit 3" })
          child:write("one ") child:write("two\n") child:close_stdin()
          local text, how = child:read_line(), child:wait()
          local file = io.open("/proc/self/fd/3", "w")
          file:write(text, " ", how.code, " ", child:stderr()) file:close()' %s
        cat $out; rm $out]]):format(closed))
      assert.equal("one two 3 error", result.out, closed .. result.err)
    end
  end)

  it("hands down no blocked or ignored signal", function()
    local text = output_of("cat /proc/self/status")
    assert.equal("0000000000000000", text:match("SigBlk:%s*(%x+)"))
    assert.equal("0000000000000000", text:match("SigIgn:%s*(%x+)"))
  end)

  it("makes the process the leader of a group of its own", function()
    local child = spawn({ "cat" })
    local file = io.open("/proc/" .. child.pid .. "/stat")
    assert.equal(child.pid, tonumber(file:read("*l"):match("%) %S %d+ (%d+)")))
    file:close()
    child:stop({ close = 1000 })
  end)

  it("says what is wrong with an option, and where", function()
    for text, options in pairs({
      ["table expected, got nil"] = false,
      ["[1]: string expected, got nil"] = {},
      ["[1]: the command is empty"] = { "" },
      ["[2]: string expected, got nil"] = { "cat", nil, "file" },
      ["[2]: contains a NUL"] = { "cat", "a\0b" },
      ["[2]: string expected, got number"] = { "cat", 1 },
      ["unknown option 'dir'"] = { "cat", dir = "/" },
      ["cwd: string expected, got boolean"] = { "cat", cwd = true },
      ["env: 'A=B' is not a valid name"] = { "cat", env = { ["A=B"] = "1" } },
      ["env.A: string expected, got table"] = { "cat", env = { A = {} } },
      ["env_allow[1]: string expected, got number"] = { "cat", env_allow = { 1 } },
      ["max_line: 0 is too small"] = { "cat", max_line = 0 }, ["window: "] = { "cat", window = 0 / 0 },
      ["stderr_lines: -1 is too small"] = { "cat", stderr_lines = -1 },
      ["max_line: number expected, got string"] = { "cat", max_line = "1" },
      ["cwd: contains a NUL"] = { "cat", cwd = "/\0" },
      ["env: '' is not a valid name"] = { "cat", env = { [""] = "1" } },
      ["env: '1' is not a valid name"] = { "cat", env = { "1" } },
      ["env.A: contains a NUL"] = { "cat", env = { A = "\0" } },
    }) do
      local ok, raised = pcall(process.spawn, options or nil)
      assert.is_false(ok)
      assert.is_truthy(raised:find(text, 1, true), raised)
      assert.matches("bad argument #1 to 'spawn'", raised)
    end
  end)

  it("starts nothing where the program does not allow it", function()
    process.allow(false)
    local child, err = process.spawn({ "cat" })
    process.allow(true)
    assert.is_nil(child)
    assert.same({ "ACCESS_DENIED", false, false }, { err.code, err.retryable, err.mayHaveRun })
    assert.matches("process.allow", err.message, 1, true)
    assert.has_error(process.allow)
  end)
end)

describe("a process", function()
  it("gives its stdout by lines, whatever ends them, the last one too", function()
    local child = shell([[printf 'one\ntwo\r\n\nfour']])
    assert.same({ "one", "two", "", "four" }, {
      child:read_line(), child:read_line(), child:read_line(), child:read_line(),
    })
    assert.is_nil(child:read_line())
    assert.is_nil(child:read())
  end)

  it("gives its stdout to loops, which raise where it is cut off", function()
    local lines, chunks = {}, {}
    for line in shell("printf 'a\\nb\\n'"):lines() do
      lines[#lines + 1] = line
    end
    for chunk in shell("printf abc"):chunks() do
      chunks[#chunks + 1] = chunk
    end
    assert.same({ { "a", "b" }, "abc" }, { lines, table.concat(chunks) })
    local cut = {}
    local ok, err = pcall(task.run, function()
      local child = shell("echo one; exec sleep 30")
      task.deadline(require("operations.core").now() + 100)
      for line in child:lines() do
        cut[#cut + 1] = line
      end
    end)
    assert.same({ false, "TIMEOUT", { "one" } }, { ok, type(err) == "table" and err.code, cut })
  end)

  it("gives a line as soon as it is whole", function()
    local child = shell("echo first; cat")
    assert.equal("first", child:read_line())
    child:write("a li")
    child:write("ne\nmore\n")
    assert.equal("a line", child:read_line())
    child:close_stdin()
    assert.equal("more\n", read_all(child))
  end)

  it("gives lines longer than the window", function()
    local child = shell("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end", { window = 1000 })
    assert.equal(300000, #child:read_line())
    assert.equal("end", child:read_line())
  end)

  it("gives a long line that came in many pieces, looking at each byte once", function()
    local child = shell("head -c 8000000 /dev/zero | tr '\\0' x; echo")
    assert.equal(8000000, #child:read_line())
  end)

  it("refuses an endless line, and does not take it in", function()
    local child = shell("yes | tr -d '\\n'", { max_line = 100000 })
    collect()
    local before = collectgarbage("count")
    for _ = 1, 2 do
      local line, err = child:read_line()
      assert.is_nil(line)
      assert.equal("size", err.details.kind)
    end
    assert.is_true(collectgarbage("count") - before < 1000)
    assert.equal(15, child:stop({ close = 0 }).signal)
  end)

  it("refuses a line of one byte too many, however it comes", function()
    assert.equal("12345", shell("echo 12345", { max_line = 5 }):read_line())
    assert.equal("size", select(2, shell("echo 123456", { max_line = 5 }):read_line()).details.kind)
    assert.equal("size", select(2, shell("printf 123456", { max_line = 5 }):read_line()).details.kind)
    for _, window in ipairs({ 1, 4, 5, 6 }) do
      local options = { max_line = 5, window = window }
      local child = shell("printf 12; sleep 0.1; printf 345; sleep 0.1; echo; echo next", options)
      assert.equal("12345", child:read_line())
      assert.equal("next", child:read_line())
      assert.equal("12345", shell("printf 12345; sleep 0.1", options):read_line())
      child = shell("printf 12345; sleep 0.1; echo 6", options)
      assert.equal("size", select(2, child:read_line()).details.kind)
    end
  end)

  it("is held back while its output is not read", function()
    local child = shell("yes 2>/dev/null & sleep 0.1; kill -0 $! && kill $!; echo ok >&2", { window = 1000 })
    assert.equal(0, child:wait().code)
    assert.equal("ok", child:stderr())
    assert.is_true(#read_all(child) < 300000)
  end)

  it("takes and gives much more than pipes and queues hold, both at once, every byte in its place", function()
    local function line_of(i)
      return ("%09d"):format(i):rep(i % 222)
    end
    local count = 0
    task.run(function()
      local child = spawn({ "cat", queue = 10000, window = 10000 })
      task.spawn(function()
        for i = 1, 3000 do
          assert(child:write(line_of(i) .. "\n"))
        end
        child:close_stdin()
      end)
      for line in child.read_line, child do
        count = count + 1
        assert.is_true(line == line_of(count))
      end
    end)
    assert.equal(3000, count)
  end)

  it("queues a message whole or not at all, so that writers do not mix", function()
    local seen = {}
    task.run(function()
      local child = spawn({ "cat", queue = 100 })
      task.spawn(function()
        task.all({
          function()
            for _ = 1, 50 do child:write(("a"):rep(5000) .. "\n") end
          end,
          function()
            for _ = 1, 50 do child:write(("b"):rep(5000) .. "\n") end
          end,
        })
        child:close_stdin()
      end)
      for line in child.read_line, child do
        assert.is_true(line == ("a"):rep(5000) or line == ("b"):rep(5000))
        seen[#seen + 1] = line
      end
    end)
    assert.equal(100, #seen)
  end)

  it("that reads nothing makes writers wait, and lets them be cancelled", function()
    task.run(function()
      local child = spawn({ "sleep", "1000", queue = 1000 })
      local written = 0
      local writer = task.spawn(function()
        while child:write(("x"):rep(1000)) do
          written = written + 1
        end
        local ok, err
        repeat -- what there may just be room for again
          ok, err = child:write(("x"):rep(1000))
        until not ok
        return ok, err
      end)
      eventually(function()
        return written > 60
      end)
      writer:cancel()
      assert.equal("ABORTED", select(2, writer:wait()).code)
      assert.is_true(written > 60 and written < 200)
      assert.equal(15, child:stop({ close = 0 }).signal)
    end)
  end)

  it("that closes its stdin costs an error, not our life", function()
    local child = shell("exec <&-; echo closed; sleep 1000")
    assert.equal("closed", child:read_line())
    local ok, err = child:write("x")
    assert.is_nil(ok)
    assert.equal("closed", err.details.kind)
    child:stop({ close = 0 })
  end)

  it("that closes its stdin calls a function with the bytes that it will not read", function()
    task.run(function()
      local child, told = shell("exec <&-; echo closed; sleep 1000"), nil
      assert.equal("closed", child:read_line())
      task.await(function(wake)
        child:on_unread(function()
          told = true
          wake()
        end)
        child:write("x")
      end)
      assert.is_true(told)
      assert.equal("closed", select(2, child:write("y")).details.kind)
      child:stop({ close = 0 })
    end)
  end)

  it("that ends resumes the tasks that wait to write to it", function()
    local child = shell("sleep 0.05", { queue = 1000 })
    local ok, err
    repeat
      ok, err = child:write(("x"):rep(1000))
    until not ok
    assert.equal("closed", err.details.kind)
  end)

  it("hands its stdout to a function as it comes, and its end once", function()
    local child, got = shell("printf one; read x; printf two; exit 3"), {}
    child:each_chunk(function(bytes)
      got[#got + 1] = bytes or "end"
      if #got == 1 then
        assert(child:offer("\n"))
      end
    end)
    assert.same({ code = 3 }, child:wait())
    while got[#got] ~= "end" do
      task.sleep(0)
    end
    assert.equal("onetwoend", table.concat(got))
    local ended
    child:on_exit(function(how)
      ended = how
    end)
    assert.same({ code = 3 }, ended)
  end)

  it("tells a function of its end", function()
    local child, ended = shell("exit 4"), nil
    child:on_exit(function(how)
      ended = how
    end)
    child:wait()
    assert.same({ code = 4 }, ended)
  end)

  it("is offered bytes without waiting, and says when it takes none", function()
    local child = spawn({ "sleep", "1000", queue = 10 })
    assert.is_true(child:offer(("x"):rep(1000000)))
    assert.same({ false, "full" }, { child:offer("y") })
    child:close_stdin()
    assert.same({ false, "closed" }, { child:offer("y") })
    child:stop({ close = 0 })
  end)

  it("tells how it ended: code, signal", function()
    assert.same({ code = 0 }, shell("exit 0"):wait())
    assert.same({ code = 7 }, shell("exit 7"):wait())
    assert.same({ signal = 9 }, shell("kill -9 $$"):wait())
  end)

  it("tells every waiter, at once and later", function()
    local child = spawn({ "cat" })
    local ends = task.run(function()
      local a, b = task.spawn(child.wait, child), task.spawn(child.wait, child)
      task.spawn(child.close_stdin, child)
      return { a:wait(), b:wait() }
    end)
    assert.same({ { code = 0 }, { code = 0 } }, ends)
    assert.same({ code = 0 }, child:wait())
  end)

  it("tells its end without a pidfd too", function()
    assert.same({ code = 3 }, shell("exit 3", { no_pidfd = true }):wait())
    assert.same({ code = 4 }, shell("exec >&- 2>&-; sleep 0.05; exit 4", { no_pidfd = true }):wait())
    local child = shell("sleep 1000 & echo $!; exit 5", { no_pidfd = true })
    local pid = child:read_line()
    assert.same({ code = 5 }, child:wait())
    os.execute("kill " .. pid)
    child = spawn({ "sleep", "1000", no_pidfd = true })
    assert.equal(15, child:stop({ close = 0 }).signal)
  end)

  it("has ended when it has, though another process holds its stdout", function()
    local child = shell("sleep 1000 & echo $!")
    local pid = child:read_line()
    assert.same({ code = 0 }, child:wait())
    os.execute("kill " .. pid)
    assert.is_nil(child:read())
  end)

  it("keeps the last lines of its stderr, the unfinished one too, and reports each", function()
    local lines = {}
    local child = shell("for i in 1 2 3 4; do echo line $i >&2; done; printf rest >&2", {
      stderr_lines = 2,
      on_stderr = function(line)
        lines[#lines + 1] = line
      end,
    })
    child:wait()
    assert.equal("line 3\nline 4\nrest", child:stderr())
    assert.same({ "line 1", "line 2", "line 3", "line 4" }, lines)
  end)

  it("has as many lines of its stderr as are asked for, none too", function()
    for limit, expected in pairs({ [0] = "rest", [1] = "c\nrest", [2] = "b\nc\nrest", [3] = "a\nb\nc\nrest",
      [4] = "a\nb\nc\nrest" }) do
      local child = shell("printf 'a\\nb\\nc\\nrest' >&2", { stderr_lines = limit })
      child:wait()
      assert.equal(expected, child:stderr())
    end
    local silent = shell("printf 'a\\n\\n' >&2")
    silent:wait()
    assert.equal("a\n", silent:stderr())
  end)

  it("has long lines of its stderr cut into pieces of 8 KiB", function()
    for length, expected in pairs({ [8192] = { 8192 }, [8193] = { 8192, 1 }, [16384] = { 8192, 8192 },
      [20000] = { 8192, 8192, 3616 } }) do
      local sizes = {}
      local child = shell(("head -c %d /dev/zero | tr '\\0' e >&2; echo >&2; printf end >&2"):format(length), {
        on_stderr = function(line)
          sizes[#sizes + 1] = #line
        end,
      })
      child:wait()
      assert.same(expected, sizes)
      assert.matches("end$", child:stderr())
    end
  end)

  it("never waits for us to take its stderr, however much that is", function()
    local child = shell("head -c 2000000 /dev/zero | tr '\\0' e >&2; echo done", { stderr_lines = 3 })
    assert.equal("done", child:read_line())
    child:wait()
    assert.is_true(#child:stderr() <= 4 * 8192 + 4)
  end)

  it("continues when the function for its stderr fails, which is logged", function()
    local logged
    local on_error = task.on_error
    task.on_error = function(raised)
      logged = raised
    end
    local child = shell("echo a >&2", {
      on_stderr = function()
        error("boom")
      end,
    })
    child:wait()
    task.on_error = on_error
    assert.matches("boom.*traceback", logged)
  end)

  it("refuses a second reader", function()
    task.run(function()
      local child = spawn({ "cat" })
      local reader = task.spawn(child.read, child)
      task.sleep(0)
      assert.error_matches(function()
        child:read_line()
      end, "another task is reading")
      child:close_stdin()
      reader:wait()
    end)
  end)

  it("survives a deadline that ends a wait, which raises", function()
    local child = spawn({ "cat" })
    task.run(function()
      task.deadline(require("operations.core").now() + 20)
      for _, method in ipairs({ "read", "read_line", "wait" }) do
        local ok, raised = pcall(child[method], child)
        assert.same({ false, "TIMEOUT" }, { ok, raised.code })
      end
    end)
    child:write("still here\n")
    assert.equal("still here", child:read_line())
    child:close_stdin()
    assert.same({ code = 0 }, child:wait())
  end)
end)

describe("process:stop", function()
  it("closes stdin, which is enough for most", function()
    assert.same({ code = 0 }, spawn({ "cat" }):stop())
  end)

  it("sends SIGTERM when that is not enough", function()
    assert.same({ signal = 15 }, spawn({ "sleep", "1000" }):stop({ close = 10 }))
  end)

  it("sends SIGKILL when that is not enough either", function()
    local child = shell("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    assert.equal("ready", child:read_line())
    assert.same({ signal = 9 }, child:stop({ close = 10, term = 10 }))
  end)

  it("takes the rest of the group with it", function()
    local child = shell("sleep 1000 & echo $!; cat")
    local pid = child:read_line()
    assert.same({ code = 0 }, child:stop())
    expect_gone(pid)
  end)

  it("has nothing left to take where the group goes with the process anyway", function()
    local child = spawn({ "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!; exit 3", whole_group = true })
    local pid = child:read_line()
    assert.same({ code = 3 }, child:wait())
    expect_gone(pid)
  end)

  it("works in a task that was cancelled", function()
    local pid, ended
    task.run(function()
      local worker = task.spawn(function()
        local child = spawn({ "sleep", "1000", shared = true })
        pid = child.pid
        pcall(child.wait, child)
        ended = child:stop({ close = 0 })
      end)
      task.sleep(0.02)
      worker:cancel()
    end)
    assert.same({ signal = 15 }, ended)
    assert.is_nil(state_of(pid))
  end)

  it("refuses anything but a time", function()
    for text, options in pairs({
      ["'close' to 'stop' (number expected, got string)"] = { close = "soon" },
      ["'term' to 'stop' (number of ms expected, got NaN)"] = { term = 0 / 0 },
      ["'after' to 'stop' (unknown)"] = { after = 1 },
    }) do
      local child = spawn({ "cat" })
      local ok, raised = pcall(child.stop, child, options)
      assert.is_false(ok)
      assert.is_truthy(raised:find(text, 1, true), raised)
      assert(child:write("still there\n"))
      assert.equal("still there", child:read_line())
    end
  end)

  it("may be called twice, and after the end", function()
    local child = spawn({ "cat" })
    child:stop()
    assert.same({ code = 0 }, child:stop())
    local _, err = child:write("x")
    assert.equal("closed", err.details.kind)
  end)

  it("lets other tasks run meanwhile", function()
    task.run(function()
      local child = spawn({ "sleep", "1000" })
      task.spawn(function()
        task.sleep(0.001)
        os.execute("kill -KILL " .. child.pid)
      end)
      assert.same({ signal = 9 }, child:stop({ close = 60000 }))
    end)
  end)
end)

describe("the end of a process", function()
  it("comes with the cancellation of the task that started it, wherever that waits", function()
    local pid
    task.run(function()
      local worker = task.spawn(function()
        local child = spawn({ "sleep", "1000" })
        pid = child.pid
        task.sleep(1000)
        return child
      end)
      task.sleep(0.02)
      worker:cancel()
    end)
    expect_gone(pid)
  end)

  it("comes by its stdin where the process ignores SIGTERM", function()
    local child = shell("trap '' TERM; echo ready; cat; exit 7")
    assert.equal("ready", child:read_line())
    child:abort()
    assert.same({ code = 7 }, child:wait())
  end)

  -- Calls an operation whose handler starts programs; returns its error and their process ids.
  local function call(handler, context)
    local registry, pids = require("operations.registry").new({ log = function() end }), {}
    local function start(options)
      options[1], options[2] = "sleep", "1000"
      local child = spawn(options)
      pids[#pids + 1] = child.pid
      return child
    end
    registry:register({ namespace = "spec", name = "run", handler = function(_, own)
      return handler(start, own, registry)
    end })
    local envelope, err = registry:execute("spec.run", {}, context)
    return pids, err and err.code or envelope.data
  end

  it("comes with the end of the call that started it, though its handler keeps it", function()
    local kept = {}
    local pids, code = call(function(start)
      kept[1] = start({})
      kept[1]:wait()
    end, { timeout = 50 })
    assert.equal("TIMEOUT", code)
    expect_gone(pids[1])
    pids, code = call(function(start)
      kept[2] = start({})
      return "done"
    end)
    assert.equal("done", code)
    expect_gone(pids[1])
  end)

  it("comes with the call in whose tasks and coroutines it was started, not with another call", function()
    local kept = {}
    local pids = call(function(start, own, registry)
      kept[1] = start({})
      task.all({ function()
        kept[2] = start({})
        return true
      end })
      coroutine.wrap(function()
        kept[3] = start({})
      end)()
      registry:register({ namespace = "spec", name = "inner", handler = function()
        kept[4] = start({})
        return true
      end })
      assert(own.env.spec.inner({}))
      expect_gone(kept[4].pid)
      for i = 1, 3 do
        assert.is_truthy(state_of(kept[i].pid))
      end
      return true
    end)
    for _, pid in ipairs(pids) do
      expect_gone(pid)
    end
  end)

  it("comes with the end of the subscription that started it", function()
    local registry, child = require("operations.registry").new(), nil
    registry:register({ namespace = "spec", name = "lines", type = "subscription", handler = function()
      child = shell("echo one; exec sleep 1000")
      for line in child:lines() do
        coroutine.yield(line)
      end
    end })
    local events = assert(registry:subscribe("spec.lines", {}))
    assert.equal("one", events:next().data)
    assert.is_truthy(state_of(child.pid))
    events:close()
    expect_gone(child.pid)
  end)

  it("does not come with a call when the process is shared, or started outside", function()
    local kept = { spawn({ "cat" }) }
    call(function()
      kept[2] = spawn({ "cat", shared = true })
      return true
    end)
    for _, child in ipairs(kept) do
      child:write("alive\n")
      assert.equal("alive", child:read_line())
      child:stop()
    end
  end)

  it("does not come with it when the process is shared", function()
    local child
    task.run(function()
      local worker = task.spawn(function()
        child = spawn({ "cat", shared = true })
        task.sleep(1000)
      end)
      task.sleep(0.02)
      worker:cancel()
    end)
    child:write("alive\n")
    assert.equal("alive", child:read_line())
    child:stop()
  end)

  it("comes when the handle was dropped, and is reaped without waiting", function()
    local pid = shell("sleep 1000 & wait").pid
    assert.is_truthy(state_of(pid))
    collect()
    for i = 1, 500 do
      if not state_of(pid) then
        break
      elseif i > 400 then
        shell("exit"):wait() -- without pidfds, it is the next start that reaps
      end
      task.sleep(0.01)
    end
    assert.is_nil(state_of(pid))
  end)

  it("is unknown once it was dropped, also to a finalizer that asks", function()
    for _, method in ipairs({ "wait", "stop" }) do
      local child = spawn({ "sleep", "1000" })
      child._handle:cancel() -- as if collected
      assert.same({ unknown = true }, child[method](child))
      expect_gone(child.pid)
    end
  end)

  -- Plain Lua cannot fork.
  local ffi = jit and require("ffi") -- luacheck: ignore 113
  if ffi then
    it("does not come when a forked copy of the program forgets it", function()
      ffi.cdef("int fork(void); void _exit(int status); int waitpid(int pid, int *status, int options);")
      local child = spawn({ "cat" })
      local function in_copy(fn)
        local copy, status = ffi.C.fork(), ffi.new("int[1]")
        if copy == 0 then
          ffi.C._exit(pcall(fn) and 0 or 1)
        end
        ffi.C.waitpid(copy, status, 0)
        return status[0]
      end
      assert.equal(0, in_copy(function()
        child = nil
        collect()
      end))
      assert.equal(0, in_copy(function()
        for _ = 1, 2 do
          assert(not child:write("x\n") and not child:read() and not child:read_line())
          assert(child:stop().unknown and child:wait().unknown)
          task.sleep(0) -- needs a reactor of its own: the other is garbage
          collect()
        end
      end))
      assert.is_true(child:write("alive\n"))
      assert.equal("alive", child:read_line())
      assert.same({ code = 0 }, child:stop())
    end)
  end

  it("keeps no descriptor of a process that has ended and was read", function()
    local kept = {}
    local function keep(n)
      for i = 1, n do
        kept[i] = spawn({ "echo" })
        read_all(kept[i])
        kept[i]:wait()
      end
    end
    keep(1)
    local before = descriptors()
    keep(30)
    assert.is_true(descriptors() - before < 8) -- a stack may still keep one process
    assert.equal("closed", select(2, kept[30]:write("x")).details.kind)
  end)

  it("leaves no descriptor, process or memory", function()
    local function round()
      for _ = 1, 20 do
        local child = shell("cat; echo e >&2")
        child:write("x\n")
        child:close_stdin()
        read_all(child)
        child:wait()
        shell("sleep 1000")
      end
    end
    -- In a task, whose stack keeps no child alive that nobody means to keep.
    local function measure()
      task.run(round)
      collect()
      task.sleep(0.05)
      return descriptors(), collectgarbage("count")
    end
    measure()
    local fds, memory = measure()
    local fds_after, memory_after = measure()
    assert.is_true(fds_after - fds < 8) -- a stack may still keep one process
    assert.is_true(memory_after - memory < 200)
  end)
end)

describe("the reactor's processes", function()
  local module = require("operations.reactor")

  it("are at work while another process may take what they were sent", function()
    local reactor = module.new()
    local handle = reactor:process({
      files = { "/bin/sh" }, arguments = { "sh", "-c", "exec 3<&0; sleep 1000 <&3 >/dev/null 2>&1 & echo $!" },
      environment = {}, window = 1000, max_line = 1000, queue = 1000,
    })
    repeat
      reactor:step(100)
    until reactor:inflight() == 0
    repeat
      local sent = handle:send(("x"):rep(1000))
    until sent == "full"
    assert.equal(1, reactor:inflight())
    os.execute("kill " .. handle:line())
    repeat
      reactor:step(100)
    until reactor:inflight() == 0
    assert.equal("closed", handle:send("x"))
    reactor:close()
  end)

  it("are killed when it is closed", function()
    local reactor = module.new()
    local handle = reactor:process({
      files = { "/bin/sleep" }, arguments = { "sleep", "1000" }, environment = {}, window = 1, max_line = 1, queue = 1,
    })
    local pid = handle:pid()
    reactor:close()
    assert.is_nil(state_of(pid)) -- and reaped
    assert.equal("over", select(2, handle:chunk()))
    assert.equal("closed", handle:send("x"))
    handle:finish(9)
    handle:close_input()
  end)

  it("are reaped when they were dropped, at the next start where the system does not report their end", function()
    local reactor = module.new()
    local function start(arguments)
      return reactor:process({ files = { "/bin/" .. arguments[1] }, arguments = arguments, environment = {},
        no_pidfd = true, window = 1, max_line = 1, queue = 1 })
    end
    local pids = {}
    for i = 1, 3 do
      local handle = start({ "sleep", "1000" })
      pids[i] = handle:pid()
      handle:cancel()
    end
    eventually(function()
      start({ "true" }):cancel()
      return not (state_of(pids[1]) or state_of(pids[2]) or state_of(pids[3]))
    end)
    local ended = start({ "sleep", "1000" }) -- what ends by itself may be reaped when it has just started
    os.execute("kill " .. ended:pid())
    eventually(function()
      return state_of(ended:pid()) == "Z"
    end)
    ended:cancel()
    assert.is_nil(state_of(ended:pid()))
    local pid = start({ "sleep", "1000" }):pid()
    reactor:close()
    assert.is_nil(state_of(pid))
  end)

  it("are reaped in the turn in which their end is reported", function()
    for _ = 1, 5 do
      local reactor = module.new()
      local handle = reactor:process({ files = { "/bin/sleep" }, arguments = { "sleep", "1000" }, environment = {},
        window = 1, max_line = 1, queue = 1 })
      local pid = handle:pid()
      handle:cancel()
      eventually(function()
        reactor:step(0)
        return not state_of(pid)
      end)
      reactor:close()
    end
  end)

  it("say that there is room only when there is, one byte below the most that is queued", function()
    local reactor = module.new()
    local handle = reactor:process({
      files = { "/bin/sleep" }, arguments = { "sleep", "1000" }, environment = {}, window = 1, max_line = 1, queue = 10,
    })
    assert.equal("sent", handle:send(("x"):rep(65536))) -- what a pipe holds
    reactor:hold()
    assert.equal("sent", handle:send("123456789"))
    assert.equal("sent", handle:send("0"))
    assert.equal("full", handle:send("1"))
    reactor:release()
    assert.is_false(reactor:pending())
    reactor:close()
  end)

  it("are sent small pieces of one turn in one write", function()
    local reactor = module.new()
    local handle = reactor:process({
      files = { "/bin/cat" }, arguments = { "cat" }, environment = {}, window = 100, max_line = 100, queue = 6,
    })
    reactor:hold()
    assert.equal("sent", handle:send("one, "))
    assert.equal("sent", handle:send("two"))
    assert.equal("full", handle:send("three"))
    reactor:release()
    local pieces = {}
    repeat
      reactor:step(100)
      pieces[#pieces + 1] = handle:chunk()
    until table.concat(pieces) == "one, two"
    assert.equal("sent", handle:send("three"))
    reactor:close()
  end)

  it("take one byte after the other, and say once that there is room again", function()
    local reactor = module.new()
    local handle = reactor:process({
      files = { "/bin/cat" }, arguments = { "cat" }, environment = {}, window = 1, max_line = 1, queue = 6,
    })
    local drained = 0
    local function echo(bytes)
      local pieces = {}
      repeat
        reactor:step(-1)
        for _, kind, lost in function() return reactor:next() end do
          drained = drained + (kind == "drain" and 1 or 0)
          assert.is_falsy(kind == "drain" and lost)
        end
        pieces[#pieces + 1] = handle:chunk()
      until table.concat(pieces) == bytes
    end
    for _, byte in ipairs({ "a", "\0", "\n" }) do
      assert.equal("sent", handle:send(byte))
      echo(byte)
      assert.equal("sent", handle:send("", byte))
      echo(byte)
    end
    assert.equal(0, drained)
    reactor:hold()
    assert.equal("sent", handle:send("1234", "5"))
    assert.equal("sent", handle:send("6"))
    assert.equal("full", handle:send("7"))
    reactor:release()
    echo("123456")
    assert.equal(1, drained)
    assert.equal("sent", handle:send("8"))
    echo("8")
    assert.equal(1, drained)
    reactor:close()
  end)

  it("are held back while their stderr is not taken, and none of it is lost", function()
    local reactor = module.new()
    reactor:process({ files = { "/bin/sh" }, arguments = { "sh", "-c", "head -c 1000000 /dev/zero >&2" },
      environment = { PATH = "/usr/bin:/bin" }, window = 100, max_line = 100, queue = 6 })
    local told, count, most = 0, 0, 0
    while told < 1000000 do
      for _ = 1, 50 do
        reactor:step(0)
        reactor:step(1)
      end
      for _, kind, bytes in function() return reactor:next() end do
        if kind == "log" then
          told, count, most = told + #bytes, count + 1, math.max(most, #bytes)
        end
      end
    end
    assert.equal(1000000, told)
    assert.is_true(count >= 10 and most < 2 * 65536, most)
    reactor:close()
  end)

  it("have no more than 64 KiB of their stderr read before it is taken", function()
    local reactor = module.new()
    local handle = reactor:process({ files = { "/bin/sh" }, arguments = { "sh", "-c", "head -c 65536 /dev/zero >&2" },
      environment = { PATH = "/usr/bin:/bin" }, window = 1, max_line = 1, queue = 1 })
    eventually(function()
      return state_of(handle:pid()) == "Z"
    end)
    reactor:step(-1)
    reactor:step(0)
    assert.equal(1, reactor:inflight()) -- the end of stderr was not read
    local told = {}
    repeat
      local owner, kind, bytes = reactor:next()
      told[#told + 1] = owner and (kind .. " " .. (kind == "log" and #bytes or bytes or ""))
    until not owner
    table.sort(told)
    assert.same({ "data ", "exit code", "log 65536" }, told)
    reactor:step(-1)
    assert.same({ handle, "log", "" }, { reactor:next() })
    assert.equal(0, reactor:inflight())
    reactor:close()
  end)

  it("need no memory for their output once they have ended, and for input that they did not read", function()
    local result = command.run([[lua -e '
      local usage = require("spec.support.usage")
      local reactor, kept = require("operations.reactor").new(), {}
      local function run()
        local handle = reactor:process({ files = { "/bin/sh" }, environment = { PATH = "/usr/bin:/bin" },
          arguments = { "sh", "-c", "head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2; sleep 0.01" },
          window = 1e6, max_line = 1, queue = 1e6 })
        assert(handle:send(("x"):rep(120000)) == "sent")
        repeat
          reactor:step(-1)
          repeat
            local told = reactor:next()
          until not told
          handle:chunk()
        until reactor:inflight() == 0
        kept[#kept + 1] = handle
      end
      run()
      local growth = usage.growth(function()
        for _ = 1, 50 do
          run()
        end
      end)
      io.write(#kept > 0 and growth < 2000 and "little" or growth)
    ']])
    assert.same({ "little", "" }, { result.out, result.err })
  end)

  it("say once that they read no more", function()
    local reactor = module.new()
    local handle = reactor:process({
      files = { "/bin/sh" }, arguments = { "sh", "-c", "exec <&-; echo closed; exec sleep 1000" }, environment = {},
      window = 100, max_line = 100, queue = 1e6,
    })
    repeat
      reactor:step(-1)
    until handle:line()
    while reactor:next() do end -- luacheck: ignore 542
    reactor:hold()
    assert.equal("sent", handle:send("small"))
    assert.equal("closed", handle:send(("x"):rep(10000)))
    assert.same({ handle, "drain", true }, { reactor:next() })
    reactor:release()
    assert.is_nil((reactor:next()))
    reactor:close()
  end)

  it("refuse the handle of something else", function()
    local reactor = module.new()
    local timer = reactor:timer(1000)
    assert.error_matches(function()
      timer:chunk()
    end, "not a process")
    reactor:close()
  end)
end)
