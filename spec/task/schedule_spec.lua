local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local operations = require("operations")
local task = require("operations.task")

describe("operations.every", function()
  local host, told, previous

  -- 2026-03-02 08:58:30, a Monday, in local time
  local start = os.time({ year = 2026, month = 3, day = 2, hour = 8, min = 58, sec = 30 }) * 1000

  before_each(function()
    host, told = fake_host.new(start), {}
    hosts.use(host)
    previous = operations.on_error(function(failure)
      told[#told + 1] = tostring(failure)
    end)
  end)

  after_each(function()
    operations.on_error(previous)
    hosts.use("plain")
  end)

  -- Runs a schedule until it was called `count` times; the times of the runs, in seconds since the start.
  local function runs(count, when, options, fn)
    local seen = {}
    host = fake_host.new(start)
    hosts.use(host)
    task.run(function()
      local job
      job = operations.every(when, function(due)
        seen[#seen + 1] = (host.now() - start) / 1000
        if #seen >= count then
          job:stop()
        end
        if fn then
          return fn(#seen, due)
        end
      end, options)
      job:wait()
    end)
    return seen
  end

  -- The local times at which a line of cron is due.
  local function due(count, line)
    local list = runs(count, line)
    for i, seconds in ipairs(list) do
      list[i] = os.date("%a %d %H:%M", start / 1000 + math.floor(seconds))
    end
    return list
  end

  it("runs a function at intervals, the first time after one of them or at once", function()
    assert.same({ 10, 20, 30 }, runs(3, 10))
    assert.same({ 0, 10, 20 }, runs(3, 10, { now = true }))
  end)

  it("leaves out runs that are missed while one takes longer", function()
    assert.same({ 10, 40, 50 }, runs(3, 10, nil, function(count)
      operations.sleep(count == 1 and 25 or 0)
    end))
  end)

  it("lets runs overlap by option", function()
    assert.same({ 10, 20, 30 }, runs(3, 10, { overlap = true }, function()
      operations.sleep(25)
    end))
  end)

  it("continues after a run that fails, and tells on_error", function()
    assert.same({ 10, 20, 30 }, runs(3, 10, nil, function(count)
      if count == 1 then
        error("first", 0)
      elseif count == 2 then
        return nil, operations.error("BUSY", "second")
      end
    end))
    assert.matches("first", told[1])
    assert.equal("BUSY: second", told[2])
  end)

  it("delays runs by chance, up to the jitter", function()
    for i, at in ipairs(runs(3, 10, { jitter = 4 })) do
      assert.is_true(at >= 10 * i and at < 10 * i + 4)
    end
  end)

  it("runs at the times of a line of cron", function()
    assert.same({ "Mon 02 08:59", "Mon 02 09:00" }, due(2, "* * * * *"))
    assert.same({ "Mon 02 09:00", "Mon 02 09:15", "Mon 02 09:30" }, due(3, "*/15 9-17 * * mon-fri"))
    assert.same({ "Mon 02 10:00" }, due(1, "0 10 * * *"))
    assert.same({ "Tue 03 00:00", "Wed 04 00:00" }, due(2, "@daily"))
    assert.same({ "Sun 08 00:00" }, due(1, "0 0 * * 7"))
    assert.same({ "Tue 03 06:30", "Sat 07 06:30", "Tue 10 06:30" }, due(3, "30 6 10 * 2,6"))
    assert.same({ "Wed 01 00:00" }, due(1, "0 0 1 apr *"))
  end)

  it("refuses other values than seconds and lines of cron", function()
    for text, when in pairs({ ["seconds above 0"] = 0, ["minute hour day"] = "* * *",
      ['"61" is no value of min'] = "61 * * * *",
      ['"x" is no value of wday'] = "* * * * x", ['"*/0" is no value of hour'] = "* */0 * * *" }) do
      assert.error_matches(function()
        operations.every(when, print)
      end, text, 1, true)
    end
    assert.error_matches(function()
      operations.every(1, print, { jiter = 1 })
    end, "jiter")
  end)

  it("waits for the running one when it is stopped, no longer than it is told", function()
    for grace, expected in pairs({ [5000] = "ended", [1000] = "cut" }) do
      local state = "never"
      task.run(function()
        local job = operations.every(10, function()
          state = "cut"
          operations.sleep(3)
          state = "ended"
        end)
        operations.sleep(11)
        job:stop(grace)
      end)
      assert.equal(expected, state)
    end
  end)
end)
