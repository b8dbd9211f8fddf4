local lru = require("operations.base.lru")

describe("a map of limited size", function()
  local function keys(map)
    local list = {}
    for key in pairs(map._by_key) do
      list[#list + 1] = key
    end
    table.sort(list)
    return table.concat(list)
  end

  it("forgets what was used least recently", function()
    local map = lru.new(3)
    for key in ("abc"):gmatch(".") do
      map:put(key, key:upper())
    end
    assert.equal("A", map:get("a"))
    map:put("d", "D")
    assert.equal("acd", keys(map))
    map:put("c", "again")
    map:put("e", "E")
    assert.same({ "cde", "again", 3 }, { keys(map), map:get("c"), map.count })
    assert.is_nil(map:get("a"))
  end)

  it("is bounded by weight as well", function()
    local map = lru.new(100, 10)
    map:put("a", 1, 4)
    map:put("b", 2, 6)
    assert.same({ "ab", 10 }, { keys(map), map.weight })
    map:put("c", 3, 1)
    assert.same({ "bc", 7 }, { keys(map), map.weight })
    map:put("b", 4, 3)
    assert.same({ "bc", 4, 2 }, { keys(map), map.weight, map.count })
    map:put("d", 5, 11)
    assert.same({ "bc", 4 }, { keys(map), map.weight })
    map:put("b", 6, 11)
    assert.same({ "c", 1 }, { keys(map), map.weight })
  end)

  it("forgets one, or all", function()
    local map = lru.new(3)
    map:put("a", 1, 2)
    map:put("b", 2, 2)
    map:put("c", 3, 2)
    map:remove("b")
    map:remove("b")
    assert.same({ "ac", 4, 2 }, { keys(map), map.weight, map.count })
    map:remove("c")
    map:remove("a")
    map:put("d", 4)
    assert.equal("d", keys(map))
    map:clear()
    assert.same({ "", 0, 0 }, { keys(map), map.weight, map.count })
    map:put("e", 5)
    assert.equal(5, map:get("e"))
    assert.same({ 0, 1 }, { map.weight, map.count }) -- an entry without a weight weighs nothing
  end)
end)
