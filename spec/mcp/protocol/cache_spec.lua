local cache = require("operations.mcp.protocol.cache")

describe("a cache of results", function()
  local now, kept

  before_each(function()
    now = 1000
    kept = cache.new(function()
      return now
    end)
  end)

  it("keeps a result for as long as it says, for its own params", function()
    kept:keep("resources/read", { uri = "a" }, { ttlMs = 50, contents = { 1 } })
    assert.same({ ttlMs = 50, contents = { 1 } }, kept:find("resources/read", { uri = "a" }))
    assert.is_nil(kept:find("resources/read", { uri = "b" }))
    now = 1050
    assert.is_nil(kept:find("resources/read", { uri = "a" }))
  end)

  it("keeps what may be kept only", function()
    kept:keep("tools/call", { name = "x" }, { ttlMs = 50 })
    kept:keep("tools/list", nil, { tools = {} })
    for _, ttl in ipairs({ 0, -1, 0 / 0, 2 ^ 53, math.huge, "50" }) do
      kept:keep("tools/list", nil, { tools = {}, ttlMs = ttl })
    end
    assert.is_nil(kept:find("tools/call", { name = "x" }))
    assert.is_nil(kept:find("tools/list"))
  end)

  it("forgets a method, or everything", function()
    kept:keep("tools/list", nil, { ttlMs = 50 })
    kept:keep("prompts/list", nil, { ttlMs = 50 })
    kept:forget("tools/list")
    assert.is_nil(kept:find("tools/list"))
    assert.same({ ttlMs = 50 }, kept:find("prompts/list"))
    kept:forget()
    assert.is_nil(kept:find("prompts/list"))
  end)

  it("keeps nothing that was asked for before its method, or everything, was forgotten", function()
    for _, forgotten in ipairs({ "tools/list", false }) do
      local generation = kept:generation("tools/list")
      kept:forget(forgotten or nil)
      kept:keep("tools/list", nil, { ttlMs = 50 }, generation)
      assert.is_nil(kept:find("tools/list"))
    end
    local generation = kept:generation("tools/list")
    kept:forget("prompts/list")
    kept:keep("tools/list", nil, { ttlMs = 50 }, generation)
    assert.same({ ttlMs = 50 }, kept:find("tools/list"))
  end)

  it("does not grow without end", function()
    for i = 1, 1000 do
      kept:keep("resources/read", { uri = tostring(i) }, { ttlMs = 50 })
    end
    local count = 0
    for _ in pairs(kept._entries) do
      count = count + 1
    end
    assert.is_true(count <= 256)
    assert.same({ ttlMs = 50 }, kept:find("resources/read", { uri = "1000" }))
  end)

  it("keeps no more than so many bytes, however large the results", function()
    local text = ("x"):rep(5 * 1024 * 1024)
    for i = 1, 10 do
      kept:keep("resources/read", { uri = tostring(i) }, { ttlMs = 50, text = text })
    end
    local bytes = 0
    for _, entry in pairs(kept._entries) do
      bytes = bytes + #entry.text
    end
    assert.is_true(bytes <= 16 * 1024 * 1024)
    assert.equal(text, kept:find("resources/read", { uri = "10" }).text)
  end)

  it("drops stale entries", function()
    kept:keep("tools/list", nil, { ttlMs = 50 })
    now = 1050
    assert.is_nil(kept:find("tools/list"))
    assert.same({}, kept._entries)
  end)
end)
