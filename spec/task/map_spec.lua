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

  it("has no more calls under way than the limit, and no fewer", function()
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

  it("counts what is raised as failure, and stops functions that never wait", function()
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

  it("refuses wrong arguments, naming them", function()
    for text, arguments in pairs({
      ["bad argument #1 to 'map' (table expected, got number)"] = { 1, print },
      ["bad argument #2 to 'map' (function expected, got nil)"] = { {} },
      ["bad argument #3 to 'map' (table expected, got number)"] = { {}, print, 3 },
      ["bad option 'limit' to 'map'"] = { {}, print, { limit = 0 } },
    }) do
      local ok, raised = pcall(map, arguments[1], arguments[2], arguments[3])
      assert.is_false(ok)
      assert.is_truthy(raised:find(text, 1, true), raised)
    end
  end)
end)
