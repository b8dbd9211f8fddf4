local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local task_wait = require("operations.task.wait")

describe("the tasks that wait for the same thing", function()
  local list, called

  before_each(function()
    list, called = {}, {}
  end)

  local function add(name)
    return task_wait.add(list, function()
      called[#called + 1] = name
    end)
  end

  it("are resumed in order of arrival, without those that left", function()
    add("first")
    local leave = add("second")
    add("third")
    leave()
    task_wait.wake(list)
    assert.same({ "first", "third" }, called)
  end)

  it("leaves nothing behind when no waiter is called", function()
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

describe("the deadlines of many waits", function()
  local host, waiting, expired, deadlines

  before_each(function()
    host, waiting, expired = fake_host.new(1000), {}, {}
    hosts.use(host)
    deadlines = task_wait.deadlines(waiting, function(entry)
      waiting[entry.name] = nil
      expired[#expired + 1] = entry.name
    end)
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function watch(name, limit)
    waiting[name] = { name = name }
    deadlines:watch(waiting[name], limit)
    return waiting[name]
  end

  it("end each of them in time, with one timer", function()
    watch("late", 3000)
    watch("early", 2000)
    assert.equal(1, host.timers)
    host.advance(1500)
    assert.same({ "early" }, expired)
    host.advance(1500)
    assert.same({ "early", "late" }, expired)
    assert.equal(0, host.timers)
  end)

  it("leave alone tasks that wait no more, and wait longer where the deadline was moved", function()
    watch("gone", 2000)
    watch("longer", 2000).limit = 4000
    waiting.gone = nil
    host.advance(2000)
    assert.same({}, expired)
    host.advance(1500)
    assert.same({ "longer" }, expired)
  end)

  it("end no wait once they are stopped, until there is another", function()
    watch("one", 2000)
    deadlines:stop()
    assert.equal(0, host.timers)
    host.advance(5000)
    assert.same({}, expired)
    watch("two", 7000)
    host.advance(5000)
    table.sort(expired)
    assert.same({ "one", "two" }, expired)
  end)
end)
