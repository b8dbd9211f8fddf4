local weight = require("operations.base.weight")

describe("the weight of a value", function()
  it("is about its memory", function()
    assert.equal(0, weight.of(7))
    assert.equal(100, weight.of(("x"):rep(100)))
    assert.is_true(weight.of({ a = ("x"):rep(1000), b = { ("x"):rep(1000) } }) > 2000)
  end)

  it("counts a table once, in a cycle too", function()
    local shared = { ("x"):rep(1000) }
    shared.own = shared
    assert.is_true(weight.of({ shared, shared, shared }) < 2000)
  end)
end)
