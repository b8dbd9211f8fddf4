local core = require("operations.core")
local operations = require("operations")
local property_order = require("operations.base.property_order")
local T = require("operations.schema.type")

--- The message of the error that `fn` raises, without its position.
local function complaint(fn, ...)
  local ok, message = pcall(fn, ...)
  assert.is_false(ok)
  return (message:gsub("^.-%.lua:%d+: ", ""))
end

describe("the type builder", function()
  it("makes plain JSON Schema of scalars and their keywords", function()
    assert.same({ type = "string", minLength = 1 }, T.string({ minLength = 1 }))
    assert.same({ type = "integer", minimum = 0 }, T.integer({ minimum = 0 }))
    assert.same({ type = "number" }, T.number())
    assert.same({ type = "boolean", description = "d" }, T.boolean({ description = "d" }))
    assert.same({ type = "null" }, T.null())
    assert.same({}, T.any())
  end)

  it("requires the properties that are neither optional nor have a default, sorted", function()
    local schema = T.object({
      title = T.string(),
      id = T.integer(),
      note = T.optional(T.string()),
      priority = T.default(T.enum({ "low", "high" }), "low"),
      anything = true,
    })
    assert.same({ "anything", "id", "title" }, schema.required)
    assert.same({ type = "string" }, schema.properties.note)
    assert.same({ type = "string", enum = { "low", "high" }, default = "low" }, schema.properties.priority)
  end)

  it("keeps the order of properties that are listed", function()
    local schema = T.object({ { "z", T.string() }, { "a", true }, { "m", T.optional(T.integer()) } }, { title = "t" })
    assert.same({ type = "object", title = "t", required = { "z", "a" },
      properties = { z = { type = "string" }, a = true, m = { type = "integer" } } }, schema)
    assert.same({ "z", "a", "m" }, property_order.names(schema.properties))
    assert.same({ x = false }, T.object({ { "x", false } }).properties)
    assert.is_nil(T.object({ { "x", T.default(true, 1) } }).required)
  end)

  it("marks arrays and objects, so that empty ones keep their type", function()
    assert.equal("object", core.kind(T.object().properties))
    assert.equal("object", core.kind(T.any()))
    assert.equal("object", core.kind(T.object({ a = T.optional(true) }).properties.a))
    assert.equal("array", core.kind(T.object({ a = true }).required))
    assert.equal("array", core.kind(T.enum({ 1 }).enum))
    assert.is_nil(T.object({ a = T.optional(true) }).required)
  end)

  it("makes arrays, tuples and maps", function()
    assert.same({ type = "array", items = { type = "string" }, maxItems = 3 }, T.array(T.string(), { maxItems = 3 }))
    assert.same({ type = "array" }, T.array())
    assert.same(
      { type = "array", prefixItems = { { type = "number" }, { type = "string" } }, items = false, minItems = 2 },
      T.tuple({ T.number(), T.string() })
    )
    assert.same({ type = "integer" }, T.tuple({ true }, { items = T.integer() }).items)
    assert.same({ type = "object", additionalProperties = { type = "number" } }, T.map(T.number()))
  end)

  it("combines schemas", function()
    assert.same({ anyOf = { { type = "null" }, true } }, T.any_of({ T.null(), true }))
    assert.same({ oneOf = { { type = "null" } } }, T.one_of({ T.null() }))
    assert.same({ allOf = { { ["$ref"] = "#/$defs/A" } } }, T.all_of({ T.ref("#/$defs/A") }))
    assert.same({ const = 3 }, T.const(3))
  end)

  it("gives an enum a type only when its values share one", function()
    assert.equal("integer", T.enum({ 1, 2 }).type)
    assert.is_nil(T.enum({ 1, "2" }).type)
    assert.equal("null", T.enum({ core.null }).type)
  end)

  it("makes a schema nullable by its type, or by a union where that would not do", function()
    assert.same({ type = { "string", "null" }, minLength = 1 }, T.nullable(T.string({ minLength = 1 })))
    assert.same({ anyOf = { { const = 1 }, { type = "null" } } }, T.nullable(T.const(1)))
    assert.same({ anyOf = { { type = "string", const = "a" }, { type = "null" } } },
      T.nullable({ type = "string", const = "a" }))
    local enum = T.nullable(T.enum({ "a" }, { default = "a" }))
    assert.equal("a", enum.default)
    assert.same({ type = "null" }, enum.anyOf[2])
  end)

  it("changes no schema that it is given", function()
    local shared = T.string()
    T.nullable(shared)
    T.default(shared, "x")
    T.object({ a = T.optional(shared) })
    assert.same({ type = "string" }, shared)
    assert.is_nil(getmetatable(shared))
  end)

  it("keeps a false schema false when it is made optional", function()
    assert.same({ ["not"] = {} }, T.object({ gone = T.optional(false) }).properties.gone)
  end)

  it("lets x- keys through", function()
    assert.equal("tasks", T.string({ ["x-group"] = "tasks" })["x-group"])
  end)

  it("is also known by TypeBox's names", function()
    assert.equal(T.any_of, T.union)
    assert.equal(T.const, T.literal)
    assert.equal(T.map, T.record)
  end)
end)

describe("misuse of the type builder", function()
  it("is reported where it happened", function()
    local ok, message = pcall(function() T.object({ title = "string" }) end)
    assert.is_false(ok)
    assert.matches("type_spec%.lua:%d+: T%.object", message)
  end)

  it("names the place in a list of a property that is invalid or repeated", function()
    local text = T.string()
    for _, case in ipairs({
      { { { "a", text }, 7 }, "property 2: expected { name, schema }, got number" },
      { { { "a", text }, { "b" } }, "property 2: expected { name, schema }, got table" },
      { { { 7, text } }, "property 1: expected { name, schema }, got table" },
      { { { "a", text }, { "b", text }, { "a", false } }, 'property 3: "a" is listed already' },
      { { { "a", false }, { "a", text } }, 'property 2: "a" is listed already' },
      { { text }, "property names: expected strings, got number" },
      { { T.optional(text) }, "property names: expected strings, got number" },
      { { { "a", 7 } }, 'property "a": expected a schema, got number' },
    }) do
      assert.equal("T.object: " .. case[2], complaint(T.object, case[1]))
    end
  end)

  it("names the property that is no schema", function()
    assert.equal('T.object: property "title": expected a schema, got string', complaint(T.object, { title = "string" }))
    assert.equal('T.object: property "title": expected a schema, got array', complaint(T.object, { title = { 1 } }))
    assert.equal("T.object: property names: expected strings, got number", complaint(T.object, { T.string() }))
  end)

  it("recognises a builder function that was not called", function()
    assert.matches("a function %(is a call missing its parentheses%?%)", complaint(T.object, { title = T.string }))
  end)

  it("recognises the members of an object that were given without T.object", function()
    local members = { title = T.string(), n = T.optional(T.integer()) }
    assert.equal("T.array: argument 1: expected a schema, got a table of schemas (is T.object missing?)",
      complaint(T.array, members))
    assert.matches('property "at": .*is T.object missing', complaint(T.object, { at = members }))
    T.array({ ["x-title"] = T.string() })
    T.array({ anyOf = { T.string() } })
    T.array({})
  end)

  it("names the option, and the keyword that was meant", function()
    assert.equal('T.string: unknown option "min_length" (did you mean minLength?)',
      complaint(T.string, { min_length = 1 }))
    assert.equal('T.string: unknown option "minLenght" (did you mean minLength?)',
      complaint(T.string, { minLenght = 1 }))
    assert.equal('T.integer: unknown option "minLength"', complaint(T.integer, { minLength = 1 }))
    assert.equal('T.string: option "minLength": expected a whole number of at least 0, got string',
      complaint(T.string, { minLength = "1" }))
    assert.equal("T.string: options: expected a table, got string", complaint(T.string, "title"))
    assert.equal('T.number: option "minimum": expected a number, got NaN', complaint(T.number, { minimum = 0 / 0 }))
  end)

  it("names the type that there is not, and the one that was meant", function()
    local function make(name)
      return T[name]()
    end
    assert.equal("T.int: no such type (did you mean T.integer?)", complaint(make, "int"))
    assert.equal("T.strnig: no such type (did you mean T.string?)", complaint(make, "strnig"))
    assert.equal("T.uuid: no such type", complaint(make, "uuid"))
  end)

  it("names the form that the option must have", function()
    local wrong = {
      { T.string, "minLength", "a whole number of at least 0", { -1, 1.5, "1" } },
      { T.array, "uniqueItems", "a boolean", { 1, "true" } },
      { T.string, "examples", "a list", { "x", { a = 1 }, operations.object() } },
      { T.object, "patternProperties", "a table of schemas by name", { 1, { T.string() }, { a = "string" } } },
      { T.object, "dependentRequired", "a table", { true } },
      { T.object, "additionalProperties", "a schema", { "no" } },
    }
    for _, case in ipairs(wrong) do
      for _, value in ipairs(case[4]) do
        local options = { [case[2]] = value }
        local given = case[1] == T.string and { options } or { {}, options }
        local text = complaint(case[1], given[1], given[2])
        assert(text:find(('option "%s": expected %s, got '):format(case[2], case[3]), 1, true), text)
      end
    end
  end)

  it("takes the forms that an option may have", function()
    assert.same({ type = "string", minLength = 0, examples = {} }, T.string({ minLength = 0, examples = {} }))
    assert.same({ type = "array", uniqueItems = false, contains = true },
      T.array(nil, { uniqueItems = false, contains = true }))
    local patterns = { ["^x"] = T.string(), ["^y"] = true }
    assert.same(patterns, T.object({}, { patternProperties = patterns }).patternProperties)
    assert.same({}, T.object({}, { patternProperties = {} }).patternProperties)
  end)

  it("refuses an optional schema anywhere but in an object", function()
    assert.matches("T%.array: argument 1: .*only a property of T%.object", complaint(T.array, T.optional(T.string())))
    assert.matches("T%.any_of: schema 2: .*only a property", complaint(T.any_of, { true, T.optional(true) }))
  end)

  it("refuses missing arguments", function()
    assert.equal("T.enum: argument 1: expected at least one value", complaint(T.enum, {}))
    assert.equal("T.any_of: argument 1: expected at least one schema", complaint(T.any_of, {}))
    assert.equal("T.default: argument 2: expected a value, got nil", complaint(T.default, T.string()))
    assert.matches("null is operations%.null", complaint(T.const))
    assert.equal("T.map: argument 1: expected a schema, got nil", complaint(T.map))
    assert.equal("T.ref: argument 1: expected a string, got nil", complaint(T.ref))
  end)
end)
