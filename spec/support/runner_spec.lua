local lfs = require("lfs")
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local plan = require("spec.support.runner.plan")
local running = require("spec.support.running")
local sources = require("spec.support.sources")

local directory

local function write(name, text)
  local file = assert(io.open(directory .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

-- The runner as the Makefile calls it, without what the run of these specs was asked for.
local function runner(before, paths)
  local lua = command.interpreter()
  return ("env -u FAILED -u SEED -u JOBS -u HANG_SECONDS %s spec/support/runner/run %s %s/state "
    .. "'%s spec/support/runner/busted.lua --no-auto-insulate' %s"):format(before, lua, directory, lua,
    paths or directory .. "/specs")
end

local function run(before, paths)
  return command.run(runner(before or "", paths))
end

-- More files than one process runs; each tells in `order` that it runs.
local function write_passing(count)
  for i = 1, count do
    write(("specs/passing%d_spec.lua"):format(i), ([[
      local file = assert(io.open(%q, "a"))
      file:write("%d ")
      file:close()
      it("passes", function() end)]]):format(directory .. "/order", i))
  end
end

local function counts(result)
  local passed, failed = result.out:match("\n(%d+) passed, (%d+) failed\n$")
  return tonumber(passed), tonumber(failed)
end

describe("the runner of the specs", function()
  before_each(function()
    directory = os.tmpname()
    os.remove(directory)
    lfs.mkdir(directory)
    lfs.mkdir(directory .. "/specs")
  end)

  after_each(function()
    os.execute("rm -rf " .. directory)
  end)

  it("counts what passed and failed, on the last line", function()
    write_passing(6)
    write("specs/failing_spec.lua", 'it("adds", function() assert.equal(3, 1 + 1) end)\nit("goes", function() end)')
    local result = run()
    assert.same({ 7, 1 }, { counts(result) })
    assert.equal(1, result.code)
    local path = directory .. "/specs/failing_spec.lua"
    assert.matches("Failure -> " .. path .. " @ 1\nadds\n" .. path .. ":1: Expected objects", result.out, 1, true)
    assert.matches("alone: make test TESTS=" .. path, result.out, 1, true)
  end)

  it("shows each spec of a few files as it ends", function()
    write("specs/x_spec.lua", 'it("a", function() end)\nit("b", function() error("no") end)\npending("c")')
    local result = run()
    assert.matches("^%+%*%.\n\nError %-> ", result.out)
    assert.same({ 1, 1 }, { counts(result) })
  end)

  it("passes busted's options on", function()
    write("specs/x_spec.lua", 'it("a", function() end)\nit("b", function() error("no") end)')
    assert.same({ 1, 0 }, { counts(run("", directory .. "/specs --filter-out=b")) })
    assert.same({ 1, 0 }, { counts(run("", directory .. "/specs --filter a")) })
    write("specs/x_spec.lua", 'it("goes well", function() end)\nit("goes wrong", function() error("no") end)')
    assert.same({ 1, 0 }, { counts(run("", directory .. "/specs --filter-out='goes wrong'")) })
  end)

  it("fails when a path does not exist", function()
    local result = run("", directory .. "/specs/nothing_spec.lua")
    assert.equal(2, result.code)
    assert.matches("there is no .*nothing_spec.lua", result.err)
  end)

  it("fails a file that cannot be loaded, once", function()
    write_passing(2)
    write("specs/broken_spec.lua", "this is not Lua")
    local result = run()
    assert.same({ 2, 1 }, { counts(result) })
    assert.matches("Error %-> .*broken_spec.lua\n", result.out)
  end)

  it("ends a spec that hangs, names it and runs the files after it", function()
    write("specs/a_spec.lua", ([[it("waits", function()
      os.execute("env -i sh -c 'echo $$ >%s/pid; sleep 60'") -- only its group tells whose it is
    end)]]):format(directory))
    write_passing(1)
    local result = run("HANG_SECONDS=1")
    assert.same({ 1, 1 }, { counts(result) })
    assert.matches("Hang %-> .*a_spec.lua @ 1: waits\nno end after 1 s", result.out)
    assert.is_false(running(sources.read(directory .. "/pid"):match("%d+")))
  end)

  it("names the spec in which a process crashes and runs the files after it", function()
    write("specs/a_spec.lua", 'it("passes", function() end)\n'
      .. 'it("crashes", function() os.execute("kill -SEGV $PPID") end)')
    write_passing(1)
    local result = run()
    assert.same({ 2, 1 }, { counts(result) })
    assert.matches("Crash %-> .*a_spec.lua @ 2: crashes\nthe process ended with signal 11", result.out)
  end)

  it("fails when a process ends badly after its last spec", function()
    write("specs/a_spec.lua", [[
      local function fail() os.exit(7) end
      if newproxy then
        _G.kept = newproxy(true)
        getmetatable(_G.kept).__gc = fail
      else
        _G.kept = setmetatable({}, { __gc = fail })
      end
      it("passes", function() end)]])
    local result = run()
    assert.same({ 1, 1 }, { counts(result) })
    assert.matches("Crash %-> .*a_spec.lua\nthe process ended with status 7", result.out)
  end)

  it("runs a process once more whose sanitizer failed by itself, and no more", function()
    write_passing(6)
    for i, times in ipairs({ 1, 2 }) do
      write("specs/leaks_spec.lua", ([[
        local count = 0
        for _ in (io.open(%q) or { lines = function() return next, {} end }):lines() do count = count + 1 end
        local file = assert(io.open(%q, "a"))
        file:write("run\n")
        file:close()
        local busted = require("busted")
        busted.subscribe({ "exit" }, function()
          if count < %d then
            print("==1==LeakSanitizer has encountered a fatal error.")
            io.stdout:flush()
            os.exit(1)
          end
        end, { priority = 100 })
        it("passes", function() end)]]):format(directory .. "/runs" .. i, directory .. "/runs" .. i, times))
      local result = run("SEED=1")
      assert.equal(times == 1 and 0 or 1, select(2, counts(result)), result.out)
    end
  end)

  it("repeats processes and order when it is given the seed that it has printed", function()
    write_passing(24)
    local path = directory .. "/order"
    local seed = run("JOBS=1").out:match("SEED=(%d+)")
    local first = sources.read(path)
    os.remove(path)
    os.remove(directory .. "/state/seconds") -- durations order the processes
    run("JOBS=1 SEED=" .. seed)
    local again = sources.read(path)
    local function sorted(text)
      local words = {}
      for word in text:gmatch("%S+") do
        words[#words + 1] = tonumber(word)
      end
      table.sort(words)
      return words
    end
    assert.equal(first, again)
    local all = {}
    for i = 1, 24 do
      all[i] = i
    end
    assert.same(all, sorted(first))
    os.remove(path)
    run("JOBS=1 SEED=" .. seed + 1)
    assert.not_equal(first, sources.read(path))
  end)

  it("gives a file that collects garbage all the time, or measures memory, a process of its own", function()
    local files = {}
    for i = 1, 12 do
      local code = i % 8 == 0 and 'require("spec.support.usage")' or 'require("spec.support.at_collections")'
      write(("specs/x%02d_spec.lua"):format(i), i % 4 == 0 and code or "")
      files[i] = ("%s/specs/x%02d_spec.lua"):format(directory, i)
    end
    local sizes = {}
    for _, batch in ipairs(plan.batches(files, 7, 3, function() return 1 end)) do
      for _, path in ipairs(batch) do
        sizes[path] = #batch
      end
    end
    for i, path in ipairs(files) do
      assert.equal(i % 4 == 0 and 1 or 3, sizes[path])
    end
  end)

  it("runs the files whose last run failed", function()
    write_passing(6)
    write("specs/failing_spec.lua", 'it("fails", function() error("no") end)')
    run()
    assert.same({ 0, 1 }, { counts(run("FAILED=1")) })
    run("", directory .. "/specs/passing1_spec.lua")
    write("specs/failing_spec.lua", 'it("passes", function() end)\nit("fails", function() error("no") end)')
    assert.same({ 1, 0 }, { counts(run("FAILED=1", "--filter=passes")) })
    assert.same({ 1, 1 }, { counts(run("FAILED=1")) })
    write("specs/failing_spec.lua", 'it("passes", function() end)')
    assert.same({ 1, 0 }, { counts(run("FAILED=1")) })
    local result = run("FAILED=1")
    assert.equal(2, result.code)
    assert.matches("nothing failed last", result.err)
  end)

  it("leaves no process behind when it is interrupted", function()
    write("specs/a_spec.lua", ([[it("waits", function()
      os.execute("setsid sh -c 'echo $$ >%s/pid; sleep 600'")
    end)]]):format(directory))
    local result = command.run(("%s & until [ -s %s/pid ]; do sleep 0.05; done; kill -TERM $!; wait $!"):format(
      runner("", nil), directory))
    assert.equal(130, result.code)
    assert.matches("interrupted\n\n0 passed, 0 failed\n$", result.out)
    local pid = sources.read(directory .. "/pid"):match("%d+")
    eventually(function()
      return not running(pid)
    end)
  end)
end)
