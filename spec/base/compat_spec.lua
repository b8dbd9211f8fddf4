local compat = require("operations.base.compat")

describe("compat", function()
  it("packs with a count and unpacks with holes", function()
    local packed = compat.pack(1, nil, 3, nil)
    assert.equal(4, packed.n)
    assert.same({ 1, nil, 3 }, { compat.unpack(packed, 1, 3) })
  end)

  it("calls a finalizer once its value is collected", function()
    local calls = 0
    local sentinel = compat.finalizer(function()
      calls = calls + 1
    end)
    collectgarbage()
    assert.equal(0, calls, sentinel)
    sentinel = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    assert.equal(1, calls)
  end)

  it("tells which arguments a function looks at", function()
    assert.is_false(compat.takes(function() end, 1))
    assert.is_true(compat.takes(function(_, _) end, 2))
    assert.is_false(compat.takes(function(_, _) end, 3))
    assert.is_true(compat.takes(function(...) return ... end, 9))
    assert.is_true(compat.takes(print, 2))
  end)

  it("closes a suspended coroutine", function()
    local co = coroutine.create(coroutine.yield)
    coroutine.resume(co)
    assert.is_true(compat.close(co))
  end)
end)
