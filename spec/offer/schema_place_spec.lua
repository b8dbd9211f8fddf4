local json = require("operations.base.json")
local schema_place = require("operations.offer.schema_place")

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
