local operations = require("operations")

local map = operations.map

describe("operations.map", function()
  it("gives the first result of each call, in the order of the list", function()
    assert.same({ 10, 20, 30 }, map({ 1, 2, 3 }, function(n)
      operations.sleep((4 - n) / 1000)
      return n * 10, "dropped"
    end))
    assert.same({}, map({}, error))
  end)

  it("tells the function the place of its element", function()
    assert.same({ "1a", "2b" }, map({ "a", "b" }, function(letter, i)
      return i .. letter
    end))
  end)

  it("has no more calls running than the limit, and no fewer", function()
    local list, running, most = {}, 0, 0
    for i = 1, 50 do
      list[i] = i
    end
    map(list, function()
      running = running + 1
      most = math.max(most, running)
      operations.sleep(0.001)
      running = running - 1
    end, { limit = 7 })
    assert.equal(7, most)
    assert.equal(0, running)
  end)

  it("cancels the others at the first failure and begins no further call", function()
    local began, aborted = 0, 0
    local results, err = map({ 1, 2, 3, 4, 5, 6 }, function(n)
      began = began + 1
      if n == 2 then
        operations.sleep(0.005)
        return nil, operations.error("EXECUTION_ERROR", "two")
      end
      local ok, raised = pcall(operations.sleep, 60)
      aborted = aborted + (not ok and raised.code == "ABORTED" and 1 or 0)
      return n
    end, { limit = 3 })
    assert.is_nil(results)
    assert.equal("two", err.message)
    assert.equal(3, began)
    assert.equal(2, aborted)
  end)

  it("counts an error as failure, and stops functions that never wait", function()
    local count = 0
    local results, err = map({ 1, 2, 3, 4, 5, 6 }, function(n)
      count = count + 1
      if n == 2 then
        error("boom")
      end
    end, { limit = 1 })
    assert.is_nil(results)
    assert.matches("boom", err.message)
    assert.equal(2, count)
    count = 0
    map({ 1, 2, 3, 4, 5, 6 }, function(n)
      count = count + 1
      return n == 1 and error("boom")
    end, { limit = 2 })
    assert.equal(1, count)
  end)

  it("is cancelled with the task that calls it", function()
    local aborted = 0
    operations.run(function()
      local worker = operations.spawn(map, { 1, 2, 3 }, function()
        local _, raised = pcall(operations.sleep, 60)
        aborted = aborted + (raised.code == "ABORTED" and 1 or 0)
      end)
      operations.sleep(0.005)
      worker:cancel()
    end)
    assert.equal(3, aborted)
  end)

  it("takes an iterator, asked for no more elements than calls can begin", function()
    local given, ended = 0, 0
    local results = assert(map(function()
      if given < 20 then
        given = given + 1
        assert.is_true(given - ended <= 3)
        return given, given * 2
      end
    end, function(one, two)
      operations.sleep(0.0001 * (20 - one))
      ended = ended + 1
      return one + two
    end, { limit = 3 }))
    assert.equal(20, #results)
    for i = 1, 20 do
      assert.equal(3 * i, results[i])
    end
    assert.same({}, map(function() end, error))
  end)

  it("takes the state and the control variable of a generic for", function()
    local step, state, control = ipairs({ "a", "b", "c" })
    assert.same({ "1a", "2b", "3c" }, map(step, function(i, letter)
      return i .. letter
    end, { state = state, control = control }))
    step, state = pairs({ x = 1, y = 2 })
    local seen = {}
    assert(map(step, function(key, value)
      seen[key] = value
    end, { state = state }))
    assert.same({ x = 1, y = 2 }, seen)
  end)

  it("takes an iterator that waits, and does not call it meanwhile", function()
    local letters = coroutine.wrap(function()
      for letter in ("abcdef"):gmatch(".") do
        operations.sleep(0.001)
        coroutine.yield(letter)
      end
    end)
    assert.same({ "A", "B", "C", "D", "E", "F" }, map(letters, function(letter)
      operations.sleep(0.002)
      return letter:upper()
    end, { limit = 4 }))
  end)

  it("takes a subscription", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "count", type = "subscription", handler = function(input)
      for i = 1, input.to do
        coroutine.yield(i)
      end
    end }))
    assert.same({ 2, 4, 6 }, map(assert(registry:subscribe("a.count", { to = 3 })), function(envelope)
      return envelope.data * 2
    end))
  end)

  it("ends with the error of the iterator", function()
    local calls = 0
    for _, options in ipairs({ {}, { stop_on_error = false } }) do
      local results, err = map(function()
        calls = calls + 1
        return calls % 2 == 1 and calls or error("no more", 0)
      end, tostring, options)
      assert.is_nil(results)
      assert.equal("no more", err.message)
    end
  end)

  it("continues after failures by option, and returns them by place", function()
    local results, failures = map({ 1, 2, 3, 4 }, function(n)
      operations.sleep((4 - n) / 1000)
      if n == 2 then
        return nil, operations.error("NOT_FOUND", "two")
      end
      return n ~= 4 and n or error("four", 0)
    end, { stop_on_error = false, limit = 2 })
    assert.same({ 1, nil, 3 }, results)
    assert.equal("NOT_FOUND: two", tostring(failures[2]))
    assert.equal("EXECUTION_ERROR: four", tostring(failures[4]))
    assert.is_nil(failures[1] or failures[3])
    results, failures = map({ 1, 2 }, tostring, { stop_on_error = false })
    assert.same({ "1", "2" }, results)
    assert.is_nil(failures)
  end)

  it("is cancelled as well when failures do not end it", function()
    local calls = 0
    operations.run(function()
      local worker = operations.spawn(map, { 1, 2, 3, 4 }, function()
        calls = calls + 1
        operations.sleep(60)
      end, { limit = 2, stop_on_error = false })
      operations.sleep(0.005)
      worker:cancel()
      assert.equal("ABORTED", select(2, worker:wait()).code)
    end)
    assert.equal(2, calls)
  end)

  it("refuses wrong arguments, naming them", function()
    for text, arguments in pairs({
      ["bad argument #1 to 'map' (table or function expected, got number)"] = { 1, print },
      ["bad argument #2 to 'map' (function expected, got nil)"] = { {} },
      ["bad argument #3 to 'map' (table expected, got number)"] = { {}, print, 3 },
      ["bad option 'limits' to 'map' (unknown; did you mean limit?)"] = { {}, print, { limits = 3 } },
      ["bad option 'limit' to 'map'"] = { {}, print, { limit = 0 } },
    }) do
      local ok, raised = pcall(map, arguments[1], arguments[2], arguments[3])
      assert.is_false(ok)
      assert.is_truthy(raised:find(text, 1, true), raised)
    end
  end)
end)
