local task_waiters = require("operations.task.waiters")

describe("who waits for the same thing", function()
  local list, called

  before_each(function()
    list, called = {}, {}
  end)

  local function add(name)
    return task_waiters.add(list, function()
      called[#called + 1] = name
    end)
  end

  it("is called in the order they came, without those who left", function()
    add("first")
    local leave = add("second")
    add("third")
    leave()
    task_waiters.wake(list)
    assert.same({ "first", "third" }, called)
  end)

  it("leaves nothing behind when nobody is called", function()
    local leave = add("long")
    for _ = 1, 100 do
      local a, b = add("short"), add("short")
      a()
      b()
    end
    assert.equal(1, #list)
    leave()
    assert.equal(0, #list)
  end)
end)
