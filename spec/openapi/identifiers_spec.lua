local openapi = require("spec.support.openapi")

local function output(schema, components, version)
  local doc = openapi.one({ responses = { ["200"] = { content = { ["application/json"] = { schema = schema } } } } })
  doc.openapi, doc.components = version or "3.1.0", { schemas = components }
  local api = openapi.api(doc)
  return api.by_name.op.outputSchema, api.report
end

local function target(schema, ref)
  return schema["$defs"][ref:match("^#/%$defs/(.+)$")]
end

describe("a reference in 3.1", function()
  it("may name an anchor", function()
    local schema, report = output({ ["$ref"] = "#pet" }, { Pet = { ["$anchor"] = "pet", type = "integer" } })
    assert.same({}, report)
    assert.same({ type = "integer" }, schema)
  end)

  it("may name a schema by its $id, and go on from there", function()
    local components = {
      Pet = { ["$id"] = "https://example.com/schemas/pet", type = "object", properties = {
        tag = { ["$ref"] = "#/$defs/tag" }, owner = { ["$ref"] = "owner#name" },
      }, ["$defs"] = { tag = { type = "integer" } } },
      Owner = { ["$id"] = "https://example.com/schemas/owner", properties = {
        name = { ["$anchor"] = "name", type = "string" },
      } },
    }
    for _, ref in ipairs({ "https://example.com/schemas/pet", "#/components/schemas/Pet" }) do
      local schema, report = output({ type = "array", items = { ["$ref"] = ref } }, components)
      assert.same({}, report)
      local pet = target(schema, schema.items["$ref"])
      assert.same({ type = "integer" }, target(schema, pet.properties.tag["$ref"]))
      assert.same({ type = "string" }, target(schema, pet.properties.owner["$ref"]))
      assert.is_nil(pet["$id"])
    end
  end)

  it("may be dynamic, and leads where it statically does", function()
    local schema, report = output({ ["$ref"] = "#/components/schemas/Tree" }, { Tree = {
      ["$dynamicAnchor"] = "node", type = "object",
      properties = { kids = { type = "array", items = { ["$dynamicRef"] = "#node" } } },
    } })
    assert.same({}, report)
    local ref = schema.properties.kids.items["$ref"]
    assert.equal("object", target(schema, ref).type)
  end)

  it("to an anchor that is not there is reported", function()
    local _, report = output({ type = "array", items = { ["$ref"] = "#pet" } })
    assert.equal('$ref "#pet" names an anchor that is not there', report[1].message)
  end)
end)

describe("a reference", function()
  it("has escapes of pointers and of URLs", function()
    local schema, report = output({ ["$ref"] = "#/components/schemas/a~1b%7Bc%7D~0" },
      { ["a/b{c}~"] = { type = "integer" } }, "3.0.0")
    assert.same({}, report)
    assert.same({ type = "integer" }, schema)
  end)

  it("may lead through another one", function()
    local schema, report = output({ ["$ref"] = "#/components/schemas/Alias/properties/x" }, {
      Alias = { ["$ref"] = "#/components/schemas/Real" },
      Real = { properties = { x = { type = "integer" } } },
    }, "3.0.0")
    assert.same({}, report)
    assert.same({ type = "integer" }, schema)
  end)
end)
