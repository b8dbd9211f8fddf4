local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local task_deadlines = require("operations.task.deadlines")

describe("the deadlines of many waits", function()
  local host, waiting, expired, deadlines

  before_each(function()
    host, waiting, expired = fake_host.new(1000), {}, {}
    hosts.use(host)
    deadlines = task_deadlines.new(waiting, function(entry)
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

  it("leave alone who waits no more, and wait longer where that was put off", function()
    watch("gone", 2000)
    watch("longer", 2000).limit = 4000
    waiting.gone = nil
    host.advance(2000)
    assert.same({}, expired)
    host.advance(1500)
    assert.same({ "longer" }, expired)
  end)

  it("end nobody once they are stopped, until there is another", function()
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
