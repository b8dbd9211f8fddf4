local clocks = require("operations.testing.clock")

describe("a clock that tests move", function()
  it("calls what becomes due, in order, and no timer that was stopped", function()
    local clock, seen = clocks.new(0), {}
    local function note(name)
      return function()
        seen[#seen + 1] = name .. " " .. clock.now()
      end
    end
    clock.timer(20, note("b"))
    clock.timer(10, note("a"))
    local stop = clock.timer(15, note("stopped"))
    clock.timer(40, note("later"))
    stop()
    clock.advance(30)
    assert.same({ { "a 10", "b 20" }, 30, 1 }, { seen, clock.now(), clock.timers })
  end)

  it("moves to the next timer while something waits, and says when nothing can happen", function()
    local clock, done = clocks.new(5), false
    clock.timer(1000, function()
      done = true
    end)
    clock.block(function()
      return done
    end)
    assert.equal(1005, clock.now())
    assert.error_matches(function()
      clock.block(function() end)
    end, "every task waits")
  end)
end)
