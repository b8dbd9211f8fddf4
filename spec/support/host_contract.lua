--- What every host must do, as specs: `contract(name, busted)` describes the host of that name; `busted` has busted's
--- functions, which only spec files see. Real time passes here; nothing is said about how much.
local hosts = require("operations.hosts")
local http = require("operations.http")
local task = require("operations.task")
local test_server = require("spec.support.server")

---@param name string
---@param busted table
return function(name, busted)
  local it, setup, teardown, assert = busted.it, busted.setup, busted.teardown, busted.assert
  busted.describe(("the host '%s'"):format(name), function()
    local host, server

    setup(function()
      task.use_host(name)
      host = hosts.current()
      server = test_server.start()
    end)

    teardown(function()
      server:stop()
    end)

    it("tells the time in milliseconds since the epoch", function()
      assert.equal(name, host.name)
      assert.is_true(math.abs(host.now() / 1000 - os.time()) < 5)
    end)

    it("sleeps in a task and outside of any", function()
      local before = host.now()
      task.sleep(0.02)
      task.run(task.sleep, 0.02)
      assert.is_true(host.now() - before >= 39)
    end)

    it("runs timers in the order of their times", function()
      local order = {}
      task.run(function()
        for _, ms in ipairs({ 30, 10, 20 }) do
          task.spawn(function()
            task.sleep(ms / 1000)
            order[#order + 1] = ms
          end)
        end
      end)
      assert.same({ 10, 20, 30 }, order)
    end)

    it("stops a timer that nobody waits for any more", function()
      local fired = false
      local stop = host.timer(5, function()
        fired = true
      end)
      stop()
      task.sleep(0.03)
      assert.is_false(fired)
    end)

    it("lets many tasks wait at once", function()
      local before, count = host.now(), 0
      task.run(function()
        for _ = 1, 500 do
          task.spawn(function()
            task.sleep(0.05)
            count = count + 1
          end)
        end
      end)
      assert.equal(500, count)
      assert.is_true(host.now() - before < 500 * 50)
    end)

    it("cancels a sleep", function()
      local before = host.now()
      task.run(function()
        local child = task.spawn(task.sleep, 60)
        task.sleep(0.01)
        child:cancel()
        assert.equal("ABORTED", select(2, child:wait()).code)
      end)
      assert.is_true(host.now() - before < 30000)
    end)

    it("ends a wait at the deadline", function()
      local _, err = task.spawn(function()
        task.deadline(host.now() + 20)
        task.sleep(60)
      end):wait()
      assert.equal("TIMEOUT", err.code)
    end)

    it("passes a generator's waits through", function()
      task.run(function()
        local ticks = 0
        local ticker = task.spawn(function()
          while true do
            task.sleep(0.005)
            ticks = ticks + 1
          end
        end)
        local generator = coroutine.create(function()
          for i = 1, 3 do
            task.sleep(0.02)
            coroutine.yield(i)
          end
        end)
        for i = 1, 3 do
          assert.same({ true, i }, { task.resume(generator) })
        end
        ticker:cancel()
        assert.is_true(ticks > 1)
      end)
    end)

    it("does HTTP in tasks, streams beside requests", function()
      local order = {}
      task.run(function()
        task.spawn(function()
          local stream = assert(http.open({ url = server.url .. "/sse?count=5&delay=0.03" }))
          while stream:read() do
            order[#order + 1] = "event"
          end
        end)
        task.spawn(function()
          assert.equal(200, http.request({ url = server.url .. "/slow?head=0.07" }).status)
          order[#order + 1] = "answer"
        end)
      end)
      assert.equal(6, #order)
      assert.is_true(order[1] == "event" and order[6] == "event")
    end)

    it("does HTTP outside of any task", function()
      assert.equal(200, http.request({ url = server.url .. "/echo" }).status)
    end)

    it("says deadlock instead of waiting for nothing", function()
      collectgarbage()
      collectgarbage()
      local ok, raised = pcall(task.await, function() end)
      assert.is_false(ok)
      assert.matches("deadlock", tostring(raised))
    end)
  end)
end
