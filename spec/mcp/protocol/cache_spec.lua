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

  it("keeps 256 results, and drops all for one more", function()
    local function keep(i)
      kept:keep("resources/read", { uri = tostring(i) }, { ttlMs = 50 })
    end
    local function count()
      local found = 0
      for i = 1, 257 do
        found = found + (kept:find("resources/read", { uri = tostring(i) }) and 1 or 0)
      end
      return found
    end
    for i = 1, 256 do
      keep(i)
    end
    keep(256) -- again: not a further one
    for _, ttl in ipairs({ 0, -1 }) do
      kept:keep("tools/list", nil, { ttlMs = ttl })
    end
    assert.equal(256, count())
    keep(257)
    assert.equal(1, count())
    for i = 1, 255 do
      keep(i)
    end
    assert.equal(256, count())
  end)

  it("keeps 16 MiB of text, and drops all for more", function()
    local max, around = 16 * 1024 * 1024, #'{"ttlMs":50,"text":""}'
    local function keep(uri, size)
      kept:keep("resources/read", { uri = uri }, { ttlMs = 50, text = ("x"):rep(size - around) })
    end
    local function has(uri)
      return kept:find("resources/read", { uri = uri }) ~= nil
    end
    keep("a", 1000)
    keep("b", max - 1000)
    assert.same({ true, true }, { has("a"), has("b") })
    keep("c", max + 1) -- is not kept at all
    assert.same({ true, true, false }, { has("a"), has("b"), has("c") })
    keep("c", around)
    assert.same({ false, false, true }, { has("a"), has("b"), has("c") })
    keep("d", max - around)
    assert.same({ true, true }, { has("c"), has("d") })
    keep("d", max)
    assert.same({ false, true }, { has("c"), has("d") })
  end)

  it("keeps the lists and what was read, by equal params", function()
    for _, method in ipairs({ "tools/list", "prompts/list", "resources/list", "resources/templates/list",
      "resources/read" }) do
      local params, reversed = {}, {}
      for i = 1, 40 do
        params["p" .. i], reversed["p" .. 41 - i] = i, 41 - i
      end
      kept:keep(method, params, { ttlMs = 1 })
      kept:keep(method, {}, { ttlMs = 1, none = true })
      assert.same({ ttlMs = 1 }, kept:find(method, reversed))
      assert.same({ ttlMs = 1, none = true }, kept:find(method))
    end
  end)

  it("drops stale entries", function()
    kept:keep("tools/list", nil, { ttlMs = 50 })
    now = 1050
    assert.is_nil(kept:find("tools/list"))
    assert.same({}, kept._entries)
  end)
end)
