local merge = require("operations.tools.merge")

describe("allOf as one schema", function()
  it("joins what is required and the properties", function()
    local one = merge.one({ allOf = { { required = { "a" }, properties = { a = { type = "string" } } },
      { ["$ref"] = "#/$defs/b" } } }, { b = { required = { "a", "b" }, properties = { b = true } } })
    assert.same({ "a", "b" }, { one.required[1], one.required[2] })
    assert.same({ type = "string" }, one.properties.a)
    assert.is_true(one.properties.b)
  end)

  it("is refused where parts contradict each other, or a reference leads elsewhere or to itself", function()
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

describe("parts of a schema", function()
  local function one(parts, definitions, more)
    local schema = { allOf = parts }
    for key, value in pairs(more or {}) do
      schema[key] = value
    end
    return merge.one(schema, definitions or {})
  end

  it("say the same together as one, whatever they describe", function()
    assert.same({ type = "string", minLength = 1, description = "own", title = "T" }, one({ { type = "string",
      description = "other", title = "T" }, { minLength = 1, type = "string" }, true }, nil, { description = "own" }))
    assert.same({ enum = { { a = 1 } } }, one({ { enum = { { a = 1 } } }, { enum = { { a = 1 } } } }))
    assert.same({ type = "string" }, merge.one({ type = "string" }, {}))
    assert.same({}, one({}))
    assert.same({ allOf = nil, type = "string" }, merge.one({ type = "string", allOf = 7 }, {}))
  end)

  it("are not merged where they differ, or one is false", function()
    assert.is_nil(one({ { minLength = 1 }, { minLength = 2 } }))
    assert.is_nil(one({ false }))
    assert.is_nil(one({ 7 }))
    assert.is_nil(merge.one(true, {}))
    assert.is_nil(one({ { ["$ref"] = "#/$defs/x" } }))
  end)

  it("are not merged where one is closed to the properties of another", function()
    for _, closed in ipairs({ { additionalProperties = false }, { additionalProperties = { type = "string" } },
      { unevaluatedProperties = false }, { patternProperties = {} } }) do
      closed.properties = { a = true }
      assert.is_nil(one({ closed, { properties = { b = true } } }))
      assert.is_nil(one({ closed }, nil, { properties = { b = true } }))
      assert.is_not_nil(one({ closed, { required = { "a" } } }))
    end
    assert.is_not_nil(one({ { additionalProperties = true, properties = { a = true } },
      { properties = { b = true } } }))
  end)

  it("are followed 32 references deep", function()
    local definitions = {}
    for i = 1, 40 do
      definitions["d" .. i] = { ["$ref"] = "#/$defs/d" .. i + 1 }
    end
    definitions.d41 = { type = "string" }
    assert.same({ type = "string" }, merge.one({ ["$ref"] = "#/$defs/d10" }, definitions))
    assert.is_nil(merge.one({ ["$ref"] = "#/$defs/d9" }, definitions))
  end)

  it("are at most 1,000 with what they refer to", function()
    local function parts(count)
      local list = {}
      for i = 1, count do
        list[i] = i == 1 and { ["$ref"] = "#/$defs/A" } or { type = "string" }
      end
      return merge.one({ allOf = list }, { A = { title = "a" } })
    end
    assert.same({ type = "string", title = "a" }, parts(998))
    assert.is_nil(parts(999))
  end)

  it("leave the definitions as they are, and take none of theirs along", function()
    local definition = { type = "object", ["$defs"] = { x = true }, definitions = { y = true } }
    assert.same({ type = "object", title = "T" },
      merge.one({ ["$ref"] = "#/$defs/a", title = "T" }, { a = definition }))
    assert.is_table(definition["$defs"])
  end)

  it("are distinguished from annotations", function()
    for _, key in ipairs({ "title", "description", "default", "examples", "example", "deprecated", "readOnly",
      "writeOnly", "$comment", "$schema", "$id", "x-more" }) do
      assert.is_true(merge.is_annotation(key))
    end
    for _, key in ipairs({ "type", "x", "required" }) do
      assert.is_falsy(merge.is_annotation(key))
    end
  end)

  it("have definitions of both names", function()
    assert.same({ a = 1, b = 3 }, merge.definitions({ definitions = { a = 1, b = 2 }, ["$defs"] = { b = 3 } }))
    for _, none in ipairs({ true, {}, { ["$defs"] = 7, definitions = 7 } }) do
      assert.same({}, merge.definitions(none))
    end
  end)
end)
