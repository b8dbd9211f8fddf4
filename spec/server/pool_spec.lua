local eventually = require("spec.support.eventually")
local operations = require("operations")
local pool = require("operations.server.pool")
local task = require("operations.task")
local waiters = require("operations.task.wait")

local function work(fn)
  return { serve = fn }
end

describe("workers", function()
  it("serve in the order in which things were added", function()
    operations.run(function()
      local order = {}
      for i = 1, 10 do
        pool.add(work(function()
          order[#order + 1] = i
        end))
      end
      assert.same({}, order)
      operations.sleep(0.01)
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, order)
    end)
  end)

  it("tell the entry at hand when no memory is left for another worker, and continue", function()
    operations.run(function()
      local told, served = {}, 0
      local function entry()
        return {
          serve = function() served = served + 1 end,
          fail = function(_, raised) told[#told + 1] = raised:match("not enough memory") end,
        }
      end
      pool.add(entry())
      pool.add(entry())
      local settle, detach = waiters.settle, task.detach
      local function refuse()
        waiters.settle, task.detach = settle, detach
        error("not enough memory", 0)
      end
      waiters.settle, task.detach = refuse, refuse
      eventually(function()
        return served + #told == 2
      end)
      assert.same({ { "not enough memory" }, 1 }, { told, served })
    end)
  end)

  it("continue with other tasks while one waits", function()
    operations.run(function()
      local waiting, done = 0, 0
      for _ = 1, 200 do -- more than are kept for later
        pool.add(work(function()
          waiting = waiting + 1
          eventually(function()
            return waiting == 200
          end)
          done = done + 1
        end))
      end
      eventually(function()
        return done == 200
      end)
    end)
  end)

  it("serve tasks that are added while they serve, again and again", function()
    operations.run(function()
      local count, again = 0, nil
      again = work(function()
        count = count + 1
        if count < 1000 then
          pool.add(again)
        end
      end)
      pool.add(again)
      repeat
        operations.sleep(0)
      until count == 1000
    end)
  end)

  it("report errors of tasks, and continue", function()
    operations.run(function()
      local told, served = {}, 0
      for i = 1, 3 do
        pool.add({ serve = function()
          served = served + 1
          if i == 2 then
            error("oops")
          end
        end, fail = function(_, raised)
          told[#told + 1] = raised
        end })
      end
      operations.sleep(0.01)
      assert.equal(3, served)
      assert.equal(1, #told)
      assert.matches("pool_spec.lua:%d+: oops\nstack traceback:", told[1])
    end)
  end)

  it("let other tasks have their turn", function()
    operations.run(function()
      local count, stop, again = 0, false, nil
      again = work(function()
        count = count + 1
        local till = os.clock() + 0.001
        repeat
        until os.clock() >= till
        if not stop then
          pool.add(again)
          pool.add(work(function() end))
        end
      end)
      pool.add(again)
      for _ = 1, 5 do
        operations.sleep(0) -- would not come back
      end
      stop = true
      assert.is_true(count > 0)
    end)
  end)
end)
