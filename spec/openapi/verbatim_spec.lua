local verbatim = require("operations.openapi.verbatim")

describe("the original schemas of a document", function()
  local function component(name)
    return { ["$ref"] = "#/components/schemas/" .. name }
  end

  local function reader()
    return verbatim.reader({ components = { schemas = {
      Pet = { type = "object", readOnly = true, properties = { owner = component("Owner"), pets = component("Pet") } },
      Owner = { type = "string" }, ["a/b"] = { items = { type = "integer" } }, Any = true, None = false,
      Elsewhere = { items = { ["$ref"] = "#/paths/x" } }, Lost = { items = component("Gone") },
    } } })
  end

  it("have the components that they need as definitions", function()
    local function inner(name)
      return { ["$ref"] = "#/$defs/" .. name }
    end
    local owner = { type = "string" }
    assert.same({ ["$ref"] = "#/$defs/Owner", ["$defs"] = { Owner = owner } }, reader():schema(component("Owner")))
    assert.same({ items = inner("Pet"), ["$defs"] = { Owner = owner, Pet = { type = "object", readOnly = true,
      properties = { owner = inner("Owner"), pets = inner("Pet") } } } }, reader():schema({ items = component("Pet") }))
    assert.same({ items = inner("a~1b/items"), ["$defs"] = { ["a/b"] = { items = { type = "integer" } } } },
      reader():schema({ items = component("a~1b/items") }))
    assert.same({ anyOf = { inner("Any"), inner("None") }, ["$defs"] = { Any = true, None = false } },
      reader():schema({ anyOf = { component("Any"), component("None") } }))
  end)

  it("are found by names that are encoded in a reference, and by names that cannot be decoded", function()
    for written, name in pairs({ ["a%20b"] = "a b", ["%25"] = "%", ["%zz"] = "%zz" }) do
      local made = verbatim.reader({ components = { schemas = { [name] = { type = "string" } } } })
        :schema({ items = component(written) })
      assert.same({ type = "string" }, made and made["$defs"][name], written)
    end
  end)

  it("have the targets of a discriminator's mapping as definitions", function()
    local function schema_with(target)
      return { discriminator = { propertyName = "t", mapping = { a = target, b = 7 } } }
    end
    local expected = schema_with("#/$defs/Owner")
    expected["$defs"] = { Owner = { type = "string" } }
    assert.same(expected, reader():schema(schema_with("#/components/schemas/Owner")))
  end)

  it("are themselves without references", function()
    for _, schema in ipairs({ true, false, { type = "string" } }) do
      assert.same(schema, reader():schema(schema))
    end
    assert.is_true(reader():schema({}))
  end)

  it("keep an $id and what it contains, but for one that only the document has", function()
    local schema = { ["$id"] = "https://a.test/x", items = { ["$ref"] = "#/y" } }
    assert.same(schema, reader():schema(schema))
    local named = { ["$id"] = "urn:x-operation:a.b", items = { ["$ref"] = "#/y" } }
    assert.same({ items = { ["$ref"] = "#/y" } }, reader():schema(named))
    assert.equal("urn:x-operation:a.b", named["$id"])
  end)

  it("are unknown where a reference leads elsewhere", function()
    for _, name in ipairs({ "Gone", "Elsewhere", "Lost" }) do
      local ours = reader()
      for _ = 1, 2 do
        assert.is_nil(ours:schema({ items = component(name) }))
      end
    end
    assert.is_nil(reader():schema({ items = { ["$ref"] = "#/paths/x" } }))
    for _, components in ipairs({ 7, { schemas = 7 } }) do
      assert.is_nil(verbatim.reader({ components = components }):schema(component("Owner")))
    end
  end)
end)
