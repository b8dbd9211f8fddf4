local base64 = require("operations.base.base64")
local core = require("operations.core")
local headers = require("operations.mcp.server.headers")

local function call(given, params)
  return { http = { headers = given }, version = "2026-07-28", method = "tools/call", params = params or {} }
end

local function flaw(changes, params, method)
  local given = { ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call" }
  for name, value in pairs(changes or {}) do
    given[name] = value or nil
  end
  local found = headers.flaw(call(given, params), method)
  return found and found.message, found
end

describe("the headers of a request", function()
  it("agree with its body", function()
    assert.is_nil((flaw()))
    assert.is_nil((flaw({ ["mcp-name"] = "a" }, { name = "a" }, { named_by = "name" })))
    assert.is_nil((flaw({ ["mcp-protocol-version"] = " 2026-07-28\t" })))
  end)

  it("have to be there, and say the same", function()
    local message, found = flaw({ ["mcp-protocol-version"] = false })
    assert.equal("header mismatch: MCP-Protocol-Version is missing", message)
    assert.equal(400, found.status)
    assert.equal(-32020, found.code)
    assert.equal("header mismatch: Mcp-Method is missing", (flaw({ ["mcp-method"] = false })))
    assert.equal("header mismatch: MCP-Protocol-Version does not agree with the body",
      (flaw({ ["mcp-protocol-version"] = "2025-11-25" })))
    assert.equal("header mismatch: Mcp-Method does not agree with the body", (flaw({ ["mcp-method"] = "ping" })))
  end)

  it("name what is called, where the method has a name", function()
    local method = { named_by = "name" }
    assert.equal("header mismatch: Mcp-Name is missing", (flaw({}, { name = "a" }, method)))
    assert.equal("header mismatch: Mcp-Name does not agree with the body", (flaw({ ["mcp-name"] = "b" }, { name = "a" },
      method)))
    assert.is_nil((flaw({}, { name = 7 }, method)))
    assert.is_nil((flaw({}, { name = "a" }, {})))
    assert.is_nil((flaw({}, { name = "a" })))
  end)

  it("may be base64 where they are no ASCII", function()
    local method = { named_by = "name" }
    local encoded = "=?base64?" .. base64.encode("\195\188") .. "?="
    assert.is_nil((flaw({ ["mcp-name"] = encoded }, { name = "\195\188" }, method)))
    assert.equal("header mismatch: Mcp-Name is malformed",
      (flaw({ ["mcp-name"] = "=?base64?*?=" }, { name = "a" }, method)))
  end)
end)

describe("the headers that repeat arguments", function()
  local schema = { properties = { a = { ["x-mcp-header"] = "Alpha" }, b = {}, c = true, d = { ["x-mcp-header"] = 7 } } }

  local function params_flaw(value, argument, given)
    local found = headers.params_flaw({ ["mcp-param-alpha"] = value }, schema, given or { a = argument, b = 1 })
    return found and found.message
  end

  it("agree with texts, numbers and booleans", function()
    for value, argument in pairs({ x = "x", ["7"] = 7, ["7.0"] = 7, ["true"] = true, ["false"] = false,
      ["=?base64?eA==?="] = "x" }) do
      assert.is_nil(params_flaw(value, argument))
    end
    for value, argument in pairs({ x = "y", ["7"] = 8, z = 7, ["true"] = false, ["1"] = true, ["8"] = "7" }) do
      assert.equal("header mismatch: Mcp-Param-Alpha does not agree with the argument", params_flaw(value, argument))
    end
  end)

  it("are there where their argument is", function()
    assert.is_nil(params_flaw(nil, nil))
    assert.is_nil(params_flaw(nil, core.null))
    assert.equal("header mismatch: Mcp-Param-Alpha is missing", params_flaw(nil, "x"))
    assert.equal("header mismatch: Mcp-Param-Alpha is missing", params_flaw(nil, false))
    assert.equal("header mismatch: Mcp-Param-Alpha has no argument in the body", params_flaw("x", nil))
    assert.equal("header mismatch: Mcp-Param-Alpha has no argument in the body", params_flaw("x", core.null))
    assert.equal("header mismatch: Mcp-Param-Alpha is malformed", params_flaw("=?base64?*?=", "x"))
    assert.equal("header mismatch: Mcp-Param-Alpha has no argument in the body",
      headers.params_flaw({ ["mcp-param-alpha"] = "x" }, schema, nil).message)
  end)

  it("are absent where the schema has no such properties", function()
    for _, other in ipairs({ true, {}, { properties = true }, { properties = {} } }) do
      assert.is_nil(headers.params_flaw({ ["mcp-param-alpha"] = "x" }, other, {}))
    end
  end)
end)
