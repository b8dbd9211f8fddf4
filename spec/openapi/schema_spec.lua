local operations = require("operations")
local support = require("spec.support.openapi")

local function import(schemas, body, options)
  options = options or {}
  local operation = {
    requestBody = body and { content = { ["application/json"] = { schema = body } } },
    responses = { ["200"] = { content = { ["application/json"] = { schema = options.output or true } } } },
  }
  local api = support.api(support.one(operation, {
    method = options.method or "post",
    doc = { openapi = options.version or "3.1.0", components = { schemas = schemas } },
  }))
  return api.definitions[1], api.report
end

local function input(schemas, body, options)
  local definition, report = import(schemas, body, options)
  return definition.inputSchema.properties.body, definition.inputSchema, report
end

local function output(schemas, schema, options)
  options = options or {}
  options.output = schema
  local definition, report = import(schemas, nil, options)
  return definition.outputSchema, report
end

local function ref(name)
  return { ["$ref"] = "#/components/schemas/" .. name }
end

local function defs(name)
  return { ["$ref"] = "#/$defs/" .. name }
end

describe("a schema in a document", function()
  it("is nested at most 500 deep", function()
    local function report_of(depth)
      local schema = { type = "integer" }
      for _ = 2, depth do
        schema = { items = schema }
      end
      return (select(2, import({}, schema)))
    end
    assert.same({}, report_of(500))
    assert.equal("schemas are nested deeper than 500", report_of(501)[1].message)
  end)
end)

describe("the schema of an operation", function()
  it("is an object of its parameters and its body, open to nothing else", function()
    local api = support.api(support.one({
      parameters = {
        { name = "id", ["in"] = "path", required = true, schema = { type = "integer" } },
        {
          name = "q", ["in"] = "query", description = "What to look for.",
          schema = { type = "string", default = "all" },
        },
      },
      requestBody = { required = true, content = { ["application/json"] = { schema = { type = "object" } } } },
    }, { method = "post", path = "/{id}" }))
    assert.same({
      type = "object",
      properties = {
        id = { type = "integer" },
        q = { type = "string", default = "all", description = "What to look for." },
        body = { type = "object" },
      },
      required = { "id", "body" },
      additionalProperties = false,
    }, api.definitions[1].inputSchema)
  end)

  it("takes a parameter without a schema for anything", function()
    local api = support.api(support.one({ parameters = { { name = "q", ["in"] = "query" } } }))
    assert.same({}, api.definitions[1].inputSchema.properties.q)
  end)

  it("takes a parameter's schema from its content", function()
    local content = { ["application/json"] = { schema = { type = "array" } } }
    local parameter = { name = "q", ["in"] = "query", content = content }
    local api = support.api(support.one({ parameters = { parameter } }))
    assert.same({ type = "array" }, api.definitions[1].inputSchema.properties.q)
  end)

  it("has the schemas that it refers to in $defs, and no more", function()
    local schemas = { A = { type = "object", properties = { b = ref("B") } }, B = { type = "integer" }, C = {} }
    local body, whole = input(schemas, { type = "array", items = ref("A") })
    assert.same({ type = "array", items = defs("A") }, body)
    assert.same({ A = { type = "object", properties = { b = defs("B") } }, B = { type = "integer" } }, whole["$defs"])
  end)

  it("keeps the type of a component that is used twice", function()
    local _, whole = input({ A = { type = "string" } }, { properties = { x = ref("A"), y = ref("A") } })
    assert.same({ A = { type = "string" } }, whole["$defs"])
  end)

  it("may refer to itself", function()
    local tree = { type = "object", properties = { kids = { type = "array", items = ref("Tree") } } }
    local schema = output({ Tree = tree }, ref("Tree"))
    assert.equal("object", schema.type)
    assert.same(defs("Tree"), schema.properties.kids.items)
    assert.same(defs("Tree"), schema["$defs"].Tree.properties.kids.items)
  end)

  it("may refer in a circle through others", function()
    local _, whole = input({ A = { properties = { b = ref("B") } }, B = { properties = { a = ref("A") } } }, ref("A"))
    assert.same({ A = { properties = { b = defs("B") } }, B = { properties = { a = defs("A") } } }, whole["$defs"])
  end)

  it("follows escaped pointers", function()
    local _, whole = input({ ["a/b~c d"] = { type = "integer" } }, { ["$ref"] = "#/components/schemas/a~1b~0c%20d" })
    local name, schema = next(whole["$defs"])
    assert.same({ type = "integer" }, schema)
    assert.matches("^[%w._-]+$", name)
  end)

  it("follows references to any place of the document", function()
    local _, whole = input({ A = { properties = { x = { type = "integer" } }, items = { { type = "string" } } } }, {
      properties = { a = { ["$ref"] = "#/components/schemas/A/properties/x" } },
    })
    assert.same({ x = { type = "integer" } }, whole["$defs"])
  end)

  it("tells places of the same name apart", function()
    local _, whole = input({ A = { properties = { x = { type = "integer" } } }, x = { type = "string" } }, {
      properties = { a = { ["$ref"] = "#/components/schemas/A/properties/x" }, b = ref("x") },
    })
    local types = {}
    for _, schema in pairs(whole["$defs"]) do
      types[schema.type] = true
    end
    assert.same({ integer = true, string = true }, types)
  end)

  it("accepts anything where a reference leads nowhere, which is reported", function()
    local body, _, report = input({}, { properties = { a = ref("Nope") } }, { version = "3.0.3" })
    assert.same({ properties = { a = true } }, body)
    assert.matches("Nope", report[1].message, 1, true)
    assert.equal("op", report[1].operation)
  end)

  it("keeps the keywords beside a reference in 3.1", function()
    local body = input({ A = { type = "string" } }, { ["$ref"] = "#/components/schemas/A", maxLength = 3 })
    assert.same({ ["$ref"] = "#/$defs/A", maxLength = 3 }, body)
  end)

  it("has no identifiers of its parts, no definitions beside $defs, and nothing about XML", function()
    local schema, _, report = input({}, { type = "object", ["$id"] = "https://a.test/x", ["$schema"] = "https://b.test",
      ["$anchor"] = "a", ["$dynamicAnchor"] = "b", ["$defs"] = { A = {} }, definitions = { B = {} }, xml = {},
      externalDocs = { url = "u" }, title = "kept", ["x-own"] = "kept" })
    assert.same({ type = "object", title = "kept", ["x-own"] = "kept" }, schema)
    assert.same({}, report)
  end)

  it("refers from a part with an identifier as that says", function()
    local schema = input({}, { type = "object", properties = { a = { ["$id"] = "https://a.test/part", type = "object",
      properties = { b = { ["$ref"] = "#/$defs/B" } }, ["$defs"] = { B = { type = "integer" } } },
      c = { ["$ref"] = "#/components/schemas/C" } } })
    assert.same({ ["$ref"] = "#/$defs/B" }, schema.properties.a.properties.b)
  end)

  it("refers to schemas that are booleans, but to nothing else", function()
    for value, expected in pairs({ [true] = defs("A"), [false] = defs("A"), text = {}, [7] = {} }) do
      local schema, _, report = input({ A = value }, { properties = { a = ref("A") } })
      assert.same(expected, schema.properties.a)
      assert.equal(type(value) == "boolean" and 0 or 1, #report)
    end
  end)

  it("has the targets of a discriminator rewritten, where it names a property", function()
    local schemas = { A = { type = "object", properties = { kind = { type = "string" } } }, B = { type = "object" } }
    local schema = input(schemas, { type = "object", oneOf = { ref("A"), ref("B") },
      discriminator = { propertyName = "kind", mapping = { a = "#/components/schemas/A" } } })
    assert.same("#/$defs/A", schema.discriminator.mapping.a)
    assert.is_nil(input(schemas, { type = "object", discriminator = { mapping = {} } }).discriminator)
    assert.same({ propertyName = "kind" },
      input(schemas, { type = "object", discriminator = { propertyName = "kind" } }).discriminator)
  end)

  it("does not touch examples, defaults and enums", function()
    local value = { ["$ref"] = "#/x", nullable = true, readOnly = true }
    local schema = { default = value, enum = { value }, const = value, examples = { value } }
    assert.same(schema, (input({}, schema, { version = "3.0.0" })))
  end)

  it("leaves the document as it was", function()
    local body = { type = "string", nullable = true, properties = { a = ref("A"), b = { readOnly = true } } }
    input({ A = { nullable = true, type = "string" } }, body, { version = "3.0.0" })
    assert.same({ type = "string", nullable = true, properties = { a = ref("A"), b = { readOnly = true } } }, body)
  end)

  it("that is nested without an end costs its operation, which is reported", function()
    local endless = {}
    endless.items = endless
    local definition, report = import({}, endless)
    assert.is_nil(definition)
    assert.matches("nested", report[1].message)
  end)
end)

describe("OpenAPI 3.0's schemas", function()
  local function converted(schema)
    return (input({ A = { type = "string" } }, schema, { version = "3.0.3" }))
  end

  it("are null as well when they are nullable", function()
    assert.same({ type = { "string", "null" } }, converted({ type = "string", nullable = true }))
    assert.same({ type = "string" }, converted({ type = "string", nullable = false }))
  end)

  it("have null among their values when they are nullable", function()
    local null = require("operations").null
    assert.same({ type = { "string", "null" }, enum = { "a", null } },
      converted({ type = "string", nullable = true, enum = { "a" } }))
    assert.same({ type = { "string", "null" }, enum = { "a", null } },
      converted({ type = "string", nullable = true, enum = { "a", null } }))
  end)

  it("are null or one of their branches when they are nullable", function()
    assert.same({ anyOf = { { type = "null" }, { allOf = { defs("A") } } } },
      converted({ nullable = true, allOf = { ref("A") } }))
  end)

  it("exclude a bound when they say so", function()
    assert.same({ exclusiveMinimum = 1, maximum = 5 },
      converted({ minimum = 1, exclusiveMinimum = true, maximum = 5, exclusiveMaximum = false }))
  end)

  it("are the schemas that they refer to and nothing beside", function()
    assert.same(defs("A"), converted({ ["$ref"] = "#/components/schemas/A", description = "x", maxLength = 1 }))
  end)

end)

describe("a keyword with an invalid value", function()
  for name, value in pairs({
    required = true, type = "any", enum = "a", pattern = "(", maximum = "3", minLength = -1, multipleOf = 0,
    properties = "x", items = 3, allOf = {}, additionalProperties = "no", uniqueItems = "yes",
    patternProperties = { ["("] = {} }, dependentRequired = 3, ["not"] = "no", format = 5,
  }) do
    it("is ignored and reported, and the operation can be registered: " .. name, function()
      local definition, report = import({}, { [name] = value, title = "t" })
      assert.same({ title = "t" }, definition.inputSchema.properties.body)
      assert.equal(1, #report)
      assert.matches(name .. ": expected ", report[1].message, 1, true)
      assert.is_truthy(require("operations").registry():register(definition))
    end)
  end
end)

describe("patterns of properties that are no object", function()
  it("are ignored and reported", function()
    local definition, report = import({}, { patternProperties = 5, title = "t" })
    assert.same({ title = "t" }, definition.inputSchema.properties.body)
    assert.matches("patternProperties: expected an object", report[1].message, 1, true)
  end)
end)

describe("properties of one direction", function()
  local function user()
    return {
      type = "object",
      required = { "id", "name", "password" },
      properties = {
        id = { type = "integer", readOnly = true },
        name = { type = "string" },
        password = { type = "string", writeOnly = true },
      },
    }
  end

  it("are recognized through references, also one that leads back to itself", function()
    for count, expected in pairs({ [7] = {}, [30] = {} }) do
      local schemas = { ["N" .. count] = { readOnly = true } }
      for i = 1, count - 1 do
        schemas["N" .. i] = ref("N" .. i + 1)
      end
      assert.same(expected, input(schemas, { properties = { id = ref("N1") } }).properties)
    end
    local loop = { A = { allOf = { ref("A") } } }
    assert.is_truthy(input(loop, { properties = { id = ref("A") } }).properties.id)
  end)

  it("are recognized by a schema beside one that has them", function()
    local schemas = { Volume = { type = "object", properties = { size = { type = "integer" }, name = {} } } }
    local whole = { allOf = { ref("Volume"), { properties = { size = { readOnly = true } } } } }
    assert.same({ allOf = { { allOf = { { type = "object", properties = { name = {} } } } }, { properties = {} } } },
      input(schemas, whole))
  end)

  it("are recognized in the combined schemas of a property", function()
    local schemas = { Goal = { type = "object", properties = { name = { type = "string" } } } }
    local own = { allOf = { ref("Goal"), { description = "d", readOnly = true } } }
    assert.same({ a = {} }, input(schemas, { properties = { goal = own, a = {} }, required = { "goal" } }).properties)
    assert.is_truthy(output(schemas, { properties = { goal = own, a = {} } }).properties.goal)
  end)

  describe("that another schema of the same value requires", function()
    local base = { type = "object", properties = {
      id = { type = "string", readOnly = true }, name = { type = "string" }, password = { writeOnly = true },
    } }
    local needs = { required = { "id", "name", "password" } }
    for title, schema in pairs({
      ["beside a reference"] = { allOf = { ref("Base"), needs } },
      ["in a component, with the property in another"] = { allOf = { ref("Needs"), ref("Base") } },
      ["in a component, with the property here"] = { properties = base.properties, allOf = { ref("Needs") } },
      ["in a component that is the whole of them"] = ref("Whole"),
      ["in a schema that applies itself once more"] = { allOf = { ref("Base"), ref("Loop") } },
    }) do
      it("are not required in the other direction: " .. title, function()
        local schemas = { Base = base, Needs = needs, Whole = { allOf = { ref("Base") }, required = needs.required },
          Loop = { required = needs.required, anyOf = { true, ref("Loop") } } }
        local definition = import(schemas, schema, { output = schema })
        local body = assert(operations.schema.compile(definition.inputSchema))
        assert.is_true(body:check({ body = { name = "a", password = "p" } }))
        assert.is_false(body:check({ body = { name = "a" } }))
        local answer = assert(operations.schema.compile(definition.outputSchema))
        assert.is_true(answer:check({ name = "a", id = "1" }))
        assert.is_false(answer:check({ name = "a" }))
      end)
    end
  end)

  it("are not sent when they are readOnly", function()
    local body = input({}, user())
    assert.is_nil(body.properties.id)
    assert.same({ "name", "password" }, body.required)
  end)

  it("do not come back when they are writeOnly", function()
    local schema = output({}, user())
    assert.is_nil(schema.properties.password)
    assert.same({ "id", "name" }, schema.required)
  end)

  it("are recognized by the schemas that they refer to", function()
    local body = input({ Id = { readOnly = true } }, { properties = { id = ref("Id"), a = {} }, required = { "id" } })
    assert.same({ properties = { a = {} } }, body)
  end)

  it("are recognized in components, for each direction by itself", function()
    local definition = import({ User = user() }, ref("User"), { output = ref("User") })
    assert.is_nil(definition.inputSchema["$defs"].User.properties.id)
    assert.is_truthy(definition.inputSchema["$defs"].User.properties.password)
    assert.is_nil(definition.outputSchema.properties.password)
    assert.is_truthy(definition.outputSchema.properties.id)
  end)
end)

describe("the body of a PATCH", function()
  it("has no defaults, which would set members that the caller did not name", function()
    local schema = { properties = { done = { type = "boolean", default = false } } }
    assert.is_nil(input({}, schema, { method = "patch" }).properties.done.default)
    assert.is_false(input({}, schema, { method = "post" }).properties.done.default)
  end)
end)

local function names(map)
  local list = {}
  for name in pairs(map) do
    list[#list + 1] = name
  end
  table.sort(list)
  return table.concat(list, " ")
end

local schemas = {
  A = { properties = { b = ref("B") } }, B = { properties = { c = ref("C"), leaf = ref("Leaf") } },
  C = { properties = { a = ref("A") } }, Leaf = { type = "integer" }, Out = { properties = { b = ref("B") } },
  Other = { properties = { leaf = ref("Leaf") } },
}

--- The `$defs` of a list of what the named schemas refer to.
local function definitions(...)
  local paths = {}
  for i, list in ipairs({ ... }) do
    local any = {}
    for name in list:gmatch("%S+") do
      any[#any + 1] = ref(name)
    end
    paths["/" .. i] = { get = { operationId = "op" .. i, responses = { ["200"] = { content = {
      ["application/json"] = { schema = { anyOf = any } },
    } } } } }
  end
  local api = support.api({ paths = paths, components = { schemas = schemas } })
  local found = {}
  for i = 1, select("#", ...) do
    found[i] = api.by_name["op" .. i].outputSchema["$defs"]
  end
  return found
end

describe("the definitions of a schema", function()
  it("are those that it reaches, and no others", function()
    local found = definitions("A", "Leaf", "Out", "Other", "Other Out", "Leaf Other")
    assert.equal("A B C Leaf", names(found[1]))
    assert.equal("Leaf", names(found[2]))
    assert.equal("A B C Leaf Out", names(found[3]))
    assert.equal("Leaf Other", names(found[4]))
    assert.equal("A B C Leaf Other Out", names(found[5]))
    assert.equal("Leaf Other", names(found[6]))
  end)

  it("are one table for all that need the same", function()
    local found = definitions("A", "B", "C", "A B", "C Leaf", "Out A")
    for i = 2, 5 do
      assert.equal(found[1], found[i])
    end
    assert.not_equal(found[1], found[6])
  end)
end)

describe("the properties of an imported operation", function()
  local text = [==[{"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"http://127.0.0.1:9"}],
    "paths":{"/a/{z}":{"post":{"operationId":"op","parameters":[
      {"name":"z","in":"path","required":true,"schema":{"type":"string"}},
      {"name":"q","in":"query","schema":{"type":"string"}},{"name":"a","in":"query","schema":{"type":"string"}}],
      "requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Task"}}}},
      "responses":{"200":{"description":"","content":{"application/json":{"schema":
        {"$ref":"#/components/schemas/Task"}}}}}},
      "put":{"operationId":"send","requestBody":{"content":{"multipart/form-data":{"schema":{
        "type":"object","properties":{
        "text":{"type":"string"},"file":{"type":"string","format":"binary"},"about":{"type":"string"}}}}}},
        "responses":{"200":{"description":""}}}}},
    "components":{"schemas":{"Task":{"type":"object","properties":{"title":{"type":"string"},
      "id":{"type":"integer","readOnly":true},"due":{"type":"string","nullable":true},
      "by":{"$ref":"#/components/schemas/Person"},"about":{"type":"string"}}},
      "Person":{"type":"object","properties":{"name":{"type":"string"},"email":{"type":"string"}}}}}}]==]

  it("keep the order of the document, where parts were converted or taken out, too", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    local registry = operations.registry()
    local list = assert(operations.from_openapi.file(path, { namespace = "t" }))
    os.remove(path)
    assert(registry:register_all(list))
    local listed = operations.schema.properties
    local spec = registry:get_spec("t.op")
    assert.same({ "z", "q", "a", "body" }, listed(spec.inputSchema))
    local into, out = spec.inputSchema["$defs"], spec.outputSchema
    assert.same({ "title", "due", "by", "about" }, listed(into.Task))
    assert.same({ "name", "email" }, listed(into.Person))
    assert.same({ "title", "id", "due", "by", "about" }, listed(out.properties and out or out["$defs"].Task))
    assert.same({ "text", "file", "about" }, listed(registry:get_spec("t.send").inputSchema.properties.body))
  end)
end)
