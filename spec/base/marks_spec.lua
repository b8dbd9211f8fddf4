local core = require("operations.core")
local operations = require("operations")

describe("marks", function()
  it("keep an empty table an array or an object", function()
    assert.equal("array", core.kind(operations.array()))
    assert.equal("array", core.kind(operations.array({})))
    assert.equal("object", core.kind(operations.object({ 1 })))
  end)

  it("return the table they were given", function()
    local t = {}
    assert.equal(t, operations.array(t))
    assert.equal(t, operations.object(t))
  end)

  it("refuse what is no table", function()
    assert.has_error(function() operations.array("x") end, "bad argument #1 to 'array' (table expected, got string)")
    assert.has_error(function() operations.object(1) end, "bad argument #1 to 'object' (table expected, got number)")
  end)

  it("share null with lua-cjson", function()
    assert.equal(require("cjson").null, operations.null)
  end)
end)
