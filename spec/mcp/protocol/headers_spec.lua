local core = require("operations.core")
local headers = require("operations.mcp.protocol.headers")

describe("the headers of a request", function()
  it("repeat its revision, method and name", function()
    assert.same({ ["MCP-Protocol-Version"] = "2026-07-28", ["Mcp-Method"] = "tools/call", ["Mcp-Name"] = "echo" },
      headers.of("tools/call", { name = "echo" }, "2026-07-28"))
    assert.equal("memo://a", headers.of("resources/read", { uri = "memo://a" }, "x")["Mcp-Name"])
    assert.is_nil(headers.of("tools/list", { name = "echo" }, "x")["Mcp-Name"])
    assert.is_nil(headers.of("ping", nil, "x")["Mcp-Name"])
  end)

  for value, encoded in pairs({
    ["us-west1"] = "us-west1", ["a b"] = "a b", [""] = "", [" a"] = "=?base64?IGE=?=", ["a "] = "=?base64?YSA=?=",
    ["a\tb"] = "=?base64?YQli?=", ["a\r\nb"] = "=?base64?YQ0KYg==?=", ["é"] = "=?base64?w6k=?=",
    ["=?base64?eA==?="] = "=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
  }) do
    it(("carry %q"):format(value), function()
      assert.equal(encoded, headers.encode(value))
    end)
  end

  it("mirror the arguments that a tool's schema names", function()
    local list = assert(headers.mirrored({ properties = {
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
    for name, value in pairs(headers.of("tools/call", params, "x", list)) do
      found[name:match("^Mcp%-Param%-(.*)") or ""] = value
    end
    found[""] = nil
    assert.same({ Region = "eu", Level = "12", On = "false", Deep = "down" }, found)
    assert.is_nil((headers.mirrored({ properties = { a = { type = "string" } } })))
  end)

  for number, text in pairs({
    [12.0] = "12", [-3] = "-3", [0] = "0", [1e20] = "100000000000000000000", [-1.5e21] = "-1500000000000000000000",
    [2 ^ 53] = "9007199254740992", [2 ^ 63] = "9223372036854776000", [0.5] = false,
  }) do
    it(("mirror an integer in decimal digits: %g"):format(number), function()
      local params = { name = "x", arguments = { n = number } }
      local list = headers.of("tools/call", params, "x", { { header = "N", path = { "n" } } })
      assert.equal(text or nil, list["Mcp-Param-N"])
    end)
  end

  for problem, properties in pairs({
    ["no name of a header"] = { a = { type = "string", ["x-mcp-header"] = "My Region" } },
    ["no string, integer or boolean"] = { a = { type = "number", ["x-mcp-header"] = "A" } },
    ["twice"] = {
      a = { type = "string", ["x-mcp-header"] = "Same" }, b = { type = "string", ["x-mcp-header"] = "sAME" },
    },
  }) do
    it("are refused when an annotation is wrong: " .. problem, function()
      local list, why = headers.mirrored({ properties = properties })
      assert.is_nil(list)
      assert.matches(problem, why)
    end)
  end
end)
