local operations = require("operations")

-- The schemas of the document of one operation, by name.
local function schemas_of(input, more)
  local registry = operations.registry({ log = function() end })
  local definition = { namespace = "a", name = "b", type = "mutation", inputSchema = input, handler = function() end }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  assert(registry:register(definition))
  local document = assert(operations.to_http(registry, { log = function() end })):openapi("3.1")
  local media = document.paths["/a/b"].post.requestBody.content["application/json"]
  return document.components.schemas, media.schema
end

describe("a schema in a document", function()
  it("keeps the examples that it accepts itself", function()
    local schemas, schema = schemas_of({ type = "object", properties = {
      good = { type = "integer", example = 1, examples = { 2, "x", 3 } },
      bad = { type = "integer", example = "x", examples = { "y" } },
      far = { type = "object", example = { ["$ref"] = "#/x" } },
      kin = { ["$ref"] = "#/$defs/Kin", example = "k", examples = { 1, "l" } } },
      ["$defs"] = { Kin = { type = "string" } } })
    local properties = (schema.properties or schemas[schema["$ref"]:match("[^/]+$")].properties)
    assert.same({ 1, { 2, 3 } }, { properties.good.example, properties.good.examples })
    assert.is_nil(properties.bad.example)
    assert.is_nil(properties.bad.examples)
    assert.is_nil(properties.far.example)
    assert.same({ "k", { "l" } }, { properties.kin.example, properties.kin.examples })
    assert.equal("string", schemas[properties.kin["$ref"]:match("^#/components/schemas/(.+)$")].type)
  end)
end)
