local single_flight = require("operations.task.single_flight")
local task = require("operations.task")

describe("a single flight", function()
  it("does the work once for all callers meanwhile", function()
    local flight, calls = single_flight.new(), 0
    local function run()
      local text, n = flight:run(function()
        calls = calls + 1
        task.sleep(0.01)
        return "done", calls
      end)
      return text .. n
    end
    assert.same({ "done1", "done1", "done1" }, task.all({ run, run, run }))
    assert.equal("done2", run())
  end)

  it("gives an expected failure, and a raised error, to all", function()
    local function outcomes(work)
      local flight, seen = single_flight.new(), {}
      task.run(function()
        for i = 1, 3 do
          task.spawn(function()
            local ok, result, err = pcall(flight.run, flight, work)
            seen[i] = tostring(ok) .. tostring(result) .. tostring(err)
          end)
        end
      end)
      return seen
    end
    assert.same({ "truenilbad", "truenilbad", "truenilbad" }, outcomes(function()
      task.sleep(0)
      return nil, "bad"
    end))
    assert.same({ "falsebadnil", "falsebadnil", "falsebadnil" }, outcomes(function()
      error("bad", 0)
    end))
  end)

  it("continues when the waiters are cancelled, also the one that began it", function()
    local flight, calls = single_flight.new(), 0
    local function run()
      return flight:run(function()
        calls = calls + 1
        task.sleep(0.02)
        return "done"
      end)
    end
    task.run(function()
      local first, second = task.spawn(run), task.spawn(run)
      task.sleep(0)
      first:cancel()
      local _, err = first:wait()
      assert.equal("ABORTED", err.code)
      assert.equal("done", second:wait())
      local third = task.spawn(run)
      task.sleep(0)
      third:cancel()
      third:wait()
      assert.equal("done", run()) -- what the third began
    end)
    assert.equal(2, calls)
  end)

  it("can be led by a task, which others follow, for each key", function()
    local flights, seen, followed = single_flight.new(), {}, {}
    local function lead(key)
      return flights:lead(key, function(n)
        task.sleep(0.01)
        if n == 2 then
          error("bad", 0)
        end
        return n
      end, key)
    end
    task.run(function()
      for key = 1, 2 do
        task.spawn(function()
          seen[key] = { pcall(lead, key) }
        end)
      end
      task.sleep(0)
      for key = 1, 2 do
        task.spawn(function()
          local runs, interruption, results = flights:follow(key)
          followed[key] = { runs, interruption or false, results[1], results[2] }
        end)
      end
    end)
    assert.same({ { true, 1 }, { false, "bad" } }, seen)
    assert.same({ { true, false, true, 1 }, { true, false, false, "bad" } }, followed)
    assert.is_false((flights:follow(1)))
  end)

  it("works for callers that are no tasks", function()
    assert.equal(7, single_flight.new():run(function()
      task.sleep(0)
      return 7
    end))
  end)

  it("frees the work from its caller's deadline", function()
    local flight, late = single_flight.new(), nil
    task.run(function()
      task.deadline(0)
      local _, err = flight:run(function()
        late = task.cancelled()
      end)
      assert.equal("TIMEOUT", err.code)
    end)
    task.sleep(0)
    assert.is_false(late)
  end)
end)
