local command = require("spec.support.command")
local failing = require("spec.support.failing")
local operations = require("operations")

-- The example program in C, built for the runtime of the specs; returns its path.
local function build(directory)
  local path = directory .. "/app"
  local built = command.run(("cc -Wall -Wextra -Werror -o %s examples/embedding/app.c %s"):format(path,
    command.linked()))
  assert(built.code == 0, built.err)
  return path
end

local describe_linked = command.linked() and describe or pending

describe_linked("a program with a loop of its own", function()
  local directory

  setup(function()
    directory = os.tmpname()
    os.remove(directory)
    assert(os.execute("mkdir " .. directory))
  end)

  teardown(function()
    os.execute("rm -r " .. directory)
  end)

  it("polls the library's descriptor beside its own: calls, a stream, and work that it starts itself", function()
    operations.run(function()
      local env = command.environment()
      local sanitizer = "LD_PRELOAD=" .. (env.LD_PRELOAD or "") -- of the program, not of the server
      env.LD_PRELOAD = nil
      env.LUA_CPATH = package.cpath:match("[^;]*/build/[^;]*") .. ";;" -- nginx, the server, has modules of its own
      local child = assert(operations.process.spawn({
        "examples/server/run", "env", sanitizer, build(directory), "examples/embedding/app.lua", env = env,
      }))
      local lines = {}
      for line in child:lines() do
        lines[#lines + 1] = line
        if line == "the stream is closed" then
          assert(child:write("x")) -- a key: another call
        elseif #lines == 5 then
          child:close_stdin()
        end
      end
      assert.equal("", child:stderr())
      assert.same({ "Read the design", "task\tRead the design", "task\tWater the plants", "the stream is closed",
        "Water the plants" }, lines)
      assert.equal(0, child:wait().code)
    end)
  end)

  it("is told by the example why its Lua part ended, also by an error object", function()
    local program = directory .. "/no_document.lua"
    local file = assert(io.open(program, "w"))
    file:write('assert(require("operations").from_openapi.file("/no/such/document"))')
    file:close()
    local result = command.run(("LUA_CPATH='%s;;' LD_PRELOAD=$SANITIZER %s %s"):format(
      package.cpath:match("[^;]*/build/[^;]*"), build(directory), program))
    assert.equal(1, result.code)
    assert.matches("/no/such/document", result.err, 1, true)
  end)

  -- What a program prints in which Lua runs in a loop of its own.
  local function printed(program)
    local path = directory .. "/program.lua"
    local file = assert(io.open(path, "w"))
    file:write('local operations = require("operations")\nlocal loop = operations.loop()\n', program)
    file:close()
    local result = command.run("lua " .. path)
    assert.equal("", result.err)
    return result.out
  end

  it("cannot wait outside of tasks", function()
    local why = "cannot wait here, which would stop the loop of the program: call this within operations.spawn\n"
    assert.equal(why, printed("print(select(2, pcall(operations.sleep, 0.01)))"))
  end)

  it("handles what is ready in a turn, which ends when its time is over", function()
    assert.equal("true\t1\nfalse\t3\n", printed([[
      local count = 0
      for _ = 1, 3 do
        operations.spawn(function() count = count + 1 end)
      end
      print(loop:turn(0), count)
      print(loop:turn(60000), count)
    ]]))
  end)

  it("names the caller's line where the time of a turn is no number", function()
    assert.equal("program.lua:6: bad argument #1 to 'turn' (number expected, got string)\n"
      .. "program.lua:6: bad argument #1 to 'turn' (number expected, got NaN)\n", printed([[
      operations.spawn(function() print("not in these turns") end)
      local function turn(ms)
        -- not a tail call, which has no line
        local more = loop:turn(ms)
        return more
      end
      print((select(2, pcall(turn, "x")):gsub("^.*/", "")))
      print((select(2, pcall(turn, 0 / 0)):gsub("^.*/", "")))
    ]]))
  end)

  it("keeps its handlers of signals", function()
    assert.equal("ok\n", printed([[
      local function caught()
        local pipe = io.popen("grep SigCgt /proc/$PPID/status")
        local line = pipe:read("*a")
        pipe:close()
        return line
      end
      local before, during = caught(), nil
      operations.spawn(operations.run, function() during = caught() end)
      loop:turn(60000)
      print(before == during and "ok" or before .. during)
    ]]))
  end)

  it("continues when a task raises", function()
    assert.equal("false\ttrue\n", printed([[
      local done = false
      operations.on_error(function() end)
      operations.spawn(function() error("a mistake") end)
      operations.spawn(function() done = true end)
      print(loop:turn(60000), done)
    ]]))
  end)

  it("closes what is open; the library can be used again", function()
    assert.equal("true\n", printed([[
      local fd = loop:fd()
      operations.spawn(operations.sleep, 60)
      loop:turn()
      loop:close()
      print(math.type and math.type(loop:fd()) == "integer" or type(loop:fd()) == "number")
    ]]))
  end)

  it("may be closed by a task: its descriptor is gone when the turn ends", function()
    assert.equal("false\ttrue\n", printed([[
      loop:fd()
      local function count()
        local pipe, found = io.popen("ls -l /proc/$PPID/fd 2>/dev/null"), 0
        for line in pipe:lines() do
          found = found + (line:find("eventpoll", 1, true) and 1 or 0)
        end
        pipe:close()
        return found
      end
      local before = count()
      operations.spawn(function() loop:close() end)
      print(loop:turn(60000), count() < before)
    ]]))
  end)
end)

local describe_forks = failing.library and describe or pending

describe_forks("a copy of a program with a loop of its own", function()
  it("takes turns at once, and leaves the loop of the program as it is", function()
    assert.equal("in the copy\nin the program\n", (failing.run([[
      local operations = require("operations")
      local loop = operations.loop()
      loop:fd()
      local function slept(where)
        operations.spawn(function()
          operations.sleep(0.001)
          print(where)
        end)
        local stop = os.clock() + 0.02
        repeat loop:turn() until os.clock() > stop
      end
      operations.spawn(operations.sleep, 60)
      loop:turn()
      in_copy(function()
        loop:turn()
        slept("in the copy")
        loop:close()
      end)
      slept("in the program")
    ]])))
  end)
end)
