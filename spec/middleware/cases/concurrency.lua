local operations = require("operations")

local concurrency = operations.middleware.concurrency

return function(kit)
  local it, assert = kit.it, kit.assert

  -- A handler that takes a second, and the most that ran at once.
  local function work()
    local self = { running = 0, most = 0, order = {} }
    function self.handler(input)
      self.running = self.running + 1
      self.most = math.max(self.most, self.running)
      self.order[#self.order + 1] = input.i
      local ok, raised = pcall(operations.sleep, 1)
      self.running = self.running - 1
      return assert(ok and 1 or nil, raised)
    end
    return self
  end

  local function codes(results)
    local list = {}
    for i, result in ipairs(results) do
      list[i] = result.code or "-"
    end
    return table.concat(list, " ")
  end

  it("runs so many at once, queues so many more, and refuses the others", function()
    local one, start = work(), kit.clock.now
    local call = kit.operation({ concurrency({ limit = 2, queue = 3 }) }, one.handler)
    local results = kit.side_by_side(7, function(i) return call({ i = i }) end)
    assert.equal("- - - - - BUSY BUSY", codes(results))
    assert.same({ most = 2, took = 3000, order = "12345" },
      { most = one.most, took = kit.clock.now - start, order = table.concat(one.order) })
    local err = results[7].err
    assert.same({ "spec.call: 2 calls are running and 3 are waiting", true, false, 1000, { limit = 2, queue = 3 } },
      { err.message, err.retryable, err.mayHaveRun, err.retryAfter, err.details })
  end)

  it("has room again when calls have ended, failed or were cancelled", function()
    local one = work()
    local call = kit.operation({ concurrency({ limit = 1, queue = 0 }) }, function(input)
      if input.i == 0 then
        error("no")
      end
      return one.handler(input)
    end)
    call({ i = 0 })
    local running = operations.spawn(call, { i = 1 })
    operations.sleep(0.1)
    assert.equal("BUSY", select(2, call({ i = 2 })).code)
    running:cancel()
    running:wait()
    assert.equal(1, (call({ i = 3 })))
  end)

  it("has room again when a handler yielded, which fails the call but in a light thread of nginx", function()
    local call = kit.operation({ concurrency({ limit = 1, queue = 0 }) }, function(input)
      if input.i == 1 then
        coroutine.yield("lost")
      end
      return input.i
    end)
    local data, err = call({ i = 1 })
    if rawget(_G, "ngx") then
      assert.equal(1, data)
    else
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("coroutine.yield in a task", err.message, 1, true)
    end
    assert.equal(2, (call({ i = 2 })))
  end)

  it("forgets calls that leave the queue: cancelled, at the deadline, or after the longest wait", function()
    local one = work()
    local call = kit.operation({ concurrency({ limit = 1, queue = 3, patience = 600 }) }, one.handler)
    local cancelled
    local results = kit.side_by_side(5, function(i)
      if i == 3 then
        cancelled = operations.spawn(call, { i = i })
        return cancelled:wait()
      elseif i == 5 then
        operations.sleep(0.5)
        cancelled:cancel()
        operations.sleep(0.4)
        return call({ i = i })
      end
      return call({ i = i }, i == 2 and { timeout = 300 } or nil)
    end)
    assert.equal("- TIMEOUT ABORTED BUSY -", codes(results))
    assert.equal("15", table.concat(one.order))
    assert.same({ false, false }, { results[2].err.mayHaveRun, results[4].err.mayHaveRun })
  end)

  it("counts the calls that wait now, however others left the queue", function()
    local start = kit.clock.now
    local call = kit.operation({ concurrency({ limit = 1, queue = 1, patience = 3000 }) }, function(input)
      operations.sleep(input.s)
      return 1
    end)
    local at, ends = { 0, 0, 1.5, 3.5 }, {}
    local results = kit.side_by_side(4, function(i)
      operations.sleep(at[i])
      local value, err = call({ s = i == 2 and 10 or 1 })
      ends[i] = kit.clock.now - start
      return value, err
    end)
    -- the second runs from 1 s on, the third waits from 1.5 s to 4.5 s
    assert.equal("- - BUSY BUSY", codes(results))
    assert.same({ 1000, 11000, 4500, 3500 }, ends)
  end)

  it("counts keys apart", function()
    local one = work()
    local call = kit.operation({ concurrency({ limit = 1, queue = 0, by = { "identity", "namespace" } }) }, one.handler)
    local function as(id)
      return { identity = id and { id = id, scopes = {} } }
    end
    local who = { as("a"), as("b"), as("a"), as(), as(), { metadata = { http = { address = "::1" } } } }
    local results = kit.side_by_side(#who, function(i) return call({ i = i }, who[i]) end)
    assert.equal("- - BUSY - BUSY -", codes(results))
  end)

  it("asks a function for the key", function()
    local one = work()
    local call = kit.operation({ concurrency({ limit = 1, queue = 0, by = function(context, spec)
      return spec.name .. context.metadata.tenant
    end }) }, one.handler)
    local results = kit.side_by_side(3, function(i) return call({ i = i }, { metadata = { tenant = i % 2 } }) end)
    assert.equal("- - BUSY", codes(results))
  end)

  it("gives a subscription its place until it ends, however it ends", function()
    local _, registry = kit.operation({ concurrency({ limit = 1, queue = 0 }) }, { type = "subscription",
      handler = function(input, context)
        context.emit(1)
        if input.wait then
          operations.sleep(60)
        end
      end })
    local function open(input)
      local stream = assert(registry:subscribe("spec.call", input))
      local envelope, err = stream:next()
      return envelope and stream, err
    end
    local first = open()
    assert.equal("BUSY", select(2, open()).code)
    first:close()
    local second = open()
    assert.is_nil(second:next())
    local third = open({ wait = true })
    operations.spawn(function()
      operations.sleep(1)
      third:close()
    end)
    assert.equal("ABORTED", select(2, third:next()).code)
    assert.is_table(open())
  end)

  it("has room again when the coroutine of a call was dropped", function()
    local call = kit.operation({ concurrency({ limit = 1, queue = 0 }) }, function(input)
      if input.i == 0 then
        coroutine.yield()
      end
      return 1
    end)
    local dropped = coroutine.create(call)
    coroutine.resume(dropped, { i = 0 })
    assert.equal("BUSY", select(2, call({ i = 1 })).code)
    dropped = nil -- luacheck: ignore 311
    for _ = 1, 5 do
      collectgarbage()
      operations.sleep(0.01)
    end
    assert.equal(1, (call({ i = 2 })))
  end)

  it("keeps no place for a queued call whose coroutine was dropped", function()
    local go = false
    local call = kit.operation({ concurrency({ limit = 1, queue = 2 }) }, function()
      while not go do
        operations.sleep(1)
      end
      return 1
    end)
    local first = operations.spawn(call)
    operations.sleep(0)
    local _, registry = kit.operation({}, { type = "subscription", handler = function(_, context)
      context.emit(1)
      call()
    end })
    local stream = assert(registry:subscribe("spec.call"))
    assert.equal(1, stream:next().data)
    local reader = operations.spawn(function()
      return stream:next()
    end)
    operations.sleep(0)
    stream:close()
    reader:wait()
    stream, reader = nil, nil -- luacheck: ignore 311
    go = true
    first:wait()
    assert.equal(1, (call()))
  end)

  it("keeps nothing of keys that are not in use", function()
    local count, key = 0, "x"
    local call = kit.operation({ concurrency({ limit = 1, by = function() return key end }) }, function() return 1 end)
    collectgarbage()
    local before = collectgarbage("count")
    for i = 1, 2000 do
      key = ("k"):rep(1000) .. i
      count = count + call()
    end
    for _ = 1, 3 do -- finalizers take rounds of their own
      collectgarbage()
    end
    assert.equal(2000, count)
    assert.is_true(collectgarbage("count") - before < 500)
  end)

  it("refuses options that make no sense", function()
    assert.has_error(function() concurrency({ limit = 0 }) end,
      "bad option 'limit' to 'concurrency' (integer from 1 on expected, got 0)")
    assert.has_error(function() concurrency({ queue = -1 }) end,
      "bad option 'queue' to 'concurrency' (integer from 0 on expected, got -1)")
    assert.has_error(function() concurrency({ limit = 1.5 }) end,
      "bad option 'limit' to 'concurrency' (integer from 1 on expected, got 1.5)")
    assert.has_error(function() concurrency({ by = "tenant" }) end, "bad option 'by' to 'concurrency' (\"identity\", "
      .. "\"address\", \"operation\" or \"namespace\" expected, got \"tenant\")")
    assert.has_error(function() concurrency({ max = 1 }) end, "bad option 'max' to 'concurrency' (unknown)")
  end)
end
