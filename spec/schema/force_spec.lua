local json = require("operations.base.json")
local operations = require("operations")
local schema = require("operations.schema")

local array, object = operations.array, operations.object
local absent = {}

local function force(definition, value, options)
  local compiled = assert(schema.compile(definition, options))
  local result, changes = compiled:cast(value, "force")
  assert.same(result, (compiled:cast(value, "force", false)))
  return result, changes, (compiled:check(result))
end

local function text(value)
  return assert(json.encode(value, { sort_keys = true }))
end

-- What a list of changes says: "path: old -> new", with nothing for what was or is absent.
local function told(changes)
  local lines = {}
  for i, change in ipairs(changes) do
    lines[i] = ("%s %s: %s -> %s"):format(change.kind, change.path, change.old == nil and "" or text(change.old),
      change.new == nil and "" or text(change.new))
  end
  return lines
end

-- { schema, value, result } where one value is replaced, the outermost one; no result where it stays.
local function replaces(cases)
  for name, case in pairs(cases) do
    it(name, function()
      local definition, value, expected = case[1], case[2], case[3] == nil and absent or case[3]
      local result, changes, fits = force(definition, value)
      assert.equal(text(expected == absent and value or expected), text(result))
      assert.equal(expected ~= absent, fits)
      assert.same(expected == absent and {} or { ("replaced : %s -> %s"):format(text(value), text(expected)) },
        told(changes))
    end)
  end
end

describe("force replaces a misfit by", function()
  local leaf = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
  replaces({
    ["the default, before all else"] = { { default = "d", enum = { "e", "d" } }, 1, "d" },
    ["a default that $ref brings"] = {
      { ["$ref"] = "#/$defs/n", ["$defs"] = { n = { type = "integer", default = 9 } } }, object({}), 9,
    },
    ["the default of a union, before its branches"] = {
      { anyOf = { { type = "string" }, { type = "integer" } }, default = 7 }, object({}), 7,
    },
    ["a default with the members that it lacks"] = {
      { type = "object", properties = { a = { default = 1 }, b = true }, required = { "a" }, default = { b = 2 } },
      "x", { a = 1, b = 2 },
    },
    ["the const, where the default does not conform"] = { { const = 5, default = "x" }, "y", 5 },
    ["a const that is an array"] = { { const = { 1 } }, "x", array({ 1 }) },
    ["a const as it stands"] = { { const = { a = 1 }, properties = { b = { default = 2 } } }, "x", { a = 1 } },
    ["the first value of an enum"] = { { enum = { "b", "a" } }, "x", "b" },
    ["null"] = { { type = "null" }, 1, json.null },
    ["false"] = { { type = "boolean" }, 1, false },
    ["the empty string"] = { { type = "string" }, true, "" },
    ["an empty array"] = { { type = "array" }, 1, array({}) },
    ["an empty array, where there are too many items"] = { { type = "array", maxItems = 1 }, array({ 1, 2 }),
      array({}) },
    ["an empty object"] = { { type = "object" }, array({}), object({}) },
    ["an empty array, for a table with names"] = { { type = "array", items = { type = "integer" } }, { x = "1" },
      array({}) },
    ["an object with its required members and defaults"] = {
      { type = "object", required = { "a", "b" },
        properties = { a = leaf, b = { type = "string" }, c = { default = true }, d = { type = "string" } } },
      "x", { a = { n = 0 }, b = "", c = true },
    },
    ["the empty value of all parts of an allOf"] = {
      { allOf = { { type = { "string", "integer" } }, { type = { "integer", "array" } }, { minimum = 2 } } }, "x", 2,
    },
  })
end)

describe("force takes for the least allowed number", function()
  replaces({
    ["0 where none is named"] = { { type = "number" }, json.null, 0 },
    ["the minimum"] = { { type = "integer", minimum = 3 }, 1, 3 },
    ["a negative minimum"] = { { type = "number", minimum = -1.5 }, json.null, -1.5 },
    ["the integer above the minimum"] = { { type = "integer", minimum = -2.5 }, json.null, -2 },
    ["the whole number above exclusiveMinimum"] = { { type = "number", exclusiveMinimum = 2.5 }, json.null, 3 },
    ["the next integer after exclusiveMinimum"] = { { type = "integer", exclusiveMinimum = 3 }, json.null, 4 },
    ["the greater of two minima"] = { { type = "integer", minimum = 2, allOf = { { minimum = 5 } } }, json.null, 5 },
    ["the first multiple from the minimum on"] = { { type = "integer", minimum = 11, multipleOf = 5 }, json.null, 15 },
    ["a multiple that is a decimal"] = { { type = "number", exclusiveMinimum = 0.2, multipleOf = 0.1 }, json.null,
      0.3 },
    ["0 below a maximum"] = { { type = "integer", maximum = 9 }, 12, 0 },
    ["a maximum below 0"] = { { type = "number", maximum = -0.5 }, 12, -0.5 },
    ["the whole number below exclusiveMaximum"] = { { type = "number", exclusiveMaximum = 0 }, 12, -1 },
    ["a multiple of the larger unit that is one of the smaller, which comes first"] = {
      { type = "integer", allOf = { { multipleOf = 2 }, { multipleOf = 6 } }, minimum = 1 }, "x", 6 },
    ["a multiple of the larger unit that is one of the smaller, which comes last"] = {
      { type = "integer", allOf = { { multipleOf = 6 }, { multipleOf = 2 } }, minimum = 1 }, "x", 6 },
    ["a multiple of two units, further on"] = {
      { type = "integer", allOf = { { multipleOf = 4 }, { multipleOf = 6 } }, minimum = 1 }, "x", 12 },
    ["none where a multiple of two units is further than the third"] = {
      { type = "integer", allOf = { { multipleOf = 10 }, { multipleOf = 6 } }, minimum = 1 }, "x" },
    ["the next number of a format beyond a bound"] = {
      { type = "integer", format = "int32", exclusiveMinimum = 5 }, "x", 6 },
    ["the next multiple of a format beyond a bound"] = {
      { type = "number", format = "float", exclusiveMinimum = 5, multipleOf = 0.5 }, "x", 5.5 },
    ["the greatest of many minima"] = {
      { type = "number", allOf = { { minimum = 2 }, { minimum = 7 }, { exclusiveMinimum = 4 } } }, "x", 7 },
    ["the least of many maxima"] = {
      { type = "number", allOf = { { maximum = -2 }, { maximum = -7 }, { exclusiveMaximum = -4 } } }, "x", -7 },
    ["a number between two decimals"] = { { type = "number", minimum = 0.1, maximum = 0.2 }, "x", 0.1 },
    ["the last multiple up to a maximum below 0"] = { { type = "integer", maximum = -7, multipleOf = 2 }, 12, -8 },
    ["none where no whole number lies between the bounds"] = {
      { type = "number", exclusiveMinimum = 0, exclusiveMaximum = 1 }, 2,
    },
    ["none where the bounds contradict each other"] = { { type = "number", minimum = 2, maximum = 1 }, 5 },
  })
end)

describe("force takes of several types", function()
  replaces({
    ["the value's own"] = { { type = { "null", "integer" }, minimum = 5 }, 3, 5 },
    ["a number for a number"] = { { type = { "null", "integer" } }, 1.5, 0 },
    ["the first of null, false, 0, \"\", [] and {} that is allowed"] = { { type = { "object", "string", "array" } },
      true, "" },
    ["the next one where the first does not conform"] = {
      { type = { "string", "array" }, ["not"] = { type = "string" } }, true, array({}),
    },
    ["the value's own where the schema names none"] = { { maxItems = 1 }, array({ 1, 2 }), array({}) },
  })
end)

describe("force takes of a union", function()
  local cat = { type = "object", required = { "kind", "lives" },
    properties = { kind = { const = "cat" }, lives = { type = "integer", minimum = 1 } } }
  local dog = { type = "object", required = { "kind", "bark" },
    properties = { kind = { const = "dog" }, bark = { type = "string" } } }
  replaces({
    ["the first branch where the value is like none"] = { { anyOf = { { type = "string" }, { type = "integer" } } },
      true, "" },
    ["the first const"] = { { oneOf = { { const = "a" }, { const = "b" } } }, 5, "a" },
    ["the branch of the value's type"] = {
      { anyOf = { { type = "string" }, { type = "array", maxItems = 1 } } }, array({ 1, 2 }), array({}),
    },
    ["nothing where its branch has no empty value"] = {
      { anyOf = { { type = "string", minLength = 1 }, { type = "null" } } }, true,
    },
  })

  it("the branch that the tag names", function()
    local result, changes = force({ oneOf = { cat, dog } }, { kind = "dog", bark = 1.5, lives = array({}) })
    assert.same({ kind = "dog", bark = "1.5" }, result)
    local lines = told(changes)
    table.sort(lines)
    assert.same({ 'converted /bark: 1.5 -> "1.5"', "stripped /lives: [] -> " }, lines)
    result, changes = force({ oneOf = { cat, dog } }, { kind = "dog", bark = true })
    assert.same({ kind = "dog", bark = "" }, result)
    assert.same({ 'replaced /bark: true -> ""' }, told(changes))
  end)

  it("the branch that fits best where the tag names none", function()
    local result, changes, fits = force({ oneOf = { cat, dog } }, { kind = "cow", bark = "moo" })
    assert.same({ kind = "dog", bark = "moo" }, result)
    assert.same({ 'replaced /kind: "cow" -> "dog"' }, told(changes))
    assert.is_true(fits)
  end)

  it("the members that an if requires", function()
    local definition = { type = "object", required = { "k" }, properties = { k = { type = "string" } },
      ["if"] = { properties = { k = { const = "a" } }, required = { "k" } },
      ["then"] = { required = { "x" }, properties = { x = { type = "integer" } } },
      ["else"] = { required = { "y" }, properties = { y = { type = "boolean" } } } }
    local _, changes, fits = force(definition, { k = "a" })
    assert.same({ "replaced /x:  -> 0" }, told(changes))
    assert.is_true(fits)
    _, changes, fits = force(definition, { k = "b", y = 1 })
    assert.same({ "replaced /y: 1 -> false" }, told(changes))
    assert.is_true(fits)
  end)
end)

describe("force leaves a misfit that none of these replaces:", function()
  replaces({
    ["the schema false"] = { false, 5 },
    ["a required member that is an anyOf of no branch"] = {
      { type = "object", required = { "a" }, properties = { a = { anyOf = array({}) } } }, object({}) },
    ["a required member that is an enum of nothing"] = {
      { type = "object", required = { "a" }, properties = { a = { enum = array({}) } } }, object({}) },
    ["a pattern"] = { { type = "string", pattern = "^[a-z]+$" }, true },
    ["a least length"] = { { type = "string", minLength = 3 }, true },
    ["what a schema without types refuses of the value's type"] = { { minLength = 3 }, "x" },
    ["items that are missing"] = { { type = "array", minItems = 2, items = { type = "string" } }, array({ "a" }) },
    ["an item to be contained"] = { { type = "array", contains = { const = 5 } }, "x" },
    ["members that are missing"] = { { type = "object", minProperties = 2 }, { a = 1 } },
    ["a string that is too short, beside a schema that names a longer one"] = {
      { prefixItems = { { type = "string", minLength = 3 }, { enum = { "abcd" } } } }, { "x", "abcd" } },
    ["a first enum value that does not conform"] = { { type = "string", enum = { 1, "a" }, pattern = "." }, "x" },
    ["not"] = { { type = "string", ["not"] = { const = "" } }, true },
    ["an object whose required member has no value"] = {
      { type = "object", required = { "a" }, properties = { a = { type = "string", pattern = "^x" } } }, "x",
    },
    ["a required member that the schema refuses"] = {
      { type = "object", required = { "a" }, additionalProperties = false }, object({}),
    },
  })

  it("a format, where formats are checked", function()
    local result, changes, fits = force({ type = "string", format = "date" }, true, { formats = true })
    assert.same({ true, {}, false }, { result, told(changes), fits })
  end)

  it("and replaces nothing around it", function()
    local definition = { type = "object", maxProperties = 1, default = object({}), properties = {
      name = { type = "string", pattern = "^x" }, never = false, n = { type = "integer" } } }
    local result, changes, fits = force(definition, { name = "y", never = 1, n = "z" })
    assert.same({ name = "y", never = 1, n = 0 }, result)
    assert.same({ 'replaced /n: "z" -> 0' }, told(changes))
    assert.is_false(fits)
  end)

  it("and adds the required members beside it", function()
    local result, changes = force({ required = { "n" }, properties = {
      name = { type = "string", pattern = "^x" }, n = { type = "integer" } } }, { name = "y" })
    assert.same({ name = "y", n = 0 }, result)
    assert.same({ "replaced /n:  -> 0" }, told(changes))
  end)

  it("and keeps an object in which a required member stays missing, whatever its default", function()
    local part = { type = "object", required = { "name" }, default = { name = "x" }, properties = {
      name = { type = "string", pattern = "^x" }, n = { type = "integer" } } }
    local value = { part = { n = 1 } }
    local result, changes, fits = force({ properties = { part = part } }, value)
    assert.same({ value, {}, false }, { result, told(changes), fits })
  end)

  it("and keeps an object with a key that is not a string, whatever its default", function()
    local part = { type = "object", default = object({}), additionalProperties = { type = "integer" } }
    local value = { part = { n = 1, [true] = 1 } }
    local compiled = assert(schema.compile({ properties = { part = part } }))
    local result, changes = compiled:cast(value, "force")
    assert.same({ value, {}, false }, { result, told(changes), (compiled:check(result)) })
  end)
end)

describe("a schema with an empty list", function()
  local none, empty = array({}), object({})
  local values = { 1, "x", true, json.null, { a = 1 }, { 1 }, { a = { b = 1 } }, none, empty, { t = "x" } }

  it("that nothing can conform to leaves every value", function()
    for _, definition in ipairs({ { enum = none }, { anyOf = none }, { oneOf = none }, { type = none },
      { enum = none, default = 5 }, { anyOf = none, const = 1 }, { allOf = { { anyOf = none }, { enum = none } } },
      { oneOf = { { enum = none }, { anyOf = none } } }, { anyOf = none, discriminator = { propertyName = "t" } },
      { ["if"] = { enum = none }, ["else"] = { anyOf = none } } }) do
      for _, value in ipairs(values) do
        local result, changes, fits = force(definition, value)
        assert.same({ value, none, false }, { result, changes, fits })
      end
    end
  end)

  it("that asks nothing takes every value", function()
    for _, definition in ipairs({ { allOf = none }, { prefixItems = none }, { required = none },
      { properties = empty }, { patternProperties = empty }, { dependentRequired = { a = none } },
      { dependentSchemas = empty }, { ["not"] = { enum = none } }, { ["if"] = { anyOf = none } } }) do
      for _, value in ipairs(values) do
        local result, changes, fits = force(definition, value)
        assert.same({ value, none, true }, { result, changes, fits })
      end
    end
  end)

  it("is a branch that is not taken", function()
    local other = { type = "object", required = { "t" }, properties = { t = { const = "x" } } }
    for _, keyword in ipairs({ "anyOf", "oneOf" }) do
      for _, value in ipairs(values) do
        assert.equal(1, (force({ [keyword] = { { const = 1 }, { enum = none } } }, value)))
        assert.same({ t = "x" }, (force({ [keyword] = { { type = "object", required = { "t" },
          properties = { t = { enum = none } } }, other } }, value)))
      end
    end
  end)
end)

describe("force", function()
  it("casts first, then replaces each misfit with its path and old value", function()
    local definition = { type = "object", required = { "id" }, properties = { id = { type = "integer" },
      list = { type = "array", items = { type = "integer", maximum = 9 } }, done = { default = true } },
      patternProperties = { ["^x/"] = { type = "string" } } }
    local result, changes, fits = force(definition, { list = { 1, "x", "12" }, ["x/y"] = array({}), junk = 1 })
    assert.equal('{"done":true,"id":0,"list":[1,0,0],"x/y":""}', text(result))
    local lines = told(changes)
    table.sort(lines)
    assert.same({ 'converted /list/2: "12" -> 12', "defaulted /done:  -> true", "replaced /id:  -> 0",
      'replaced /list/1: "x" -> 0', "replaced /list/2: 12 -> 0", 'replaced /x~1y: [] -> ""', "stripped /junk: 1 -> " },
      lines)
    assert.is_true(fits)
  end)

  it("adds a required member that is missing as its schema says", function()
    local definition = { type = "object", required = { "a", "b", "c" }, properties = {
      a = { type = "object", required = { "x" }, properties = { x = { type = "array" } } }, b = { const = 1 } } }
    local result, changes, fits = force(definition, object({}))
    assert.equal('{"a":{"x":[]},"b":1,"c":null}', text(result))
    local lines = told(changes)
    table.sort(lines)
    assert.same({ "defaulted /b:  -> 1", 'replaced /a:  -> {"x":[]}', "replaced /c:  -> null" }, lines)
    assert.is_true(fits)
  end)

  it("adds one that only a pattern or additionalProperties describes", function()
    local result, changes = force({ required = { "a" }, additionalProperties = { type = "integer" } }, { b = 5 })
    assert.same({ a = 0, b = 5 }, result)
    assert.same({ "replaced /a:  -> 0" }, told(changes))
  end)

  it("adds one that another depends on", function()
    local result, changes = force({ dependentRequired = { a = { "b" } },
      properties = { a = true, b = { type = "integer" } } }, { a = 1 })
    assert.same({ a = 1, b = 0 }, result)
    assert.same({ "replaced /b:  -> 0" }, told(changes))
  end)

  it("is casting where the cast value conforms", function()
    local compiled = assert(schema.compile({ type = "object", properties = { a = { type = "integer" } } }))
    local _, cast = compiled:cast({ a = "1", b = 2 })
    local _, forced = compiled:cast({ a = "1", b = 2 }, "force")
    assert.same(cast, forced)
  end)

  it("replaces each of many misfits by a table of its own", function()
    local definition = { type = "object", required = { "a" }, properties = { a = { type = "string" } } }
    local misfits = array({})
    for i = 1, 3000 do
      misfits[i] = i
    end
    local result, changes, fits = force({ items = definition }, misfits)
    assert.is_true(fits)
    assert.equal(3000, #changes)
    assert.is_false(rawequal(result[1], result[2]))
  end)

  it("leaves the value as it was cast where its schemas require each other without end", function()
    local again = { ["$ref"] = "#" }
    local _, changes, fits = force({ type = "object", required = { "a", "b" },
      properties = { a = again, b = again, n = { type = "integer" } } }, { n = "1" })
    assert.same({ 'converted /n: "1" -> 1' }, told(changes))
    assert.is_false(fits)
    local result
    result, changes = force({ type = { "object", "null" }, required = { "a" }, properties = { a = again } }, object({}))
    assert.same({ a = json.null }, result)
    assert.same({ "replaced /a:  -> null" }, told(changes))
  end)

  it("leaves the value as it was cast where that is too deep, whatever was made before", function()
    local part = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
    local again = { properties = { part = part, b = { ["$ref"] = "#/$defs/again" } } }
    local deep = { part = "x" }
    for _ = 1, 300 do
      deep = { b = deep }
    end
    local list = { { part = "x" }, deep }
    local items = { items = { ["$ref"] = "#/$defs/again" }, ["$defs"] = { again = again } }
    local around = { items = { items = items.items }, ["$defs"] = items["$defs"] }
    for _, case in ipairs({ { items, list }, { around, { list } } }) do
      local result, changes, err = assert(schema.compile(case[1])):cast(case[2], "force")
      assert.same({ {}, nil }, { changes, err })
      assert.same(case[2], result)
    end
  end)

  it("leaves the value as it was cast where it meets a limit", function()
    local parts = {}
    for i = 1, 60 do
      parts[i] = { minLength = i }
    end
    local result, changes, fits = force({ type = "object", required = { "m" }, properties = { m = { allOf = parts },
      n = { type = "integer" }, x = { type = "integer" } } }, { n = "1", x = "x" })
    assert.same({ n = 1, x = "x" }, result)
    assert.same({ 'converted /n: "1" -> 1' }, told(changes))
    assert.is_false(fits)
  end)
end)

describe("members that force adds", function()
  local text_b = { required = { "b" }, properties = { b = { type = "string" } } }
  for name, case in pairs({
    ["has what dependentSchemas then require"] = { { required = { "a" }, dependentSchemas = { a = text_b } }, {},
      { a = json.null, b = "" }, { "replaced /a:  -> null", 'replaced /b:  -> ""' } },
    ["has what dependentRequired then requires, whatever the order of names"] = {
      { required = { "m" }, dependentRequired = { a = { "z" }, m = { "a" }, z = { "b" } } }, {},
      { a = json.null, b = json.null, m = json.null, z = json.null }, { "replaced /m:  -> null",
        "replaced /a:  -> null", "replaced /z:  -> null", "replaced /b:  -> null" } },
    ["has what `then` requires once `if` fits"] = {
      { properties = { a = { const = 1 } }, ["if"] = { properties = { a = { const = 1 } }, required = { "a" } },
        ["then"] = text_b }, { a = 2 }, { a = 1, b = "" }, { "replaced /a: 2 -> 1", 'replaced /b:  -> ""' } },
    ["may make a schema apply that makes another one apply"] = {
      { required = { "a" }, dependentSchemas = { a = { required = { "c" } }, b = { required = { "d" } }, c = text_b } },
      {}, { a = json.null, b = "", c = json.null, d = json.null },
      { "replaced /a:  -> null", "replaced /c:  -> null", 'replaced /b:  -> ""', "replaced /d:  -> null" } },
    ["has them in a new object, too"] = {
      { required = { "x" }, properties = {
        x = { type = "object", required = { "a" }, dependentSchemas = { a = text_b } } } },
      {}, { x = { a = json.null, b = "" } }, { 'replaced /x:  -> {"a":null,"b":""}' } },
    ["has no member of a default that its schema does not know"] = {
      { type = "object", properties = { a = { properties = { b = true }, default = { b = 1, c = 2 } } } },
      "x", { a = { b = 1 } }, { 'replaced : "x" -> {"a":{"b":1}}' } },
    ["is an array where an empty constant may be nothing else"] = { { type = "array", const = {} }, 1, array({}),
      { "replaced : 1 -> []" } },
  }) do
    it(name, function()
      local result, changes, fits = force(case[1], case[2])
      assert.equal(text(case[3]), text(result))
      assert.same(case[4], told(changes))
      assert.is_true(fits)
    end)
  end
end)
