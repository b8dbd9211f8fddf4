local shares = require("operations.base.shares")

local function made()
  return shares.new({ count = 6, weight = 60, owner_count = 4, owner_weight = 40 })
end

describe("shares", function()
  it("keep the entries of owners apart", function()
    local kept = made()
    kept:put("a", "k", 1, 10)
    kept:put("b", "k", 2, 10)
    assert.same({ 1, 2, 2, 20 }, { kept:get("a", "k"), kept:get("b", "k"), kept.count, kept.weight })
    kept:remove("a", "k")
    kept:remove("a", "k")
    kept:remove("c", "k")
    assert.same({ 2, 1, 10 }, { kept:get("b", "k"), kept.count, kept.weight })
    assert.is_nil(kept:get("a", "k"))
  end)

  it("cost an owner with too much its own entries, the one used least recently first", function()
    local kept = made()
    kept:put("b", "k", true, 10)
    for i = 1, 4 do
      kept:put("a", "k" .. i, i, 1)
    end
    kept:get("a", "k1")
    kept:put("a", "k5", 5, 1)
    assert.same({ 1, nil, 3 }, { kept:get("a", "k1"), kept:get("a", "k2"), kept:get("a", "k3") })
    kept:put("a", "heavy", 6, 40)
    assert.same({ 6, 2, 50 }, { kept:get("a", "heavy"), kept.count, kept.weight })
    kept:put("a", "heavier", 7, 41)
    assert.is_nil(kept:get("a", "heavier"))
    assert.is_true(kept:get("b", "k"))
  end)

  it("cost the owner with most when all are too many", function()
    local kept = made()
    for i = 1, 4 do
      kept:put("a", "k" .. i, i, 1)
    end
    for i = 1, 3 do
      kept:put("b", "k" .. i, i, 1)
    end
    assert.equal(6, kept.count)
    assert.is_nil(kept:get("a", "k1"))
    assert.equal(1, kept:get("b", "k1"))
    kept:put("b", "heavy", 1, 30)
    kept:put("c", "heavy", 1, 40)
    assert.is_true(kept.weight <= 60)
  end)
end)
