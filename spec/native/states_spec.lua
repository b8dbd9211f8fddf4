local certificates = require("spec.support.certificates")
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local failing = require("spec.support.failing")
local redis = require("spec.support.redis")
local sources = require("spec.support.sources")
local usage = require("spec.support.usage")

-- What runs states in threads is built where failing.c is.
local describe_states = failing.library and describe or pending

describe_states("many states in one process", function()
  local threads

  setup(function()
    local module = failing.library:gsub("fail%.so$", "threads.so")
    threads = assert(package.loadlib(module, "luaopen_threads"))()
  end)

  local function run(count, name)
    return threads.run(count, sources.read("spec/native/states/" .. name .. ".lua"), package.path, package.cpath)
  end

  it("do HTTP with TLS, JSON, schemas, streams, programs and calls over Redis in threads at once", function()
    local server = redis.start()
    finally(function()
      server.stop()
      certificates.remove()
    end)
    -- In a program of its own: `make tsan` says what it runs under, which changes its exit code when there was a race.
    local result = command.run(("TEST_CERTIFICATES='%s' TEST_REDIS='%s' LD_PRELOAD=$SANITIZER %s %s"):format(
      certificates.directory(), server.url, os.getenv("STATES_UNDER") or "env", command.interpreter()) .. [[ -e '
      local module = package.cpath:match("([^;]*/build/[^;/]*)/%?%.so") .. "/threads.so"
      local file = io.open("spec/native/states/all.lua")
      print(package.loadlib(module, "luaopen_threads")().run(16, file:read("*a"), package.path, package.cpath))' ]])
    assert.same({ out = "nil\n", err = "", code = 0 }, { out = result.out, err = result.err, code = result.code })
  end)

  it("are closed with everything open, one after the other, and leave nothing", function()
    local descriptors
    assert.is_true(usage.leak(25, function()
      descriptors = descriptors or usage.descriptors()
      assert.is_nil(run(1, "open"))
    end) < 256)
    eventually(function() -- the pipe of the count itself, on slow machines
      return usage.descriptors() <= descriptors
    end)
    assert.equal("", command.run("pgrep -x cat -P " .. command.pid()).out)
  end)

  -- libcurl 7.88 wakes itself by pairs of sockets that programs inherit; nothing can be read from them.
  it("leave no descriptor to programs that the program starts, but pairs of libcurl", function()
    local result = command.run([[ lua -e '
      local function inherited()
        local pipe, targets = io.popen("ls -l /proc/self/fd"), {}
        for line in pipe:lines() do
          targets[line:match("%d+ %-> (.*)") or ""] = true
        end
        pipe:close()
        return targets
      end
      local before = inherited()
      dofile("spec/native/states/open.lua")
      local file = io.open("/proc/net/unix")
      local pairs_of_sockets = file:read("*a")
      file:close()
      for target in pairs(inherited()) do
        local inode = target:match("^socket:%[(%d+)%]$")
        if not before[target] and not (inode and pairs_of_sockets:find(" " .. inode .. "\n")) then
          print((target:gsub("%d+", "N")))
        end
      end' ]])
    assert.same({ "/proc/N/fd", "pipe:[N]" }, (function()
      local lines = {}
      for line in result.out:gmatch("[^\n]+") do
        lines[#lines + 1] = line
      end
      table.sort(lines)
      return lines
    end)(), result.err)
  end)

  it("work without the libraries that the program left out, which are named where they are needed", function()
    for _, name in ipairs({ "io", "os", "debug" }) do
      local result = command.run(("lua spec/native/states/without.lua %s"):format(name))
      assert.same({ out = "ok\n", code = 0 }, { out = result.out, code = result.code }, result.err)
    end
  end)
end)
