-- Arguments as JSON Schema, and the variables that are sent.
local graphql = require("spec.support.graphql_plans")
local operations = require("operations")

local function input(arguments, rest, options)
  return graphql.plan(("type Query { x(%s): Int } %s"):format(arguments, rest or ""), "x", options).input_schema
end

-- Does the schema take the value of the argument `a`?
local function takes(schema, value)
  return (assert(operations.schema.compile(schema)):check({ a = value }))
end

local null = operations.null

describe("an argument", function()
  for type, values in pairs({
    Int = { good = { 0, -2147483648, 2147483647, null }, bad = { 2147483648, 1.5, "1", true } },
    ["Int!"] = { good = { 0 }, bad = { null } },
    Float = { good = { 1, 1.5, null }, bad = { "1.5" } },
    String = { good = { "", "a", null }, bad = { 1 } },
    Boolean = { good = { true, false, null }, bad = { 0, "true" } },
    ID = { good = { "a", 1, null }, bad = { 1.5, true } },
    ["[Int!]!"] = { good = { operations.array(), { 1 } }, bad = { { null }, 1, null } },
    ["[[Int]]"] = { good = { { { 1, null }, null }, null }, bad = { { 1 } } },
    E = { good = { "A", "B", null }, bad = { "C", "a", 1 } },
    D = { good = { "x", 1, true, { a = 1 }, null }, bad = {} },
    ["D!"] = { good = { "x", { 1 } }, bad = {} },
    I = { good = { { n = 1 }, { n = 1, again = { n = 2, again = null } }, null }, bad = { {}, { n = 1, m = 2 }, "n" } },
    ["O!"] = { good = { { id = 1 }, { name = "a" } }, bad = { {}, { id = 1, name = "a" }, { id = null }, { x = 1 } } },
  }) do
    it(("of the type %s takes what it should"):format(type), function()
      local schema = input("a: " .. type, [[enum E { A B @deprecated } scalar D
        input I { n: Int! again: I list: [I!] = [] } input O @oneOf { id: ID name: String }]])
      for i, value in ipairs(values.good) do
        assert.is_true(takes(schema, value), ("good %d"):format(i))
      end
      for i, value in ipairs(values.bad) do
        assert.is_false(takes(schema, value), ("bad %d"):format(i))
      end
    end)
  end

  it("with `@oneOf` is refused for the number of its fields", function()
    local schema = assert(operations.schema.compile(input("a: O!", "input O @oneOf { id: ID name: String }")))
    local function message(value)
      local _, issues = schema:check({ a = value })
      return issues[1].path .. ": " .. issues[1].message
    end
    assert.equal("/a: expected at least 1 property, got 0", message({}))
    assert.equal("/a: expected at most 1 property, got 2", message({ id = 1, name = "a" }))
  end)

  it("is required if it may not be null and has no default", function()
    assert.same({ "a" }, input("a: Int! b: Int c: Int! = 3").required)
  end)

  it("has its description, its default and whether it is deprecated", function()
    local a = input([["How many." a: Int = 3 @deprecated(reason: "no")]]).properties.a
    assert.equal("How many.", a.description)
    assert.equal(3, a.default)
    assert.is_true(a.deprecated)
    local object = input("a: I = {x: E, y: [true, null]}", "input I { x: E y: [Boolean] } enum E { E }").properties.a
    assert.same({ x = "E", y = { true, null } }, object.default)
  end)

  it("of the service's own scalar has the schema that the program gives", function()
    local schema = input("a: D!", "scalar D", { scalars = { D = { type = "string", format = "date-time" } } })
    assert.is_false(takes(schema, 1))
    assert.is_true(takes(input("a: D", "scalar D", { scalars = { D = { type = "string" } } }), null))
    assert.equal("D: A day.", input("a: D!", '"A day." scalar D').properties.a.description)
    local specified = input("a: D!", 'scalar D @specifiedBy(url: "http://x.test")')
    assert.equal("D: http://x.test", specified.properties.a.description)
  end)

  it("of very many input objects is not described to the end", function()
    local parts = {}
    for i = 1, 700 do
      parts[i] = ("input I%d { next: I%d! }"):format(i, i % 700 + 1)
    end
    local definitions = input("a: I1", table.concat(parts, "\n"))["$defs"]
    assert.is_nil(definitions.I501.properties)
    assert.is_table(definitions.I500.properties)
  end)
end)

describe("a call", function()
  local types = "type Query { x(a: Int, b: [Int], c: I = {d: 1}): Int } input I { d: Int file: Upload all: [Upload!] } "
    .. "scalar Upload"
  local plan = graphql.plan(types, "x")

  it("declares and sends what is given only", function()
    assert.equal("query x { x }", plan.request({}).query)
    assert.is_nil(plan.request({}).variables)
    local request = plan.request({ b = {}, a = null })
    assert.equal("query x($a: Int, $b: [Int]) { x(a: $a, b: $b) }", request.query)
    assert.equal('{"a":null,"b":[]}', operations.json.encode(request.variables, { sort_keys = true }))
  end)

  it("names the files among its variables", function()
    local file = { path = "/a" }
    local request = plan.request({ c = { file = file, all = { "x", "y" } } })
    assert.same({
      { path = "variables.c.file", value = file }, { path = "variables.c.all.0", value = "x" },
      { path = "variables.c.all.1", value = "y" },
    }, request.files)
    assert.is_nil(plan.request({ a = 1 }).files)
  end)
end)
