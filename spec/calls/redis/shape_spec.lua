local shape = require("operations.calls.redis.shape")

describe("the shape of a reply", function()
  it("is a text, a number, nil, one text, or one of several", function()
    for wanted, values in pairs({ string = { "a" }, integer = { 7 }, ["nil"] = { false }, ["=OK"] = { "OK" },
      entry = { "1-0" }, ["string|nil"] = { "a", false }, ["nil|integer|string"] = { false, 7, "a" } }) do
      for _, value in ipairs({ "a", 7, false, "OK", "1-0", { "a" }, { err = "no" } }) do
        local expected = false
        for _, fitting in ipairs(values) do
          expected = expected or value == fitting or wanted:find("string") ~= nil and type(value) == "string"
        end
        assert.equal(expected, shape.fits(wanted, value), wanted .. " " .. tostring(value))
      end
    end
  end)

  it("is a list, each item of one shape or the first of several", function()
    assert.is_true(shape.fits({ each = "string" }, {}))
    assert.is_true(shape.fits({ each = "string" }, { "a", "b" }))
    assert.is_true(shape.fits({ "integer", "string" }, { 1, "a", {} }))
    for _, wrong in ipairs({ { "a", 1 }, { false }, { err = "x" }, "a", false }) do
      assert.is_false(shape.fits({ each = "string" }, wrong))
    end
    assert.is_false(shape.fits({ "integer", "string" }, { 1 }))
  end)

  it("of entries of streams has ids, and values for all fields", function()
    assert.is_true(shape.fits(shape.of.XRANGE, { { "1-0", { "i", "x" } } }))
    for _, wrong in ipairs({ { { "x", { "i", "x" } } }, { { "1-0", { "i" } } }, { { "1-0", false } }, { "1-0" } }) do
      assert.is_false(shape.fits(shape.of.XRANGE, wrong))
    end
    assert.is_true(shape.fits(shape.of.XREADGROUP, false))
    assert.is_false(shape.fits(shape.of.XRANGE, false))
  end)
end)
