local compat = require("operations.compat")

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

  it("closes a suspended coroutine", function()
    local co = coroutine.create(coroutine.yield)
    coroutine.resume(co)
    assert.is_true(compat.close(co))
  end)
end)
