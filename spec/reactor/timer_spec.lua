local random = require("spec.support.random")

describe("the timers of a reactor", function()
  local module = require("operations.reactor")
  local reactor

  before_each(function()
    reactor = assert(module.new())
  end)

  after_each(function()
    reactor:close()
  end)

  local UNIT = 1e6 -- ms: no machine is that slow
  local function due_in_units()
    local due = reactor:due()
    return due and math.ceil(due / UNIT - 0.5)
  end

  it("are due in the order of their times, whichever are added and cancelled", function()
    for seed = 1, 12 do
      random.seed(seed)
      local timers, count = {}, 0 -- units -> handle
      local function least()
        local found
        for units in pairs(timers) do
          found = math.min(found or units, units)
        end
        return found
      end
      for _ = 1, 150 do
        local units = random.upto(400)
        if timers[units] then
          timers[units]:cancel()
          timers[units] = nil
          count = count - 1
        else
          timers[units] = reactor:timer(units * UNIT)
          count = count + 1
        end
        assert.equal(least(), due_in_units())
        assert.equal(count, reactor:inflight())
      end
      while count > 0 do
        local units = least()
        assert.equal(units, due_in_units())
        timers[units]:cancel()
        timers[units] = nil
        count = count - 1
      end
      assert.equal(0, select("#", reactor:due()))
      assert.equal(0, reactor:inflight())
    end
  end)

  it("are due in their order when hundreds wait, added from the last or the first", function()
    for _, from in ipairs({ 1, 300 }) do
      local timers = {}
      for i = 1, 300 do
        local units = math.abs(from - i) + 1
        timers[units] = reactor:timer(units * UNIT, units)
        assert.equal(from == 1 and 1 or units, due_in_units())
      end
      for units = 1, 300 do
        assert.equal(units, due_in_units())
        assert.equal(units, timers[units]:owner())
        timers[units]:cancel()
      end
    end
  end)

  it("that are due already fire in the next turn, and once", function()
    local handles = { reactor:timer(0, "a"), reactor:timer(-5, "b"), reactor:timer(-math.huge, "c") }
    assert.equal(0, reactor:due())
    reactor:step(-1)
    local told = {}
    for _ = 1, #handles do
      local owner, kind = reactor:next_for()
      assert.equal("timer", kind)
      told[#told + 1] = owner
    end
    table.sort(told)
    assert.same({ "a", "b", "c" }, told)
    assert.is_nil((reactor:next()))
    assert.is_nil((reactor:next_for()))
    assert.equal(0, select("#", reactor:due()))
    reactor:step(0)
    assert.is_false(reactor:pending())
    for _, handle in ipairs(handles) do
      assert.is_false(handle:cancelled())
      handle:cancel()
      assert.is_true(handle:cancelled())
    end
  end)

  it("are in flight until they are due, and can be asked for while writes are held", function()
    assert.is_false(reactor:hold())
    local handle = reactor:timer(UNIT)
    assert.is_true(reactor:hold())
    handle:cancel()
    assert.is_false(reactor:hold())
    local due = reactor:timer(0)
    reactor:step(-1)
    assert.equal(0, reactor:inflight())
    assert.is_true(reactor:hold()) -- it was not pulled yet
    assert.equal(due, (reactor:next()))
    assert.is_false(reactor:hold())
    reactor:release()
  end)

  it("take any time that is a number, and waits do too", function()
    local far = reactor:timer(math.huge)
    assert.is_true(reactor:due() > 1e12)
    assert.error_matches(function() reactor:timer(0 / 0) end, "bad argument #1 to 'timer' %(not a number%)")
    assert.error_matches(function() reactor:step(0 / 0) end, "bad argument #1 to 'step' %(not a number%)")
    assert.error_matches(function() reactor:step() end, "number expected")
    far:cancel()
    for _, timeout in ipairs({ 1e300, math.huge, 2 ^ 31, -1, -0.5, -1e300 }) do
      local soon = reactor:timer(1)
      reactor:step(timeout) -- ends when the timer is due
      assert.equal(soon, (reactor:next()))
    end
  end)
end)
