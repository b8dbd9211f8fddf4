local core = require("operations.core")
local json = require("operations.base.json")

--- What an operation keeps of a value, which is given out as another copy.
local function copy(value)
  return core.registry():operation({ namespace = "a", name = "b", _meta = { value = value } }):spec()._meta.value
end

describe("a copy", function()
  it("shares no table with the original", function()
    local original = { list = { 1, { "x" } }, flag = false, text = "y" }
    local new = copy(original)
    assert.same(original, new)
    assert.not_equal(original, new)
    assert.not_equal(original.list, new.list)
    assert.not_equal(original.list[2], new.list[2])
  end)

  it("keeps values that are no tables", function()
    for _, value in ipairs({ 7, "x", true, core.null, print }) do
      assert.equal(value, copy(value))
    end
  end)

  it("keeps marks", function()
    local new = copy({ array = setmetatable({}, core.array_mt), object = setmetatable({}, core.object_mt) })
    assert.equal(core.array_mt, getmetatable(new.array))
    assert.equal(core.object_mt, getmetatable(new.object))
  end)

  it("keeps the orders of properties", function()
    local text = '{"properties":{"z":1,"a":{"properties":{"y":1,"b":2}},"m":{"x":1}},"list":[{"properties":{"q":1}}]}'
    local original = assert(json.decode(text, { property_order = true }))
    local new, order = copy(original), core.property_order
    assert.same(original, new)
    for _, value in ipairs({ original, new }) do
      assert.same({ "z", "a", "m" }, order[value.properties])
      assert.same({ "y", "b" }, order[value.properties.a.properties])
      assert.same({ "q" }, order[value.list[1].properties])
      assert.is_nil(order[value] or order[value.properties.m] or order[value.list])
    end
    assert.is_nil(order[copy(json.decode(text)).properties])
  end)

  it("has no finalizer", function()
    local ran = 0
    local original = setmetatable({ 1 }, { __gc = function() ran = ran + 1 end })
    local new = copy(original)
    assert.is_nil(getmetatable(new))
    assert.equal(1, new[1])
    new = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    assert.equal(0, ran)
    assert.is_table(original)
  end)

  it("of a table with one member twice has one copy twice", function()
    local shared = { "x" }
    local new = copy({ a = shared, b = { shared } })
    assert.equal(new.a, new.b[1])
    assert.not_equal(shared, new.a)
  end)

  it("of a table that contains itself contains itself", function()
    local original = {}
    original.itself = original
    local new = copy(original)
    assert.equal(new, new.itself)
    assert.not_equal(original, new)
  end)

  it("may be as deep as memory allows", function()
    local deep = {}
    for _ = 1, 50000 do
      deep = { deep }
    end
    local at, depth = copy(deep), -1
    while at do
      at, depth = at[1], depth + 1
    end
    assert.equal(50000, depth)
  end)
end)
