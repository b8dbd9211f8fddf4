local contract = require("spec.hosts.contract")
local task = require("operations.task")

local busted = { describe = describe, it = it, setup = setup, teardown = teardown, assert = assert }

contract("plain", busted)

describe("the plain host", function()
  it("says deadlock instead of waiting for nothing", function()
    collectgarbage()
    collectgarbage()
    local ok, raised = pcall(task.await, function() end)
    assert.is_false(ok)
    assert.matches("deadlock", tostring(raised))
  end)

  it("does not load libcurl until something waits", function()
    local interpreter = arg[-1] or "lua5.4"
    local i = -1
    while arg[i - 1] do
      i = i - 1
      interpreter = arg[i]
    end
    local program = [[
      local operations = require("operations")
      assert(not package.loaded["operations.reactor"])
      operations.run(function() operations.spawn(function() end) end)
      assert(not package.loaded["operations.reactor"])
      operations.sleep(0)
      assert(package.loaded["operations.reactor"])
      print("fine")
    ]]
    local pipe = io.popen(("%s -e '%s'"):format(interpreter, program:gsub("\n", " ")))
    local answer = pipe:read("*a")
    pipe:close()
    assert.equal("fine\n", answer)
  end)

  it("lets Ctrl-C through, after the tasks' cleanup", function()
    if _VERSION ~= "Lua 5.4" then
      return -- what luajit does with the signal is its own
    end
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write([[
      local task = require("operations.task")
      io.stdout:setvbuf("no")
      task.run(function()
        print("waiting")
        local ok, raised = pcall(task.sleep, 60)
        print(ok, raised.code)
        error(raised, 0)
      end)
    ]])
    file:close()
    local pipe = io.popen(([[
      lua5.4 %s 2>&1 & pid=$!
      sleep 0.3; kill -INT $pid; wait $pid; echo "ended $?"
    ]]):format(path))
    local answer = pipe:read("*a")
    pipe:close()
    os.remove(path)
    assert.matches("waiting\nfalse\tABORTED\n.*interrupted!.*ended 1\n", answer)
  end)
end)
