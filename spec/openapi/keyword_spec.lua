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

describe("the value of a keyword", function()
  local keyword = require("operations.openapi.keyword")
  local operations = require("operations")
  local object, list = operations.object({}), operations.array({})

  local function each(names, good, bad, expected)
    for name in names:gmatch("%S+") do
      it("of " .. name .. " is " .. expected, function()
        for _, value in ipairs(good) do
          assert.is_falsy(keyword.expected(name, value))
        end
        for _, value in ipairs(bad) do
          assert.equal(expected, keyword.expected(name, value))
        end
      end)
    end
  end

  each("type", { "null", "boolean", "integer", "number", "string", "array", "object", { "string", "null" } },
    { "any", 7, {}, { "string", "any" } }, "the name of a type")
  each("enum", { { 1 }, list, {} }, { object, "a", 7 }, "an array")
  each("required", { { "a" }, list, {} }, { object, "a", { 1 }, { "a", 1 } }, "an array of names")
  each("pattern", { "a+", "" }, { "(", 7, true }, "a pattern")
  each("format", { "date" }, { 7, {} }, "a string")
  each("maximum minimum exclusiveMaximum exclusiveMinimum", { 0, -1.5 }, { "1", true, {} }, "a number")
  each("multipleOf", { 0.1, 3 }, { 0, -1, "1" }, "a number above 0")
  each("uniqueItems", { true, false }, { 1, "true" }, "a boolean")
  each("maxLength minLength maxItems minItems maxProperties minProperties maxContains minContains", { 0, 1, 2.0 },
    { -1, 0.5, "1" }, "an integer from 0")
  each("properties dependentSchemas dependentRequired", { object, { a = true } }, { list, { 1 }, "a", true },
    "an object")
  each("patternProperties", { object, { ["a+"] = true } }, { list, 7 }, "an object")
  each("patternProperties", {}, { { ["("] = true } }, "patterns as its keys")
  each("items additionalProperties contains propertyNames unevaluatedItems unevaluatedProperties not if then else",
    { object, true, false }, { list, { 1 }, "a", 7 }, "a schema")
  each("allOf anyOf oneOf prefixItems", { { true }, { false }, { {} } }, { {}, list, object, { 1 }, "a" }, "schemas")

  it("of another keyword may be anything", function()
    assert.is_nil(keyword.expected("x-other", print))
  end)
end)

describe("a schema of OpenAPI 3.0", function()
  local keyword = require("operations.openapi.keyword")

  local function converted(text)
    local schema = json.decode(text)
    keyword.convert(schema)
    return json.encode(schema, { sort_keys = true })
  end

  it("that is nullable has null as a type, a value or a branch", function()
    assert.equal('{"type":["string","null"]}', converted('{"type":"string","nullable":true}'))
    assert.equal('{"type":"string"}', converted('{"type":"string","nullable":false}'))
    assert.equal('{"enum":["a",null],"type":["string","null"]}',
      converted('{"type":"string","enum":["a"],"nullable":true}'))
    assert.equal('{"enum":["a",null]}', converted('{"enum":["a",null],"nullable":true}'))
    assert.equal('{"enum":["a","null"]}', converted('{"enum":["a","null"],"nullable":true}'))
    assert.equal('{"anyOf":[{"type":"null"},{"allOf":[true],"not":{"type":"string"}}]}',
      converted('{"allOf":[true],"not":{"type":"string"},"nullable":true}'))
    assert.equal('{"anyOf":[{"type":"null"},{"oneOf":[true]}]}', converted('{"oneOf":[true],"nullable":true}'))
    assert.equal('{"anyOf":[{"type":"null"},{"anyOf":[true]}]}', converted('{"anyOf":[true],"nullable":true}'))
    assert.equal('{"minLength":1}', converted('{"minLength":1,"nullable":true}'))
  end)

  it("is nullable by the extension of 2.0, too", function()
    assert.equal('{"type":["string","null"],"x-nullable":true}', converted('{"type":"string","x-nullable":true}'))
  end)

  it("has limits that may be exclusive", function()
    assert.equal('{"exclusiveMinimum":1}', converted('{"minimum":1,"exclusiveMinimum":true}'))
    assert.equal('{"minimum":1}', converted('{"minimum":1,"exclusiveMinimum":false}'))
    assert.equal('{"exclusiveMaximum":1}', converted('{"maximum":1,"exclusiveMaximum":true}'))
    assert.equal('{"exclusiveMaximum":2,"maximum":1}', converted('{"maximum":1,"exclusiveMaximum":2}'))
  end)

  it("is nullable in 3.1 as well, with a report, because documents still say so", function()
    assert.equal('{"type":["string","integer","null"]}', converted('{"type":["string","integer"],"nullable":true}'))
    assert.equal('{"type":["string","null"]}', converted('{"type":["string","null"],"nullable":true}'))
    assert.equal('{"anyOf":[{"type":"null"},{"$ref":"#/a"}]}', converted('{"$ref":"#/a","nullable":true}'))
    local schema, report = import({ type = "string", nullable = true }, "3.1.0")
    assert.same({ "string", "null" }, schema.type)
    assert.equal("nullable is a keyword of OpenAPI 3.0; it is read as there", report[1].message)
  end)

  it("whose enum has members of another type takes them as that type, and tells so", function()
    local function enum(text)
      return json.encode((import(json.decode(text), "3.1.0")).enum)
    end
    assert.equal('["4.1","4","x",null,"true"]', enum('{"type":"string","enum":[4.1,4,"x",null,true]}'))
    assert.equal('[1,"2.5","x"]', enum('{"type":"integer","enum":["1","2.5","x"]}'))
    assert.equal('[false,"no"]', enum('{"type":"boolean","enum":["false","no"]}'))
    assert.equal('[1,2.5,"1"]', enum('{"type":["number","string"],"enum":[1,2.5,"1"]}'))
    local _, report = import({ type = "string", enum = { 4 } }, "3.1.0")
    assert.equal("enum: members are not of type string; they are read as if they were", report[1].message)
  end)

  it("stands alone: a dynamic reference is a reference", function()
    assert.equal('{"$ref":"#a"}', converted('{"$dynamicRef":"#a"}'))
    assert.equal('{"$ref":"#b"}', converted('{"$dynamicRef":"#a","$ref":"#b"}'))
  end)

  it("is told from one that needs no change", function()
    for text, expected in pairs({ ['{"nullable":false}'] = true, ['{"x-nullable":true}'] = true,
      ['{"$dynamicRef":"#a"}'] = true, ['{"exclusiveMinimum":true}'] = true,
      ['{"exclusiveMaximum":false}'] = true, ['{"exclusiveMaximum":1}'] = false,
      ['{"type":"string"}'] = false }) do
      local schema = json.decode(text)
      assert.equal(expected, keyword.is_old(schema))
    end
  end)
end)

describe("properties that go one way only", function()
  local keyword = require("operations.openapi.keyword")

  it("are taken out of a copy of the properties, and of what is required", function()
    local properties = { a = true, b = true, c = true }
    local schema = { properties = properties, required = { "a", "b" } }
    keyword.remove(schema, { a = true })
    assert.same({ properties = { b = true, c = true }, required = { "b" } }, schema)
    assert.same({ a = true, b = true, c = true }, properties)
    schema = { properties = properties, required = { "a" } }
    keyword.remove(schema, { a = true })
    assert.same({ properties = { b = true, c = true } }, schema)
    schema = { properties = properties, required = "a" }
    keyword.remove(schema, { a = true })
    assert.same({ properties = { b = true, c = true } }, schema)
  end)
end)

describe("why a default does not fit", function()
  local keyword = require("operations.openapi.keyword")

  it("is judged by the formats of what is sent only", function()
    local schema = { type = "string", format = "date", default = "x" }
    assert.is_nil(keyword.default_misfit(schema, "output"))
    assert.is_string(keyword.default_misfit(schema, "input"))
    assert.is_string(keyword.default_misfit(schema, "patch"))
  end)

  it("is judged by every keyword of the schema itself", function()
    for _, schema in ipairs({ { type = "string", default = 1 }, { enum = { 1 }, default = 2 },
      { const = 1, default = 2 }, { pattern = "^a", default = "b" }, { minLength = 2, default = "a" },
      { maxLength = 1, default = "ab" }, { minimum = 1, default = 0 }, { maximum = 1, default = 2 },
      { exclusiveMinimum = 1, default = 1 }, { exclusiveMaximum = 1, default = 1 }, { multipleOf = 2, default = 1 },
      { minItems = 1, default = json.decode("[]") }, { maxItems = 0, default = { 1 } },
      { uniqueItems = true, default = { 1, 1 } }, { minProperties = 1, default = json.decode("{}") },
      { maxProperties = 0, default = { a = 1 } }, { required = { "a" }, default = { b = 1 } } }) do
      assert.is_string(keyword.default_misfit(schema, "output"))
    end
    assert.is_nil(keyword.default_misfit({ properties = { a = false }, default = { a = 1 } }, "output"))
    assert.is_nil(keyword.default_misfit({ pattern = "(", default = "a" }, "output"))
  end)
end)
