local backoff = require("operations.base.backoff")

describe("a back-off", function()
  it("doubles with every failure, up to its limit", function()
    for failures, expected in ipairs({ 100, 200, 400, 800, 1000, 1000 }) do
      assert.equal(expected, backoff.delay(100, failures, 1000))
    end
  end)

  it("is the first delay before anything failed, and stays finite", function()
    assert.equal(100, backoff.delay(100, 0, 1000))
    assert.equal(1000, backoff.delay(100, 1e6, 1000))
    assert.equal(0, backoff.delay(0, 1e6, 1000))
  end)

  it("is changed by chance within its share, in the direction of its sign", function()
    local least, most = math.huge, 0
    for _ = 1, 1000 do
      local longer, shorter = backoff.spread(100, 0.25), backoff.spread(100, -0.5)
      assert.is_true(longer >= 100 and longer < 125)
      assert.is_true(shorter > 50 and shorter <= 100)
      least, most = math.min(least, longer), math.max(most, longer)
    end
    assert.is_true(most - least > 10)
    assert.equal(100, backoff.spread(100, 0))
  end)
end)
