local instance = require("spec.support.instance")
local operations = require("operations")

local cases = {
  { "a boolean schema", true },
  { "no type", { minimum = 3 } },
  { "bounds", { type = "number", exclusiveMinimum = 3, maximum = 3.5 } },
  { "a multiple within bounds", { type = "integer", minimum = 8, multipleOf = 5 } },
  { "lengths", { type = "string", minLength = 9, maxLength = 9 } },
  { "enum", { enum = { "b", "a" } } },
  { "formats", { type = "array", minItems = 3, uniqueItems = true, items = { type = "string", format = "uuid" } } },
  { "required properties without a schema", { type = "object", required = { "a" } } },
  { "nullable", { type = { "null", "boolean" } } },
  { "a map", { type = "object", additionalProperties = { type = "integer" }, minProperties = 2 } },
  { "a tuple", { type = "array", prefixItems = { { type = "integer" }, { type = "string" } }, items = false } },
  { "allOf", { allOf = {
    { type = "object", properties = { a = { type = "integer", minimum = 5 } }, required = { "a" } },
    { properties = { a = { maximum = 5 }, b = { type = "string" } }, required = { "b" } },
  } } },
  { "a union that more than one property makes ambiguous", {
    type = "object", properties = { a = { type = "integer" }, b = { type = "string" } },
    oneOf = { { required = { "a" } }, { required = { "b" } } },
  } },
  { "the alternative that the rest allows", { type = "string", anyOf = { { type = "integer" }, { minLength = 7 } } } },
  { "a schema within itself", {
    ["$defs"] = { node = { type = "object", properties = {
      next = { ["$ref"] = "#/$defs/node" }, list = { type = "array", items = { ["$ref"] = "#/$defs/node" } },
    } } },
    ["$ref"] = "#/$defs/node",
  } },
}

local patterns = {
  "^[a-z]{3}-\\d+$", "^(?:red|green)$", "^\\w+@\\w+\\.com$", "^[^a-z]*$", "^#?[0-9A-Fa-f]{6}$", "^(a|b)(c|d)?$",
  "^[1-9][0-9]*$", "^\\u0041\\x42$", "^\\[x\\]$", "^[\\w.-]+$", "^\\p{L}+$",
}

describe("the instance made of a schema", function()
  local function check(definition)
    for _, optional in ipairs({ true, false }) do
      local value = instance.of(definition, { optional = optional })
      local schema = assert(operations.schema.compile(definition, { formats = true }))
      local ok, issues = schema:check(value)
      assert.is_true(ok, issues and issues[1].message .. ": " .. operations.json.encode(value))
    end
  end

  for _, case in ipairs(cases) do
    it("fits " .. case[1], function()
      check(case[2])
    end)
  end

  for _, pattern in ipairs(patterns) do
    it("fits the pattern " .. pattern, function()
      check({ type = "string", pattern = pattern })
    end)
  end

  it("fits a pattern and a length", function()
    check({ type = "string", pattern = "^[a-z]+(-[a-z]+)*$", minLength = 12, maxLength = 12 })
  end)

  it("is the schema's own example where that is one", function()
    assert.equal("b", instance.of({ type = "string", examples = { 1, "b" } }))
    assert.equal(7, instance.of({ type = "integer", default = 7 }))
  end)

  it("has optional members only when asked", function()
    local definition = { type = "object", properties = { a = { type = "integer" } } }
    assert.same({ a = 1 }, instance.of(definition))
    assert.same({}, instance.of(definition, { optional = false }))
  end)

  it("has the text and the number of items that are asked for, where the schema allows", function()
    local definition = { type = "array", items = { type = "string", maxLength = 3 }, maxItems = 2 }
    assert.same({ "äöü", "äöü" }, instance.of(definition, { items = 3, text = "äöüß" }))
  end)

  it("is the same on every run", function()
    local text = operations.json.encode(instance.of(cases[#cases][2]))
    assert.equal(text, operations.json.encode(instance.of(cases[#cases][2])))
  end)
end)
