local operations = require("operations")
local task = require("operations.task")
local task_pool = require("operations.task.pool")

-- Runs `fn` in a task of the pool and waits until it has returned; the task.
local function ran(fn, ...)
  local first, second = ...
  local running
  operations.run(function()
    task.await(function(wake)
      task_pool.start(function(own, a, b)
        running = own
        wake()
        return fn(own, a, b)
      end, first, second)
    end)
    operations.sleep(0) -- it goes back
  end)
  return running
end

describe("a pool of tasks", function()
  it("runs what is started, in order, with its arguments", function()
    local seen = {}
    operations.run(function()
      for i = 1, 100 do
        task_pool.start(function(_, a, b)
          seen[#seen + 1] = a + b
        end, i, 0.5)
      end
      operations.sleep(0)
      operations.sleep(0)
    end)
    assert.equal(100, #seen)
    assert.same({ 1.5, 100.5 }, { seen[1], seen[100] })
  end)

  it("uses a task again", function()
    local first = ran(function() end)
    assert.equal(first, ran(function(own, a, b)
      assert.same({ own, 1, 2 }, { task.current(), a, b })
    end, 1, 2))
  end)

  it("lets a task end that was cancelled, or that something belongs to", function()
    for name, fn in pairs({
      cancelled = function(own)
        own:cancel("enough")
      end,
      parent = function()
        operations.spawn(operations.sleep, 0.01)
      end,
    }) do
      local first = ran(fn)
      assert.not_equal(first, ran(function() end), name)
    end
  end)

  it("reports what a function raises, and goes on", function()
    local reported
    local on_error = task.on_error
    function task.on_error(raised)
      reported = raised
    end
    local first = ran(function()
      error("no luck", 0)
    end)
    local second = ran(function() end)
    first = first ~= second -- nobody holds it
    collectgarbage()
    collectgarbage()
    task.on_error = on_error
    assert.same({ true, "no luck" }, { first, reported })
  end)
end)
