local log = require("operations.publisher.log")

describe("the log of a topic", function()
  local function filled(keep, ids, bytes)
    local kept, before = log.new(100, keep, bytes or 1000), 100
    for _, id in ipairs(ids) do
      kept:add({ id = id, before = before, text = "xx" })
      before = id
    end
    return kept
  end

  local function ids_after(kept, id)
    local list = {}
    local event = kept:after(id)
    while event do
      list[#list + 1] = event.id
      event = kept:after(event.id)
    end
    return list
  end

  it("gives the events after any id, in their order", function()
    local kept = filled(10, { 101, 105, 106, 110 })
    assert.same({ 101, 105, 106, 110 }, ids_after(kept, 100))
    assert.same({ 105, 106, 110 }, ids_after(kept, 104))
    assert.same({ 110 }, ids_after(kept, 106))
    assert.same({}, ids_after(kept, 110))
    assert.equal(2, kept:count_after(105))
  end)

  it("keeps the newest events, by number and by bytes", function()
    local few = filled(2, { 101, 102, 103 })
    assert.same({ 101, { 102, 103 } }, { few.floor, ids_after(few, 101) })
    local light = filled(10, { 101, 102, 103 }, 5)
    assert.same({ 101, { 102, 103 }, 4 }, { light.floor, ids_after(light, 101), light.bytes })
    assert.same({ 103 }, ids_after(filled(10, { 101, 102, 103 }, 1), 102))
  end)

  it("drops older events where some are missing", function()
    local kept = filled(10, { 101, 102 })
    kept:add({ id = 109, before = 107, text = "xx" })
    assert.same({ 107, { 109 } }, { kept.floor, ids_after(kept, 107) })
    kept:add({ id = 200, before = 0, text = "xx" }) -- another log has begun
    assert.same({ 199, { 200 }, 2 }, { kept.floor, ids_after(kept, 199), kept.bytes })
  end)
end)
