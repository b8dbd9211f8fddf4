--- What every host must do, as specs: `contract(name, busted)` describes the host of that name; `busted` has busted's
--- functions, which only spec files see. Real time passes here; nothing is said about how much.
local core = require("operations.core")
local hosts = require("operations.hosts")
local http = require("operations.net.http")
local openapi = require("spec.support.openapi")
local operations = require("operations")
local process = require("operations.net.process")
local single_flight = require("operations.task.single_flight")
local soak = require("spec.support.soak")
local task = require("operations.task")
local test_server = require("spec.support.server")
local ticker = require("spec.support.ticker")

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

    it("continues while a long answer is read and cast", function()
      local text = assert(http.request({ url = server.url .. "/records?size=6000000" })).body
      local api = openapi.api(openapi.one({ operationId = "list", responses = { ["200"] = { content = {
        ["application/json"] = { schema = { type = "array", items = { type = "object", properties = {
          id = { type = "integer" }, title = { type = "string" },
          tags = { type = "array", items = { type = "string" } },
        } } } } } } } }), nil, { status = 200, headers = { ["content-type"] = "application/json" }, body = text })
      local registry, id = operations.registry(), api.definitions[1].namespace .. ".list"
      assert(registry:register_all(api.definitions))
      local ticks, sliced = 0, nil
      local stop = ticker.start(function()
        ticks = ticks + 1
      end)
      task.run(function()
        sliced = assert(registry:execute(id, {})).data
      end)
      stop()
      assert.is_true(ticks > 2)
      local whole
      if name ~= "openresty" then -- whose thread can always be suspended
        table.sort({ 1, 2 }, function(a, b)
          whole = whole or assert(registry:execute(id, {})).data
          return a < b
        end)
      else
        whole = coroutine.wrap(function()
          local schema = assert(operations.schema.compile(registry:get_spec(id).outputSchema))
          return (schema:cast(operations.json.decode(text)))
        end)()
      end
      assert.same(#whole, #sliced)
      assert.equal(operations.json.encode(whole, { sort_keys = true }),
        operations.json.encode(sliced, { sort_keys = true }))
    end)

    it("sleeps in a task and outside of any", function()
      local before = host.now()
      task.sleep(0.02)
      task.run(task.sleep, 0.02)
      assert.is_true(host.now() - before >= 39)
    end)

    it("runs timers in the order of their times", function()
      local order, held, begun
      repeat
        order, held, begun = {}, {}, core.now()
        for _, ms in ipairs({ 60, 20, 40 }) do
          held[ms] = host.timer(ms, function()
            order[#order + 1] = ms
          end)
        end
      until core.now() - begun < 15 -- together, or the first is due first
      task.sleep(0.08)
      assert.same({ 20, 40, 60 }, order)
      held[20]() -- does nothing any more
    end)

    it("stops a timer whose task no longer waits", function()
      local fired = false
      local stop = host.timer(5, function()
        fired = true
      end)
      stop()
      task.sleep(0.03)
      assert.is_false(fired)
    end)

    it("drops a timer with what stops it", function()
      local fired = false
      host.timer(20, function()
        fired = true
      end)
      collectgarbage()
      collectgarbage()
      task.sleep(0.04)
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

    it("does work that several tasks want once, whatever becomes of the one that began it", function()
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
        task.sleep(0.005)
        first:cancel()
        assert.equal("done", second:wait())
      end)
      assert.equal(1, calls)
    end)

    it("passes a generator's waits through", function()
      task.run(function()
        local ticks = 0
        local other = task.spawn(function()
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
        other:cancel()
        assert.is_true(ticks > 1)
      end)
    end)

    for how, run in pairs({
      resume = function(fn)
        local co = coroutine.create(fn)
        return select(2, assert(coroutine.resume(co)))
      end,
      wrap = function(fn)
        return coroutine.wrap(fn)()
      end,
      ["wrap inside resume"] = function(fn)
        local _, result = coroutine.resume(coroutine.create(function()
          return coroutine.wrap(fn)()
        end))
        return result
      end,
    }) do
      it("brings cancellation and deadline to coroutines that a program made by itself: " .. how, function()
        local err
        task.run(function()
          local child = task.spawn(run, function()
            err = select(2, http.request({ url = server.url .. "/slow?head=60" }))
          end)
          task.sleep(0.02)
          collectgarbage() -- must not take away what waits
          collectgarbage()
          child:cancel()
          child:wait()
        end)
        assert.equal("ABORTED", err.code)
        local raised = task.run(function()
          task.deadline(host.now() + 20)
          return run(function()
            return select(2, pcall(task.sleep, 60))
          end)
        end)
        assert.equal("TIMEOUT", raised.code)
      end)
    end

    it("passes values and errors of wrapped coroutines", function()
      local values = coroutine.wrap(function(...)
        task.sleep(0)
        local a, b = coroutine.yield(...)
        task.sleep(0)
        error({ a, b })
      end)
      assert.same({ 1, nil, 3 }, { values(1, nil, 3) })
      local ok, raised = pcall(values, "a", "b")
      assert.same({ false, { "a", "b" } }, { ok, raised })
    end)

    it("does HTTP in tasks, streams beside requests", function()
      task.run(function()
        local stream = assert(http.open({ url = server.url .. "/sse?count=1000&delay=0.02" }))
        assert.matches("data", stream:read())
        local request = task.spawn(function()
          local response = http.request({ url = server.url .. "/slow?head=0.05" })
          stream:close()
          return response
        end)
        local pieces = 0
        while stream:read() do
          pieces = pieces + 1
        end
        assert.is_true(pieces > 0 and pieces < 999)
        assert.equal(200, request:wait().status)
      end)
    end)

    it("does HTTP outside of any task", function()
      assert.equal(200, http.request({ url = server.url .. "/echo" }).status)
    end)

    it("keeps nothing of requests that are over, cancelled or forgotten", function()
      local function go()
        soak.sequential(server.url, 100)
        soak.concurrent(server.url, 200)
        soak.cancelled(server.url, 100)
        soak.streams(server.url, 50)
        return soak.measure()
      end
      go()
      local before, after = go(), go()
      assert.same({ before.inflight, before.references }, { after.inflight, after.references })
      assert.is_true(after.descriptors <= before.descriptors + 1)
      assert.is_true(after.lua < before.lua + 64)
    end)

    it("returns what a task returned, or nil and what it raised", function()
      local fine, wrong = task.spawn(function(...)
        task.sleep(0)
        return ..., "more"
      end, "some"), task.spawn(error, "broken", 0)
      local result, err = wrong:wait()
      assert.same({ "some", "more" }, { fine:wait() })
      assert.is_nil(result)
      assert.equal("broken", err.message)
    end)

    it("raises in `run` what its function raises, once its children have ended", function()
      local ended = false
      local ok, raised = pcall(task.run, function()
        task.spawn(function()
          pcall(task.sleep, 60)
          ended = true
        end)
        task.sleep(0.005)
        error("broken", 0)
      end)
      assert.same({ false, "broken", true }, { ok, raised, ended })
    end)

    it("runs functions side by side and ends the others when one fails", function()
      local before = host.now()
      local results = assert(task.all({
        function()
          task.sleep(0.02)
          return "slow"
        end,
        function()
          return "quick"
        end,
      }))
      assert.same({ "slow", "quick" }, results)
      local seen
      local failed, err = task.all({
        function()
          local ok, raised = pcall(task.sleep, 60)
          seen = not ok and raised.code
        end,
        function()
          task.sleep(0.005)
          return nil, operations.error("BROKEN", "no luck")
        end,
      })
      assert.same({ nil, "BROKEN", "ABORTED" }, { failed, err.code, seen })
      assert.is_true(host.now() - before < 30000)
    end)

    it("cancels a request, and the server hears of it", function()
      local child = task.spawn(http.request, { url = server.url .. "/slow?head=60&note=" .. name })
      local function note()
        return http.request({ url = server.url .. "/note/" .. name }).body
      end
      while note() ~= "started" do
        task.sleep(0.005)
      end
      child:cancel()
      local _, err = child:wait()
      assert.equal("ABORTED", err.code)
      while note() ~= "aborted" do
        task.sleep(0.005)
      end
    end)

    it("talks to a process, sees its end, and stops one that does not end", function()
      process.allow(true)
      local child = assert(process.spawn({ "sh", "-c", "cat; echo over >&2; exit 3" }))
      local lines, size = 0, 0
      task.all({
        function()
          for _ = 1, 500 do
            assert(child:write(("x"):rep(999) .. "\n"))
          end
          child:close_stdin()
        end,
        function()
          for line in child.read_line, child do
            lines, size = lines + 1, size + #line
          end
        end,
      })
      assert.same({ 500, 499500 }, { lines, size })
      local how = assert(child:wait())
      assert.is_true(how.code == 3 or how.unknown) -- nginx reaps all children
      assert.equal("over", child:stderr())
      child = assert(process.spawn({ "sleep", "1000" }))
      how = assert(child:stop({ close = 10 }))
      assert.is_true(how.signal == 15 or how.unknown)
    end)

    it("ends a process with the task that started it", function()
      process.allow(true)
      local child
      local owner = task.spawn(function()
        child = assert(process.spawn({ "sleep", "1000" }))
        task.sleep(1000)
      end)
      while not child do
        task.sleep(0.005)
      end
      owner:cancel()
      local how = assert(child:wait())
      assert.is_true(how.signal == 15 or how.unknown)
    end)

    it("runs its own loop while 50 requests wait", function()
      local ticks = 0
      local stop = ticker.start(function()
        ticks = ticks + 1
      end)
      local functions = {}
      for i = 1, 50 do
        functions[i] = function()
          return http.request({ url = server.url .. "/slow?head=60" }).status
        end
      end
      functions[51] = function()
        local before = ticks
        while ticks < before + 5 do
          task.sleep(0.005)
        end
        return nil, operations.error("ENOUGH", "it ticked")
      end
      assert.equal("ENOUGH", select(2, task.all(functions)).code)
      stop()
    end)

    it("hands on the events of a stream as they come", function()
      local arrived, key = 0, "events-" .. name
      local parser = operations.sse_parser(function()
        arrived = arrived + 1
      end)
      local stream = assert(http.open({ url = server.url .. "/sse?count=1000&delay=0.1&note=" .. key }))
      while arrived < 5 do
        parser:feed(assert(stream:read()))
      end
      assert.equal("none", http.request({ url = server.url .. "/note/" .. key }).body) -- more are to come
      stream:close()
    end)

    it("closes the subscription whose loop failed, before the task has ended", function()
      local closed = 0
      local registry = operations.registry()
      assert(registry:register({ namespace = "a", name = "watch", type = "subscription", handler = function(_, context)
        context.defer(function()
          task.sleep(0.001)
          closed = closed + 1
        end)
        context.emit(1)
      end }))
      task.run(function()
        local _, err = task.spawn(function()
          for _ in assert(registry:subscribe("a.watch")) do
            error("broken", 0)
          end
        end):wait()
        assert.equal("broken", err.message)
        assert.equal(1, closed)
      end)
    end)

    it("runs operations that wait, subscriptions that wait between events and calls among them", function()
      local registry = operations.registry()
      assert(registry:register_all({
        {
          namespace = "server",
          name = "echo",
          accessControl = { requiredScopes = { "internal" } },
          handler = function(input)
            return { status = assert(http.request({ url = server.url .. "/echo?n=" .. input.n })).status, n = input.n }
          end,
        },
        {
          namespace = "server",
          name = "count",
          type = "subscription",
          handler = function(input, context)
            for n = 1, input.to do
              task.sleep(0.005)
              coroutine.yield(assert(context.env.server.echo({ n = n })).data)
            end
          end,
        },
      }))
      local function count(to)
        local seen = {}
        for envelope in assert(registry:subscribe("server.count", { to = to })) do
          seen[#seen + 1] = envelope.data.n * envelope.data.status
        end
        return table.concat(seen, " ")
      end
      assert.equal("200 400 600", count(3))
      assert.same({ "200 400", "200", "200 400 600" }, assert(task.all({
        function() return count(2) end,
        function() return count(1) end,
        function() return count(3) end,
      })))
    end)

    it("ends a block at its deadline, and lets a cleanup wait in a cancelled task", function()
      local _, late = operations.within(20, operations.sleep, 60)
      assert.equal("TIMEOUT", late.code)
      local steps = {}
      task.run(function()
        local worker = task.spawn(function()
          pcall(operations.sleep, 60)
          steps[1] = operations.shield(5000, function()
            operations.sleep(0.01)
            return "cleaned up"
          end)
        end)
        operations.sleep(0.01)
        worker:cancel()
        worker:wait()
      end)
      assert.same({ "cleaned up" }, steps)
    end)

    it("runs a schedule until it is stopped", function()
      local count = 0
      task.run(function()
        local job
        job = operations.every(0.01, function()
          count = count + 1
          if count == 3 then
            job:stop()
          end
        end)
        job:wait()
      end)
      assert.equal(3, count)
    end)

    it("ends a process with the call that started it", function()
      process.allow(true)
      local registry = operations.registry({ log = function() end })
      registry:register(operations.command({ namespace = "spec", name = "slow", argv = { "sleep", "1000" } }))
      registry:register(operations.command({ namespace = "spec", name = "fast", argv = { "echo", "{text}" } }))
      assert.equal("TIMEOUT", select(2, registry:execute("spec.slow", {}, { timeout = 50 })).code)
      local envelope, err = registry:execute("spec.fast", { text = "hello" })
      if name == "openresty" then -- nginx collects exit codes
        assert.is_true(envelope and envelope.data == "hello\n" or err.details.unknown)
      else
        assert.equal("hello\n", envelope.data)
      end
    end)

    it("ends an operation at its deadline and runs its cleanup once", function()
      local registry, cleaned = operations.registry(), 0
      assert(registry:register({
        namespace = "clock",
        name = "ticks",
        type = "subscription",
        handler = function(_, context)
          context.defer(function()
            cleaned = cleaned + 1
          end)
          coroutine.yield(1)
          task.sleep(60)
        end,
      }))
      local ticks = assert(registry:subscribe("clock.ticks", nil, { timeout = 500 }))
      assert.equal(1, ticks:next().data)
      assert.equal("TIMEOUT", select(2, ticks:next()).code)
      assert.equal(1, cleaned)
    end)
  end)
end
