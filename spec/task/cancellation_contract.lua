--- What cancelling a task and passing a deadline do to everything underneath, on every host: an operation that calls
--- another one, which consumes a subscription, whose handler waits for something. `cancellation(busted)` describes it;
--- `busted` has busted's functions, which only spec files see.
local core = require("operations.core")
local eventually = require("spec.support.eventually")
local http = require("operations.net.http")
local operations = require("operations")
local is_running = require("spec.support.running")
local process = require("operations.net.process")
local test_server = require("spec.support.server")
local usage = require("spec.support.usage")

---@param busted table
return function(busted)
  local it, assert = busted.it, busted.assert
  busted.describe("the chain of an operation, a nested one and a subscription", function()
    local server, log

    busted.setup(function()
      server = test_server.start()
    end)

    busted.teardown(function()
      server:stop()
    end)

    local function noted(key, text)
      return eventually(function()
        return http.request({ url = server.url .. "/note/" .. key }).body == text
      end)
    end

    -- What the innermost handler waits for: how, whether it has begun, and whether it was called off.
    local note = 0
    local waits = {
      sleep = {
        function()
          operations.sleep(60)
        end,
        function() return true end,
        function() return true end,
      },
      ["an HTTP request"] = {
        function()
          note = note + 1
          local _, err = http.request({ url = server.url .. "/slow?head=30&note=chain" .. note })
          error(err, 0)
        end,
        function() return noted("chain" .. note, "started") end,
        function() return noted("chain" .. note, "aborted") end,
      },
      ["an HTTP stream"] = {
        function()
          note = note + 1
          local _, err = http.open({ url = server.url .. "/slow?head=30&note=chain" .. note })
          error(err, 0)
        end,
        function() return noted("chain" .. note, "started") end,
        function() return noted("chain" .. note, "aborted") end,
      },
    }
    local pid
    waits["a process"] = {
      function()
        local child = assert(process.spawn({ "sleep", "1000" }))
        pid = child.pid
        local _, err = child:wait()
        error(err, 0)
      end,
      function() return pid and is_running(pid) end,
      function()
        usage.collect() -- a deadline leaves it alone, so it ends when it is forgotten
        return eventually(function() return not is_running(pid) end)
      end,
    }

    -- Registers the chain; `record` gets what each handler saw and how often cleanup ran.
    local function make_chain(wait, record)
      log = {}
      local registry = operations.registry({
        log = function(_, message)
          log[#log + 1] = message
        end,
      })
      assert(registry:register({ namespace = "chain", name = "events", type = "subscription",
        handler = function(_, context)
          context.defer(function()
            record.cleanups = (record.cleanups or 0) + 1
            error("cleanup fails")
          end)
          coroutine.yield("first")
          record.deadline, record.waits = context.deadline, true
          local ok, raised = pcall(wait)
          record.inner = not ok and raised.code
          error(raised, 0)
        end }))
      assert(registry:register({ namespace = "chain", name = "nested", handler = function(_, context)
        local stream = assert(context.env.chain.events())
        assert(stream:next())
        local envelope, err = stream:next()
        record.nested = err and err.code
        return envelope, err
      end }))
      assert(registry:register({ namespace = "chain", name = "outer", handler = function(_, context)
        local envelope, err = context.env.chain.nested()
        record.outer = err and err.code
        record.cancelled = context:cancelled()
        return envelope, err
      end }))
      return registry
    end

    for name, wait in pairs(waits) do
      it("sees ABORTED everywhere when its task is cancelled during " .. name, function()
        local record, err = {}, nil
        local registry = make_chain(wait[1], record)
        operations.run(function()
          local worker = operations.spawn(function()
            err = select(2, registry:execute("chain.outer"))
          end)
          eventually(function() return record.waits end)
          assert.is_true(wait[2]())
          worker:cancel("enough")
          worker:wait()
        end)
        assert.same({ "ABORTED", "ABORTED", "ABORTED", "ABORTED", 1, true },
          { record.inner, record.nested, record.outer, err.code, record.cleanups, record.cancelled })
        assert.matches("enough", err.message)
        assert.matches("cleanup fails", log[#log])
        assert.is_true(wait[3]())
      end)

      it("sees TIMEOUT everywhere when its deadline passes during " .. name, function()
        local record = {}
        local registry = make_chain(wait[1], record)
        local deadline = core.now() + 100
        local _, err = registry:execute("chain.outer", {}, { deadline = deadline })
        assert.same({ "TIMEOUT", "TIMEOUT", "TIMEOUT", "TIMEOUT", 1, true },
          { record.inner, record.nested, record.outer, err.code, record.cleanups, record.cancelled })
        assert.equal(deadline, record.deadline)
        assert.is_true(wait[3]())
      end)
    end

    it("has its cleanup run once when the subscription is abandoned in the middle and collected", function()
      local record = {}
      local registry = make_chain(function() end, record)
      do
        local stream = assert(registry:subscribe("chain.events"))
        assert(stream:next())
      end
      usage.collect()
      eventually(function() return record.cleanups == 1 and log[#log] ~= nil end)
      assert.matches("cleanup fails", log[#log])
    end)

    it("keeps the traceback of an unforeseen error in the log, down to its line", function()
      local registry = make_chain(function()
        local nothing = nil
        return nothing.field
      end, {})
      local _, err = registry:execute("chain.outer")
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("chain.events: .*cancellation_contract.lua:%d+: attempt to index", table.concat(log, "\n"))
    end)

    for name, run in pairs({
      all = function(broken)
        return operations.all({ broken })
      end,
      map = function(broken)
        return operations.map({ 1 }, broken)
      end,
      wait = function(broken)
        return operations.spawn(broken):wait()
      end,
    }) do
      it("keeps the traceback of an unforeseen error below " .. name .. ", and logs it once", function()
        local registry = make_chain(function()
          local _, err = run(function()
            local nothing = nil
            return nothing.field
          end)
          error(err, 0)
        end, {})
        local _, err = registry:execute("chain.outer")
        assert.equal("EXECUTION_ERROR", err.code)
        local text = table.concat(log, "\n")
        assert.equal(1, select(2, text:gsub("stack traceback", "")), text)
        assert.matches("cancellation_contract.lua:%d+: attempt to index.*traceback:.*cancellation_contract.lua:.* in ",
          text)
      end)
    end

    it("obeys the deadline of the task that it is called in", function()
      local record = {}
      local registry = make_chain(waits.sleep[1], record)
      local err
      operations.run(function()
        require("operations.task").deadline(core.now() + 20)
        err = select(2, registry:execute("chain.outer", {}, { timeout = 60000 }))
      end)
      assert.equal("TIMEOUT", err.code)
      assert.equal("TIMEOUT", record.inner)
      assert.equal(1, record.cleanups)
    end)
  end)
end
