local operations = require("operations")

-- luacheck: ignore 512 (loops that are left at once)

-- The same on both runtimes: Lua 5.4 closes by itself what LuaJIT's tasks close.
describe("a loop over a subscription", function()
  local closed, registry

  before_each(function()
    local mine = {}
    closed = mine
    collectgarbage("stop") -- what is closed here is closed by tasks
    registry = operations.registry({ log = function() end })
    assert(registry:register({
      namespace = "a", name = "watch", type = "subscription",
      handler = function(input, context)
        context.defer(function()
          mine[#mine + 1] = input.name
        end)
        for i = 1, 3 do
          context.emit(i)
        end
      end,
    }))
  end)

  after_each(function()
    collectgarbage("restart")
  end)

  local function watch(name)
    return assert(registry:subscribe("a.watch", { name = name }))
  end

  local function fail_inside()
    for _ in watch("outer") do
      for _ in watch("inner") do
        error("broken", 0)
      end
    end
  end

  it("has it closed when an error ends the task, the innermost first, before its waiter continues", function()
    operations.run(function()
      local child = operations.spawn(fail_inside)
      assert.equal("broken", select(2, child:wait()).message)
      assert.same({ "inner", "outer" }, closed)
    end)
    collectgarbage()
    assert.equal(2, #closed)
  end)

  it("has it closed when the task ends after an error that it caught, or is cancelled", function()
    operations.run(pcall, fail_inside)
    assert.same({ "inner", "outer" }, closed)
    operations.run(function()
      local child = operations.spawn(function()
        for _ in watch("waiting") do
          operations.sleep(60)
        end
      end)
      operations.sleep(0)
      child:cancel()
      child:wait()
      assert.equal("waiting", closed[3])
    end)
  end)

  it("has it closed when the task ends after a break, and when an item of map fails", function()
    operations.run(function()
      for _ in watch("left") do
        break
      end
    end)
    local results = operations.map({ 1 }, fail_inside)
    assert.is_nil(results)
    assert.same({ "left", "inner", "outer" }, closed)
  end)

  it("has it closed after a break also where events were taken before the loop", function()
    operations.run(function()
      local stream, _, first, owned = registry:subscribe("a.watch", { name = "begun" })
      assert.equal(1, stream:next().data)
      for envelope in stream, nil, first, owned do
        assert.equal(2, envelope.data)
        break
      end
    end)
    assert.same({ "begun" }, closed)
  end)

  it("has it closed when the handler of a subscription ends, that it is part of", function()
    assert(registry:register({
      namespace = "a", name = "nested", type = "subscription",
      handler = function(input, context)
        for envelope in context.env.a.watch({ name = "nested" }) do
          context.emit(envelope.data)
          assert(input.lasts, "broken")
        end
      end,
    }))
    local failing = registry:subscribe("a.nested", { lasts = false })
    assert.equal(1, failing:next().data)
    assert.same({}, closed)
    assert.is_nil((failing:next()))
    assert.same({ "nested" }, closed)
    local left = registry:subscribe("a.nested", { lasts = true })
    left:next()
    left:close()
    assert.same({ "nested", "nested" }, closed)
  end)

  it("has a subscription closed whose handler runs elsewhere", function()
    local here, there = operations.transports.pair()
    operations.call_handler(registry, operations.call_map(there))
    local map = operations.call_map(here)
    operations.run(function()
      operations.spawn(function()
        for _ in assert(map:subscribe("a.watch", { name = "remote" })) do
          error("broken", 0)
        end
      end):wait()
      operations.sleep(0.01)
      assert.same({ "remote" }, closed)
    end)
    map:close()
  end)

  it("leaves a subscription open that the program keeps", function()
    local kept = watch("kept")
    operations.run(function()
      operations.spawn(function()
        for _ in kept do
          error("broken", 0)
        end
      end):wait()
      local returned = operations.spawn(function()
        local stream = watch("returned")
        for _ in stream do
          break
        end
        return stream
      end):wait()
      assert.equal(2, returned:next().data)
      assert.equal(2, operations.spawn(kept.next, kept):wait().data)
    end)
    assert.same({}, closed)
    kept:close()
  end)

  it("leaves one open whose coroutine another task resumes", function()
    operations.run(function()
      local generator = operations.spawn(function()
        local generator = coroutine.wrap(function()
          for envelope in watch("generated") do
            coroutine.yield(envelope.data)
          end
        end)
        generator()
        return generator
      end):wait()
      assert.equal(2, generator())
      assert.same({}, closed)
    end)
  end)

  it("has it collected before the task ends", function()
    operations.run(function()
      for _ = 1, 3 do
        (function()
          for _ in watch("left") do
            break
          end
        end)()
      end
      collectgarbage()
      collectgarbage()
      operations.sleep(0)
      assert.same({ "left", "left", "left" }, closed)
    end)
  end)
end)
