local outgoing = require("operations.mcp.client.outgoing")

describe("the HTTP request that carries an MCP message", function()
  local link, list

  before_each(function()
    list = outgoing.new()
    link = { _config = { url = "http://x/" }, _version = "2026-07-28", _modern = true }
    function link:headers()
      return { ["Mcp-Session-Id"] = self._session }
    end
  end)

  local function of(method, name, options)
    return list:request(link, method, { name = name }, options or {})
  end

  it("is the same for messages that differ in their bodies only", function()
    local first = of("tools/call", "a")
    assert.equal("a", first.headers["Mcp-Name"])
    assert.equal(first, of("tools/call", "a"))
    assert.equal("b", of("tools/call", "b").headers["Mcp-Name"])
    assert.equal("prompts/get", of("prompts/get", "a").headers["Mcp-Method"])
    link._modern = false
    assert.equal(of("tools/call", "a"), of("tools/call", "b"))
  end)

  it("may be sent twice when that does nothing twice", function()
    assert.is_false(of("tools/call", "a").idempotent)
    assert.is_true(of("tools/call", "a", { repeatable = true }).idempotent)
    assert.is_true(of("prompts/get", "a").idempotent)
    link._modern = false
    assert.is_false(of("tools/call", "a").idempotent)
    assert.is_true(of("tools/list").idempotent)
  end)

  it("is another one in another session, or of another revision", function()
    link._modern = false
    local first = of("tools/call", "a")
    link._session = "s"
    assert.equal("s", of("tools/call", "a").headers["Mcp-Session-Id"])
    link._session, link._version = nil, "2025-03-26"
    assert.are_not.equal(first, of("tools/call", "a"))
  end)

  it("is made for each message that has arguments in its headers", function()
    local mirrored = { { header = "X", path = { "x" } } }
    for _, text in ipairs({ "a", "b" }) do
      local request = list:request(link, "tools/call", { name = "t", arguments = { x = text } },
        { mirrored = mirrored })
      assert.equal(text, request.headers["Mcp-Param-X"])
    end
  end)

  it("is forgotten when there are many", function()
    local first = of("resources/read", "0")
    for i = 1, 200 do
      assert.equal(of("tools/call", "t" .. i), of("tools/call", "t" .. i))
    end
    assert.are_not.equal(first, of("resources/read", "0"))
  end)
end)
