local core = require("operations.core")
local limits = require("operations.base.limits")
local system = require("operations.system")
local task = require("operations.task")
local turn = require("operations.task.turn")

-- Works for `ms`.
local function work(ms)
  local stop = core.now() + ms
  repeat until core.now() >= stop
end

describe("a turn between pieces of work", function()
  it("lets others run, once there was work for some milliseconds", function()
    local seen = {}
    task.run(function()
      task.spawn(function()
        seen[#seen + 1] = "other"
      end)
      local take_turn = assert(turn.taker())
      seen[#seen + 1] = "begins"
      work(5)
      assert.is_nil(take_turn())
      seen[#seen + 1] = "goes on"
    end)
    assert.same({ "begins", "other", "goes on" }, seen)
  end)

  it("tells a task that was cancelled, or whose time is up, to stop", function()
    local function stopped_by(set)
      local err
      local worker = task.spawn(function()
        set()
        local take_turn = turn.taker()
        while not err do
          work(4)
          err = take_turn()
        end
        return true
      end)
      if set == task.current then
        task.sleep(0.01)
        worker:cancel()
      end
      pcall(worker.wait, worker)
      return err.code
    end
    assert.equal("ABORTED", stopped_by(task.current))
    assert.equal("TIMEOUT", stopped_by(function()
      task.deadline(core.now() + 10)
    end))
  end)

  it("raises the error of Ctrl-C, so that what never waits ends", function()
    assert.is_true(system.catch_signals())
    assert(io.popen("kill -INT $PPID")):close()
    local ok, raised = pcall(turn.spend, {}, limits.turn_bytes, true)
    system.release_signals()
    assert.same({ false, "SIGINT" }, { ok, raised.details.signal })
  end)

  it("is not taken where nothing can be suspended", function()
    assert.is_nil(turn.taker())
    task.run(function()
      assert.is_nil(coroutine.wrap(turn.taker)())
      local taker
      table.sort({ 1, 2 }, function(a, b)
        taker = turn.taker() == nil
        return a < b
      end)
      assert.is_true(taker)
    end)
  end)
end)
