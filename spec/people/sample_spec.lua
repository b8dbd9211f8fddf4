local operations = require("operations")
local sample = require("operations.people.sample")

local T = operations.type

describe("a sample of a schema", function()
  local function same(expected, schema)
    local value = sample.of(schema, "name")
    assert.same(expected, value)
    assert.is_true(assert(operations.schema.compile(schema, { formats = true })):check(value))
  end

  it("is an example or default of the schema, where the schema accepts that", function()
    same("b", { type = "string", examples = { "b", "c" }, default = "d" })
    same("d", { type = "string", maxLength = 1, example = "long", default = "d" })
    same("x", { enum = { "x", "y" } })
    same(5, { const = 5 })
  end)

  it("has of an example only what is required", function()
    same({ a = "x" }, { type = "object", required = { "a" }, properties = { a = T.string(), b = T.string() },
      example = { a = "x", b = "y" } })
  end)

  it("fits bounds, formats and patterns", function()
    same("NAMExx", { type = "string", minLength = 6 })
    same("NA", { type = "string", maxLength = 2 })
    same("192.0.2.1", { type = "string", format = "ipv4" })
    same("AA-1", { type = "string", pattern = "^[A-Z]{2}-\\d$" })
    same(0, { type = "integer", maximum = 0 })
    same(1, { type = "integer", minimum = -5 })
    same(1, { type = "integer", minimum = -2147483648, maximum = 2147483647 })
    same(-5, { type = "number", minimum = -5, maximum = 0.5 })
    same(-1, { type = "integer", exclusiveMaximum = 0 })
    same(8, { type = "integer", exclusiveMinimum = 4, multipleOf = 4 })
    same({ "NAME", "NAME2" }, { type = "array", minItems = 2, uniqueItems = true, items = { type = "string" } })
    same({ b = "B" }, { type = "object", minProperties = 1, properties = { b = T.string() } })
  end)

  it("chooses a branch of a union that fits the rest", function()
    same({ kind = "two", size = 1 }, { type = "object", required = { "kind" },
      properties = { kind = { const = "two" } },
      oneOf = { { properties = { kind = { const = "one" } } },
        { required = { "size" }, properties = { kind = { const = "two" }, size = { type = "integer" } } } } })
    same({ a = 1 }, { oneOf = { { type = "object", properties = { a = { type = "integer" } } },
      { type = "object", properties = { b = { type = "integer" } }, additionalProperties = false } } })
  end)

  it("ends for a schema that requires itself", function()
    assert.is_table(sample.of({ ["$ref"] = "#/$defs/a", ["$defs"] = { a = { type = "object", required = { "a" },
      properties = { a = { ["$ref"] = "#/$defs/a" } } } } }))
    assert.is_table(sample.of({ type = "array", minItems = 1e9, items = { type = "integer" } }))
  end)
end)
