local core = require("operations.core")
local json = require("operations.base.json")
local outgoing = require("operations.mcp.client.outgoing")

describe("the headers of a request", function()
  it("repeat its revision, method and name", function()
    assert.same({ ["MCP-Protocol-Version"] = "2026-07-28", ["Mcp-Method"] = "tools/call", ["Mcp-Name"] = "echo" },
      outgoing.headers("tools/call", { name = "echo" }, "2026-07-28"))
    assert.equal("memo://a", outgoing.headers("resources/read", { uri = "memo://a" }, "x")["Mcp-Name"])
    assert.is_nil(outgoing.headers("tools/list", { name = "echo" }, "x")["Mcp-Name"])
    assert.is_nil(outgoing.headers("ping", nil, "x")["Mcp-Name"])
  end)

  for value, encoded in pairs({
    ["us-west1"] = "us-west1", ["a b"] = "a b", [""] = "", [" a"] = "=?base64?IGE=?=", ["a "] = "=?base64?YSA=?=",
    ["a\tb"] = "=?base64?YQli?=", ["a\r\nb"] = "=?base64?YQ0KYg==?=", ["é"] = "=?base64?w6k=?=",
    ["=?base64?eA==?="] = "=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
  }) do
    it(("carry %q"):format(value), function()
      assert.equal(encoded, outgoing.encode(value))
    end)
  end

  it("mirror the arguments that a tool's schema names", function()
    local list = assert(outgoing.mirrored({ properties = {
      region = { type = "string", ["x-mcp-header"] = "Region" },
      level = { type = "integer", ["x-mcp-header"] = "Level" },
      on = { type = "boolean", ["x-mcp-header"] = "On" },
      none = { type = "string", ["x-mcp-header"] = "None" },
      null = { type = "string", ["x-mcp-header"] = "Null" },
      plain = { type = "string" },
      inner = { type = "object", properties = { deep = { type = "string", ["x-mcp-header"] = "Deep" } } },
    } }))
    local params = { name = "x", arguments = {
      region = "eu", level = 12, on = false, null = core.null, plain = "p", inner = { deep = "down" },
    } }
    local found = {}
    for name, value in pairs(outgoing.headers("tools/call", params, "x", list)) do
      found[name:match("^Mcp%-Param%-(.*)") or ""] = value
    end
    found[""] = nil
    assert.same({ Region = "eu", Level = "12", On = "false", Deep = "down" }, found)
    assert.is_nil((outgoing.mirrored({ properties = { a = { type = "string" } } })))
  end)

  for number, text in pairs({
    [12.0] = "12", [-3] = "-3", [0] = "0", [1e20] = "100000000000000000000", [-1.5e21] = "-1500000000000000000000",
    [2 ^ 53] = "9007199254740992", [2 ^ 63] = "9223372036854776000", [0.5] = false,
  }) do
    it(("mirror an integer in decimal digits: %g"):format(number), function()
      local params = { name = "x", arguments = { n = number } }
      local list = outgoing.headers("tools/call", params, "x", { { header = "N", path = { "n" } } })
      assert.equal(text or nil, list["Mcp-Param-N"])
    end)
  end

  it("mirror an integer of 64 bits", function()
    for _, text in ipairs({ "9007199254740993", "-9223372036854775808", "18446744073709551615" }) do
      local params = { name = "x", arguments = { n = json.decode(text) } }
      local list = outgoing.headers("tools/call", params, "x", { { header = "N", path = { "n" } } })
      assert.equal(text, list["Mcp-Param-N"])
    end
  end)

  for problem, properties in pairs({
    ["not a valid name of a header"] = { a = { type = "string", ["x-mcp-header"] = "My Region" } },
    ["other than a string, integer or boolean"] = { a = { type = "number", ["x-mcp-header"] = "A" } },
    ["a duplicate"] = {
      a = { type = "string", ["x-mcp-header"] = "Same" }, b = { type = "string", ["x-mcp-header"] = "sAME" },
    },
  }) do
    it("are refused when an annotation is wrong: " .. problem, function()
      local list, why = outgoing.mirrored({ properties = properties })
      assert.is_nil(list)
      assert.matches(problem, why)
    end)
  end
end)

describe("the headers of a tool", function()
  it("are found sixteen objects deep, and what is wrong there is told with its path", function()
    local function nested(depth, property)
      local schema, path = property, {}
      for i = depth, 1, -1 do
        schema, path[depth - i + 1] = { type = "object", properties = { ["p" .. i] = schema } }, "p" .. depth - i + 1
      end
      return schema, path
    end
    local schema, path = nested(16, { type = "string", ["x-mcp-header"] = "A" })
    assert.same({ { header = "A", path = path } }, outgoing.mirrored(schema))
    assert.is_nil(outgoing.mirrored((nested(17, { type = "string", ["x-mcp-header"] = "A" }))))
    assert.same({ nil, "/p1/p2: x-mcp-header is not a valid name of a header" },
      { outgoing.mirrored((nested(2, { type = "string", ["x-mcp-header"] = 7 }))) })
  end)
end)

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
