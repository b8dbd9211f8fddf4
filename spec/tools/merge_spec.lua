local merge = require("operations.tools.merge")

describe("allOf as one schema", function()
  it("joins what is required and the properties", function()
    local one = merge.one({ allOf = { { required = { "a" }, properties = { a = { type = "string" } } },
      { ["$ref"] = "#/$defs/b" } } }, { b = { required = { "a", "b" }, properties = { b = true } } })
    assert.same({ "a", "b" }, { one.required[1], one.required[2] })
    assert.same({ type = "string" }, one.properties.a)
    assert.is_true(one.properties.b)
  end)

  it("is none where parts contradict each other, or a reference leads elsewhere or to itself", function()
    assert.is_nil(merge.one({ allOf = { { type = "string" }, { type = "number" } } }, {}))
    assert.is_nil(merge.one({ ["$ref"] = "other.json" }, {}))
    assert.is_nil(merge.one({ ["$ref"] = "#/$defs/a" }, { a = { ["$ref"] = "#/$defs/a" } }))
  end)

  it("reads names in references", function()
    assert.equal("a/b~c", merge.name_of("#/$defs/a~1b~0c"))
    assert.equal("a b", merge.name_of("#/definitions/a%20b"))
    assert.is_nil(merge.name_of("#/properties/a"))
  end)
end)
