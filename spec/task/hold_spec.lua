local hold = require("operations.task.hold")
local task = require("operations.task")

describe("a hold", function()
  local told
  local function over(err, a, b, c)
    told[#told + 1] = { err and err.code or "-", a, b, c }
  end

  local function collect()
    for _ = 1, 5 do
      collectgarbage()
      task.sleep(0)
    end
  end

  before_each(function()
    told = {}
  end)

  it("is given back once, with the error of the call", function()
    local held = hold.new(over, 1, 2, 3)
    held:release()
    held:release({ code = "LATE" })
    assert.same({ { "-", 1, 2, 3 } }, told)
  end)

  it("is given back when the coroutine of its call is dropped", function()
    local co = coroutine.create(function()
      local held = hold.new(over, 1)
      coroutine.yield()
      held:release()
    end)
    coroutine.resume(co)
    collect()
    assert.same({}, told)
    co = nil -- luacheck: ignore 311
    collect()
    assert.same({ { "ABORTED", 1 } }, told)
  end)

  it("is given back when a subscription inside a task is dropped", function()
    task.run(function()
      local co = coroutine.create(function()
        local held = hold.new(over, 1)
        coroutine.yield()
        held:release()
      end)
      task.resume(co)
      co = nil -- luacheck: ignore 311
      collect()
    end)
    assert.same({ { "ABORTED", 1 } }, told)
  end)

  it("may wait when it is released without a waiter", function()
    local waited = false
    local co = coroutine.create(function()
      local held = hold.new(function()
        task.sleep(0)
        waited = true
      end)
      coroutine.yield()
      held:release()
    end)
    coroutine.resume(co)
    co = nil -- luacheck: ignore 311
    collect()
    assert.is_true(waited)
  end)

  it("costs a task, which nothing drops, no finalizer", function()
    task.run(function()
      assert.is_nil(hold.new(over).sentinel)
    end)
    assert.is_nil(hold.new(over).sentinel or nil)
  end)
end)
