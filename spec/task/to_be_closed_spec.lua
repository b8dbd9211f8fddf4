-- Lua 5.4's to-be-closed variables, wherever the library runs a function in a coroutine.
local operations = require("operations")
local task = require("operations.task")

if not coroutine.close then -- luacheck: ignore 143
  return -- LuaJIT has none
end

-- Runs `fn(...)` below a variable whose end calls `closed(error)`.
local guarded = assert(load([[
  local closed, fn = ...
  return function(...)
    local variable <close> = setmetatable({}, { __close = function(_, raised) closed(raised) end })
    return (fn(...))
  end
]]))

describe("a to-be-closed variable", function()
  local closed, reported, on_error

  before_each(function()
    closed, reported, on_error = {}, {}, task.on_error
    task.on_error = function(raised)
      reported[#reported + 1] = raised
    end
  end)

  after_each(function()
    task.on_error = on_error
  end)

  local function noting(name, fn)
    return guarded(function(raised)
      closed[#closed + 1] = { name, raised }
    end, fn)
  end

  local function wait_long()
    operations.sleep(60)
  end

  local function failing()
    error("broken", 0)
  end

  describe("of a task", function()
    it("runs once, the innermost first, with the error that ends the task, before its waiter continues", function()
      operations.run(function()
        local child = operations.spawn(noting("outer", noting("inner", failing)))
        child:wait()
        assert.same({ { "inner", "broken" }, { "outer", "broken" } }, closed)
      end)
      collectgarbage()
      collectgarbage()
      assert.equal(2, #closed)
    end)

    it("runs when the task is cancelled while it waits", function()
      operations.run(function()
        local child = operations.spawn(noting("outer", noting("inner", wait_long)))
        operations.sleep(0)
        child:cancel()
        local _, err = child:wait()
        assert.same({ { "inner", err }, { "outer", err } }, closed)
      end)
    end)

    it("runs when the task yields a value outside of a wait", function()
      local ok, err = pcall(operations.run, noting("stray", coroutine.yield))
      assert.is_false(ok)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.same({ { "stray", err } }, closed)
    end)

    it("replaces the error of the task by its own", function()
      local child = operations.spawn(guarded(function()
        error("from close", 0)
      end, failing))
      assert.equal("from close", select(2, child:wait()).message)
      local stray = operations.spawn(guarded(function()
        error("from close", 0)
      end, coroutine.yield))
      assert.equal("from close", select(2, stray:wait()).message)
    end)

    it("has its error reported when the task was cancelled and is not awaited", function()
      operations.run(function()
        local child = operations.spawn(guarded(function()
          error("from close", 0)
        end, wait_long))
        operations.sleep(0)
        child:cancel()
      end)
      assert.same({ "from close" }, reported)
    end)

    it("may wait, and the task ends after that; other tasks run meanwhile", function()
      local order = {}
      operations.run(function()
        local child = operations.spawn(guarded(function()
          operations.sleep(0.005)
          order[#order + 1] = "closed"
        end, failing))
        operations.spawn(function()
          order[#order + 1] = "other"
        end)
        child:wait()
        order[#order + 1] = "ended"
      end)
      assert.same({ "other", "closed", "ended" }, order)
    end)

    it("sees ABORTED where it waits in a cancelled task", function()
      local seen
      operations.run(function()
        local child = operations.spawn(guarded(function()
          local ok, raised = pcall(operations.sleep, 60)
          seen = not ok and raised.code
          operations.sleep(60)
        end, wait_long))
        operations.sleep(0)
        child:cancel()
        assert.equal("ABORTED", select(2, child:wait()).code)
      end)
      assert.equal("ABORTED", seen)
      assert.same({}, reported)
    end)

    it("may wait after a stray yield", function()
      local child = operations.spawn(guarded(function()
        operations.sleep(0.001)
        closed[1] = "closed"
      end, coroutine.yield))
      assert.equal("EXECUTION_ERROR", select(2, child:wait()).code)
      assert.same({ "closed" }, closed)
    end)

    it("keeps no file of 200 failed tasks while the collector rests", function()
      local files = {}
      collectgarbage("stop")
      for i = 1, 200 do
        local file = assert(io.open("/dev/null"))
        files[i] = file
        local child = operations.spawn(guarded(function()
          file:close()
        end, failing))
        child:wait()
      end
      collectgarbage("restart")
      for i = 1, 200 do
        assert.equal("closed file", io.type(files[i]))
      end
    end)
  end)

  it("of map's function runs for the item that fails and those that are cancelled, before map returns", function()
    local results, err = operations.map({ "fails", "waits" }, function(name)
      return noting(name, function()
        if name == "waits" then
          wait_long()
        end
        operations.sleep(0)
        failing()
      end)()
    end)
    assert.is_nil(results)
    assert.equal("broken", err.message)
    assert.equal("fails", closed[1][1])
    assert.equal("waits", closed[2][1])
    assert.equal(2, #closed)
  end)

  it("of a query's handler sees the error that ends the call, whose traceback is logged", function()
    local logged
    local registry = operations.registry({ log = function(_, message)
      logged = message
    end })
    assert(registry:register({ namespace = "a", name = "ask", handler = noting("handler", failing) }))
    assert.equal("broken", select(2, registry:execute("a.ask")).message)
    assert.same({ { "handler", "broken" } }, closed)
    assert.matches("stack traceback", logged, 1, true)
  end)

  describe("of a subscription's handler", function()
    local logged

    local function subscribe(handler, given)
      logged = {}
      local registry = operations.registry({ log = function(_, message)
        logged[#logged + 1] = message
      end })
      assert(registry:register({ namespace = "a", name = "watch", type = "subscription", handler = handler }))
      return assert(registry:subscribe("a.watch", nil, given))
    end

    it("runs when the handler fails, before next returns and before deferred functions", function()
      local stream = subscribe(function(_, context)
        context.defer(function()
          closed[#closed + 1] = { "deferred" }
        end)
        noting("outer", noting("inner", failing))()
      end)
      assert.equal("broken", select(2, stream:next()).message)
      assert.same({ { "inner", "broken" }, { "outer", "broken" }, { "deferred" } }, closed)
      assert.matches("spec/task/to_be_closed_spec.lua:%d+: in upvalue 'handler'", logged[1])
      stream:close()
      assert.equal(3, #closed)
    end)

    it("runs when the consumer's task is cancelled", function()
      operations.run(function()
        local stream = subscribe(noting("handler", wait_long))
        local child = operations.spawn(function()
          return stream:next()
        end)
        operations.sleep(0)
        child:cancel()
        assert.equal("ABORTED", select(2, child:wait()).code)
        assert.equal("handler", closed[1][1])
        assert.equal("ABORTED", closed[1][2].code)
      end)
    end)

    it("replaces the handler's error by its own", function()
      local stream = subscribe(guarded(function()
        error("from close", 0)
      end, failing))
      assert.equal("from close", select(2, stream:next()).message)
    end)

    it("has its error logged when the subscription is closed while the handler waits", function()
      local stream = subscribe(guarded(function()
        error("from close", 0)
      end, wait_long))
      operations.run(function()
        local child = operations.spawn(function()
          return stream:next()
        end)
        operations.sleep(0)
        stream:close()
        assert.equal("ABORTED", select(2, child:wait()).code)
      end)
      assert.same({ "a.watch: cleanup failed: from close" }, logged)
    end)

    it("may wait: after an error, when it is closed between two events, and when its deadline passes", function()
      local function waiting(fn)
        return guarded(function()
          operations.sleep(0.001)
          closed[#closed + 1] = "closed"
        end, fn)
      end
      operations.run(function()
        assert.equal("broken", select(2, subscribe(waiting(failing)):next()).message)
        local stream = subscribe(waiting(coroutine.yield))
        stream:next()
        stream:close()
        assert.same({ "closed", "closed" }, closed)
        local late = subscribe(waiting(wait_long), { timeout = 5 })
        assert.equal("TIMEOUT", select(2, late:next()).code)
      end)
      assert.equal(2, #closed) -- what waits under a deadline that passed sees TIMEOUT
    end)
  end)
end)
