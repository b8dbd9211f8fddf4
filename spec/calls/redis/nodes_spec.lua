local redis_nodes = require("operations.calls.redis.nodes")

describe("the nodes on Redis", function()
  local nodes

  before_each(function()
    nodes = redis_nodes.new()
  end)

  local function picked(operation, times)
    local ids = {}
    for _ = 1, times do
      ids[nodes:pick(operation).id] = true
    end
    return ids
  end

  it("serve what they say; only another version than the known one is a change", function()
    local x, changed = nodes:hear("x", 1, { "b", "a", 3 })
    assert.same({ true, "x", 1, { a = true, b = true } }, { changed, x.id, x.version, x.offers })
    assert.same({ x, false }, { nodes:hear("x", 1) })
    assert.same({ x, true }, { nodes:hear("x", 2) })
    assert.same({ a = true, b = true }, x.offers) -- until it tells them
    assert.same({ x, true }, { nodes:hear("x", 2, { "c" }) })
    assert.same({ x, false }, { nodes:hear("x") })
    nodes:hear("y", 1, { "a", "c" })
    assert.same({ "a", "c" }, nodes:offered())
    assert.same({ -1, {} }, { nodes:hear("z").version, nodes:hear("z").offers })
    assert.equal(-1, nodes:hear("z", nil, { "a" }).version)
  end)

  it("have not been silent when they are heard", function()
    nodes:hear("x", 1).silence = 3
    assert.equal(0, nodes:hear("x").silence)
  end)

  it("get a call where they serve it, the less loaded of two", function()
    local x = nodes:hear("x", 1, { "a", "b" })
    nodes:hear("y", 1, { "a" })
    assert.equal("x", nodes:pick("b").id)
    assert.is_nil(nodes:pick("c"))
    assert.same({ x = true, y = true }, picked("a", 100))
    nodes:assign({ requestId = "1" }, x)
    nodes:assign({ requestId = "1" }, x)
    assert.equal(1, x.load)
    assert.same({ y = true }, picked("a", 50))
    nodes:hear("z", 1, { "a" })
    assert.same({ y = true, z = true }, picked("a", 300))
  end)

  it("run a request until it is released", function()
    local x = nodes:hear("x", 1, { "a" })
    nodes:assign({ requestId = "1" }, x)
    assert.equal(x, nodes:of("1"))
    assert.same({ requestId = "1" }, nodes:release("1"))
    assert.same({ nil, nil }, { nodes:of("1"), nodes:release("1") })
    assert.same({ 0, {} }, { x.load, x.requests })
  end)

  it("tell a subscription from another call", function()
    local x = nodes:hear("x", 1, { "a" })
    nodes:assign({ requestId = "1" }, x)
    nodes:assign({ requestId = "2", credit = 0 }, x)
    assert.same({ false, true, false }, { nodes:streams("1"), nodes:streams("2"), nodes:streams("3") })
  end)

  it("leave their requests and ours when they are forgotten", function()
    local x, y = nodes:hear("x", 1, { "a" }), nodes:hear("y", 1, { "a" })
    nodes:assign({ requestId = "2" }, x)
    nodes:assign({ requestId = "1" }, x)
    nodes:assign({ requestId = "3" }, y)
    x.serving = { ["5"] = true, ["4"] = true }
    y.serving["6"] = true
    local all = nodes:serving()
    table.sort(all)
    assert.same({ "4", "5", "6" }, all)
    local ours, its = nodes:forget(x)
    assert.same({ { { requestId = "1" }, { requestId = "2" } }, { "4", "5" } }, { ours, its })
    assert.same({ nil, y, { "6" } }, { nodes.by_id.x, nodes:of("3"), nodes:serving() })
    assert.is_nil(nodes:of("1"))
  end)
end)
