local components = require("operations.openapi.out.components")
local members = require("operations.base.members")
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
      flag = { type = "boolean", example = false, examples = { false, "x", true } },
      bad = { type = "integer", example = "x", examples = { "y" } },
      far = { type = "object", example = { ["$ref"] = "#/x" } },
      kin = { ["$ref"] = "#/$defs/Kin", example = "k", examples = { 1, "l" } } },
      ["$defs"] = { Kin = { type = "string" } } })
    local properties = (schema.properties or schemas[schema["$ref"]:match("[^/]+$")].properties)
    assert.same({ 1, { 2, 3 } }, { properties.good.example, properties.good.examples })
    assert.same({ false, { false, true } }, { properties.flag.example, properties.flag.examples })
    assert.is_nil(properties.bad.example)
    assert.is_nil(properties.bad.examples)
    assert.is_nil(properties.far.example)
    assert.same({ "k", { "l" } }, { properties.kin.example, properties.kin.examples })
    assert.equal("string", schemas[properties.kin["$ref"]:match("^#/components/schemas/(.+)$")].type)
  end)
end)

-- The schema of the operation "op" as its document has it, the document's components, and whether it can be split.
local function shown(schema)
  local all = components.new()
  all:add(schema, "op", "input")
  return all:schema(schema), all:all(), all:is_plain(schema)
end

describe("a schema that stays in one piece", function()
  local resource = "urn:x-operation:op:input"

  for _, case in ipairs({
    { "identifies a part", { properties = { a = { ["$id"] = "x" } } } },
    { "identifies a part as drafts before 6 do", { items = { id = "x" } } },
    { "has an anchor", { ["$defs"] = { A = { ["$anchor"] = "x" } } } },
    { "has a dynamic anchor", { ["$dynamicAnchor"] = "x" } }, { "refers to one", { ["$dynamicRef"] = "#x" } },
    { "has a recursive anchor", { ["$recursiveAnchor"] = true } }, { "refers to that", { ["$recursiveRef"] = "#" } },
    { "refers to an anchor", { properties = { a = { ["$ref"] = "#x" } } } },
    { "refers to another document", { ["$ref"] = "https://a.test/x.json" } },
    { "names a dialect within", { properties = { a = { ["$schema"] = "http://json-schema.org/draft-07/schema" } } } },
    { "is of an older draft", { ["$schema"] = "http://json-schema.org/draft-04/schema#" } },
    { "is of a dialect that nobody knows", { ["$schema"] = "https://a.test/dialect" } },
    { "is of draft 7 and refers", { ["$schema"] = "http://json-schema.org/draft-07/schema#",
      properties = { a = { ["$ref"] = "#" } } } },
    { "is of draft 6 and has definitions", { ["$schema"] = "http://json-schema.org/draft-06/schema",
      definitions = {} } },
    { "is of draft 2019-09 and has dependencies", { ["$schema"] = "https://json-schema.org/draft/2019-09/schema",
      items = { dependencies = {} } } },
    { "is of draft 7 and has items by position", { ["$schema"] = "http://json-schema.org/draft-07/schema#",
      items = operations.array({ {} }) } },
    { "is of draft 7 and has items behind those", { ["$schema"] = "http://json-schema.org/draft-07/schema#",
      additionalItems = false } },
  }) do
    it(case[1], function()
      local schema, all, is_plain = shown(case[2])
      assert.equal(resource, schema["$id"])
      schema["$id"] = nil
      assert.same({ case[2], {}, false }, { schema, all, is_plain })
    end)
  end

  it("keeps its own name", function()
    assert.equal("https://a.test/s", shown({ ["$id"] = "https://a.test/s" })["$id"])
  end)

  for name, schema in pairs({
    ["is of draft 7"] = { ["$schema"] = "http://json-schema.org/draft-07/schema#", items = {} },
    ["is of draft 6"] = { ["$schema"] = "http://json-schema.org/draft-06/schema", type = "string" },
    ["is of draft 2019-09"] = { ["$schema"] = "https://json-schema.org/draft/2019-09/schema" },
    ["is of 2020-12"] = { ["$schema"] = "https://json-schema.org/draft/2020-12/schema", additionalItems = {} },
    ["names properties as keywords are"] = { properties = { ["$id"] = {}, id = { type = "string" } } },
  }) do
    it("is taken over where it " .. name, function()
      local expected = members.copy(schema)
      expected["$schema"] = nil
      local found, all, is_plain = shown(schema)
      assert.same({ expected, {}, true }, { found, all, is_plain })
    end)
  end
end)

describe("the definitions of a schema", function()
  local prefix = "#/components/schemas/"

  it("are components, as far as they are used", function()
    local schema, all, is_plain = shown({ properties = { a = { ["$ref"] = "#/$defs/A" },
      b = { ["$ref"] = "#/$defs/A/properties/x" }, c = { ["$ref"] = "#/$defs/none" },
      d = { discriminator = { propertyName = "t", mapping = { one = "#/$defs/One", two = "Two", three = 3 } } } },
      ["$defs"] = { A = { properties = { x = { ["$ref"] = "#/$defs/a~1b%20c" } } }, ["a/b c"] = true, One = false,
        Unused = {} } })
    assert.same({ properties = { a = { ["$ref"] = prefix .. "A" }, b = { ["$ref"] = prefix .. "A/properties/x" },
      c = { ["$ref"] = "#/$defs/none" },
      d = { discriminator = { propertyName = "t", mapping = { one = prefix .. "One", two = "Two", three = 3 } } } } },
      schema)
    assert.same({ A = { properties = { x = { ["$ref"] = prefix .. "a_b_c" } } }, a_b_c = {}, One = { ["not"] = {} } },
      all)
    assert.is_true(is_plain)
  end)

  it("have the schema itself among them where it refers to itself", function()
    for _, ref in ipairs({ "#", "#/properties/list" }) do
      local schema, all, is_plain = shown({ properties = { list = { items = { ["$ref"] = ref } } },
        additionalProperties = false, ["$defs"] = { A = { ["$ref"] = "#/$defs/B" }, B = {} } })
      assert.same({ ["$ref"] = prefix .. "op.input" }, schema)
      assert.same({ ["op.input"] = { properties = { list = { items = { ["$ref"] = prefix .. "op.input"
        .. ref:sub(2) } } }, additionalProperties = false } }, all)
      assert.is_false(is_plain)
    end
  end)

  it("have it among them where a definition refers to it", function()
    local schema, all = shown({ ["$ref"] = "#/$defs/A", ["$defs"] = { A = { items = { ["$ref"] = "#" } } } })
    assert.same({ ["$ref"] = prefix .. "op.input" }, schema)
    assert.same({ A = { items = { ["$ref"] = prefix .. "op.input" } }, ["op.input"] = { ["$ref"] = prefix .. "A" } },
      all)
  end)

  -- The names of the components of two operations, each with a schema that refers to the definition A of its own.
  local function names(first, second)
    local all, list = components.new(), {}
    for i, definitions in ipairs({ first, second }) do
      all:add({ ["$ref"] = "#/$defs/A", ["$defs"] = definitions }, "op" .. i, "input")
    end
    for name in pairs(all:all()) do
      list[#list + 1] = name
    end
    table.sort(list)
    return list
  end

  it("are shared where operations have the same, by what they refer to as well", function()
    local ref = { ["$ref"] = "#/$defs/B" }
    assert.same({ "A" }, names({ A = { type = "string" } }, { A = { type = "string" } }))
    assert.same({ "op1.A", "op2.A" }, names({ A = { type = "string" } }, { A = { type = "integer" } }))
    assert.same({ "A", "B" }, names({ A = ref, B = { type = "null" } }, { A = ref, B = { type = "null" } }))
    local circle = { A = ref, B = { items = { ["$ref"] = "#/$defs/C" } }, C = ref }
    assert.same({ "A", "B", "C" }, names(circle, circle))
    assert.same({ "op1.A", "op1.B", "op2.A", "op2.B" },
      names({ A = ref, B = { type = "null" } }, { A = ref, B = { type = "string" } }))
    assert.same({ "op1.A", "op2.A" }, names({ A = true }, { A = false }))
    local first, second = { A = { properties = {} } }, { A = { properties = {} } }
    for i = 1, 40 do
      local j = 41 - i
      first.A.properties["p" .. i], second.A.properties["p" .. j] = { ["$ref"] = "#/$defs/B" .. i },
        { ["$ref"] = "#/$defs/B" .. j }
      first["B" .. i], second["B" .. j] = { title = "t" }, { title = "t" }
    end
    assert.equal(41, #names(first, second))
  end)

  it("have the name of their operation where the document uses their own", function()
    assert.same({ "A", "op1.Problem" }, names({ A = { ["$ref"] = "#/$defs/Problem" }, Problem = { title = "t" } },
      { A = { ["$ref"] = "#/$defs/Problem" }, Problem = { title = "t" } }))
    assert.same({ "A", "op1.a_b", "op1.a_b_2" }, names({ A = { allOf = { { ["$ref"] = "#/$defs/a%20b" },
      { ["$ref"] = "#/$defs/a+b" } } }, ["a b"] = { title = "1" }, ["a+b"] = { title = "2" } }, {}))
  end)
end)

describe("a schema that was not added", function()
  it("is an object, in a document", function()
    local all = components.new()
    assert.same({ {}, {}, { ["not"] = {} }, { type = "string" } },
      { all:schema(nil), all:schema(true), all:schema(false), all:schema({ type = "string" }) })
    assert.equal('{"not":{}}', operations.json.encode(all:schema(false)))
    assert.equal("{}", operations.json.encode(all:schema(true)))
    assert.equal("{}", operations.json.encode(components.new():part({}, true)))
  end)

  it("has its references as they are in a part of another one", function()
    local whole = { properties = { a = { ["$ref"] = "#/$defs/A" } }, ["$defs"] = { A = { type = "string" } } }
    local all = components.new()
    all:add(whole, "op", "input")
    assert.same({ ["$ref"] = "#/components/schemas/A" }, all:part(whole, whole.properties.a))
    assert.same({ ["$ref"] = "#/$defs/A" }, all:part({}, whole.properties.a))
  end)
end)
