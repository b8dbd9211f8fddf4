local json = require("operations.base.json")
local support = require("spec.support.openapi")

--- Imports an operation with one parameter; the definition and the report.
local function import(schema, version)
  local parameters = { { name = "p", ["in"] = "query", schema = schema } }
  local api = support.api(support.one({ parameters = parameters }, { doc = { openapi = version or "3.1.0" } }))
  return api.definitions[1].inputSchema.properties.p, api.report
end

describe("a default", function()
  it("stays where it fits its schema", function()
    for _, schema in ipairs({
      { type = "integer", default = 3 }, { type = "string", format = "date", default = "2024-02-29" },
      { default = "anything" }, { type = "array", items = { type = "string" }, default = json.decode("[]") },
      { enum = { "a" }, default = "a" }, { ["$ref"] = "#/info/title", default = "x" },
    }) do
      assert.same(schema.default, import(schema).default)
    end
    local nullable, report = import({ type = "string", nullable = true, default = json.null }, "3.0.3")
    assert.equal(json.null, nullable.default)
    assert.same({}, report)
  end)

  it("that does not fit its own schema is ignored and reported", function()
    for _, schema in ipairs({
      { type = "integer", default = "3" }, { type = "string", default = json.null },
      { type = "string", format = "date", default = "TBD" }, { enum = { "a" }, default = "b" },
      { type = "string", minLength = 1, default = "" }, { type = "array", minItems = 1, default = json.decode("[]") },
    }) do
      local property, report = import(schema)
      assert.is_nil(property.default)
      assert.equal(1, #report)
      assert.matches("^default: expected .*; it is ignored$", report[1].message)
    end
  end)
end)

describe("a list of a schema", function()
  it("may be an empty table, and no empty object of a document", function()
    local property, report = import({ type = "object", required = json.decode("{}") })
    assert.is_nil(property.required)
    assert.equal(1, #report)
    assert.matches("^required: expected an array of names", report[1].message)
    for _, empty in ipairs({ {}, json.decode("[]") }) do
      property, report = import({ type = "object", required = empty })
      assert.equal(empty, property.required)
      assert.same({}, report)
    end
  end)
end)
