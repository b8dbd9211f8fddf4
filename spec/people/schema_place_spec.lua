local json = require("operations.base.json")
local schema_place = require("operations.people.schema_place")

local schema = json.decode([[{"type":"object","$ref":"#/$defs/more","properties":{"list":{"type":"array",
  "prefixItems":[{"type":"string"}],"items":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"any":true},
  "$defs":{"more":{"properties":{"self":{"$ref":"#"},"list":{"maxItems":3}}}}}]])

local function allows(tokens, ...)
  local found = {}
  for i, name in ipairs({ ... }) do
    found[i] = schema_place.allows(schema_place.find(schema, tokens), name)
  end
  return found
end

describe("a place in a schema", function()
  it("is found through references, branches and items", function()
    assert.equal(2, #schema_place.find(schema, { "list" }))
    assert.same({ true, false }, allows({ "list", 0 }, "string", "integer"))
    assert.same({ false, true, true }, allows({ "self", "self", "list", 1 }, "string", "integer", "null"))
    assert.same({ true, true }, allows({ "any" }, "string", "integer"))
    assert.same({}, schema_place.find(schema, { "nothing" }))
  end)

  it("has names, those of what it refers to, too", function()
    local names, known = schema_place.names(schema, { "self" })
    table.sort(names)
    assert.same({ "any", "list", "self" }, names)
    assert.same({ any = true, list = true, self = true }, known)
    assert.same({}, (schema_place.names(schema, { "list" })))
  end)
end)

describe("the schemas of a place", function()
  it("are those of further members where a property is not declared", function()
    local found = schema_place.find({ properties = { a = { type = "string" } },
      additionalProperties = { type = "integer" } }, { "b" })
    assert.same({ { type = "integer" } }, found)
    assert.same({ { type = "integer" } }, schema_place.find({ additionalProperties = { type = "integer" } }, { "b" }))
    assert.same({}, schema_place.find({ properties = 1, additionalProperties = false }, { "b" }))
  end)

  it("may be named by a list and by further tokens", function()
    local tree = { properties = { a = { items = { properties = { b = { type = "null" } } } } } }
    assert.same({ { type = "null" } }, schema_place.find(tree, { "a", 0 }, "b"))
    assert.same({ { type = "null" } }, schema_place.find(tree, {}, "a", 3, "b"))
  end)

  it("are each listed once, and references elsewhere are not followed", function()
    local same = { type = "string" }
    assert.equal(2, #schema_place.find({ anyOf = { same, same } }, {}))
    assert.equal(1, #schema_place.find({ ["$ref"] = "other.json#/a" }, {}))
    assert.equal(1, #schema_place.find({ ["$ref"] = 1, allOf = 2 }, {}))
    assert.same({}, schema_place.find(true, {}))
  end)

  it("are 200 at most", function()
    local branches = {}
    for i = 1, 300 do
      branches[i] = { title = "t" .. i }
    end
    assert.equal(200, #schema_place.find({ oneOf = branches }, {}))
  end)

  it("allow every type where none is told, else those of all of them", function()
    assert.is_true(schema_place.allows({}, "string"))
    assert.is_true(schema_place.allows({ {} }, "string"))
    assert.is_true(schema_place.allows({ { type = "integer" }, { type = { "null", "string" } } }, "string"))
    assert.is_false(schema_place.allows({ { type = "integer" }, {} }, "string"))
    assert.is_false(schema_place.allows({ { type = { "integer", "null" } } }, "string"))
  end)
end)
