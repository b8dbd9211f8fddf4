-- Answers to introspection queries, true ones and lies.
local graphql = require("spec.support.graphql_plans")
local from_graphql = require("operations.graphql")
local json = require("operations.base.json")
local operation = require("operations.graphql.operation")
local operations = require("operations")

local function named(name)
  return { kind = "OBJECT", name = name, ofType = operations.null }
end

local function non_null(inner)
  return { kind = "NON_NULL", name = operations.null, ofType = inner }
end

local function list_of(inner)
  return { kind = "LIST", name = operations.null, ofType = inner }
end

-- An answer whose type Query has the field `x` of a type, and further types.
local function answer(ref, types, arguments)
  local all = { { kind = "OBJECT", name = "Query", fields = { { name = "x", type = ref, args = arguments or {},
    isDeprecated = false } } } }
  for _, node in ipairs(types or {}) do
    all[#all + 1] = node
  end
  return { __schema = { queryType = { name = "Query" }, mutationType = operations.null, types = all } }
end

local function problem_of(source)
  local definitions, report = from_graphql.document(source, { raw = false })
  if not definitions then
    return tostring(report)
  end
  for _, definition in ipairs(definitions) do
    pcall(definition.inputSchema)
  end
  return report[1] and report[1].pointer .. " " .. report[1].message
end

describe("an introspection answer", function()
  it("is read as SDL is", function()
    local thing = { kind = "OBJECT", name = "Thing", description = "One.", interfaces = {}, fields = {
      { name = "id", type = non_null(list_of(non_null({ kind = "SCALAR", name = "ID" }))), args = {} },
      { name = "old", type = { kind = "SCALAR", name = "Int" }, args = {}, isDeprecated = true,
        deprecationReason = "no" },
    } }
    local source = answer(non_null(named("Thing")), { thing, { kind = "ENUM", name = "E",
      enumValues = { { name = "A" }, { name = "B" } } } },
      { { name = "e", type = { kind = "ENUM", name = "E" }, defaultValue = "B" } })
    local plan = graphql.plan({ data = source }, "x")
    assert.equal("query x($e: E) { x(e: $e) { id } }", plan.request({ e = "A" }).query)
    assert.equal("B", plan.input_schema.properties.e.default)
    assert.same({ "string" }, { plan.output_schema.properties.id.items.type })
  end)

  it("leaves out a broken field, at no cost to others", function()
    local source = answer({ kind = "SCALAR", name = "Int" })
    table.insert(source.__schema.types[1].fields, { name = "y", type = 7 })
    local list, report = graphql.load(source)
    assert.is_table(list.x)
    assert.is_nil(list.y)
    assert.same({ { pointer = "Query", message = "Query.y: its type is incomplete" } }, report)
  end)

  it("has deprecated fields", function()
    local source = answer({ kind = "SCALAR", name = "Int" })
    source.__schema.types[1].fields[2] = { name = "old", args = {}, type = { kind = "SCALAR", name = "Int" },
      isDeprecated = true, deprecationReason = "use x" }
    local list = graphql.load(source)
    assert.is_true(list.old._meta.deprecated)
    assert.equal("Query.old\n\nDeprecated: use x", list.old.description)
  end)

  local deep = { kind = "SCALAR", name = "Int" }
  for _ = 1, 300 do
    deep = list_of(deep)
  end
  local endless = { kind = "LIST" }
  endless.ofType = endless

  for what, case in pairs({
    ["nothing"] = { {},
      "EXECUTION_ERROR: document: expected the answer to an introspection query, with __schema.types" },
    ["a schema without types"] = { { __schema = {} },
      "EXECUTION_ERROR: document: expected the answer to an introspection query, with __schema.types" },
    ["a root whose name is no name"] = { { __schema = { queryType = { name = "a b" }, types = {} } },
      'EXECUTION_ERROR: document: queryType: expected a name, got "a b"' },
    ["a root that is missing"] = { { __schema = { queryType = { name = "Q" }, types = {} } },
      'Q there is no type "Q"' },
    ["a type of an unknown kind"] = { answer(named("A"), { { kind = "CLASS", name = "A" } }),
      'Query.x the type A has the unknown kind "CLASS"' },
    ["a type without a kind"] = { answer(named("A"), { { name = "A" } }),
      'Query.x the type A has the unknown kind "nil"' },
    ["a missing type"] = { answer(named("Gone")), 'Query.x there is no type "Gone"' },
    ["a type that has no end"] = { answer(endless), "Query Query.x: its type is incomplete" },
    ["a type that is cut off"] = { answer({ kind = "NON_NULL" }), "Query Query.x: its type is incomplete" },
    ["a non-null of a non-null"] = { answer(non_null(non_null({ kind = "SCALAR", name = "Int" }))),
      "Query Query.x: expected a name, got null" },
    ["lists in lists in lists"] = { answer(deep), "Query Query.x: its type is incomplete" },
    ["a field whose name would leave the query"] = {
      answer({ kind = "SCALAR", name = "x } mutation { y" }),
      'Query Query.x: expected a name, got "x } mutation { y"' },
    ["an argument whose name is a number"] = {
      answer({ kind = "SCALAR", name = "Int" }, {}, { { name = 7, type = { kind = "SCALAR", name = "Int" } } }),
      "Query Query.x: expected a name, got integer" },
    ["an output type as an input"] = {
      answer({ kind = "SCALAR", name = "Int" }, {}, { { name = "a", type = named("Query") } }),
      "Query.x Query is not a type of inputs" },
  }) do
    it(("is refused or reported: %s"):format(what), function()
      assert.equal(case[2], problem_of(case[1]))
    end)
  end

  it("may have input types that contain themselves, non-null too", function()
    local self = { kind = "INPUT_OBJECT", name = "I", inputFields = {} }
    self.inputFields[1] = { name = "i", type = non_null({ kind = "INPUT_OBJECT", name = "I" }) }
    local source = answer({ kind = "SCALAR", name = "Int" }, { self },
      { { name = "a", type = self.inputFields[1].type } })
    local plan = graphql.plan(source, "x")
    assert(operations.schema.compile(plan.input_schema))
    assert.equal("#/$defs/I", plan.input_schema.properties.a["$ref"])
  end)

  it("may have output types that contain themselves only", function()
    local loop = { kind = "OBJECT", name = "Loop", fields = {
      { name = "me", type = non_null(named("Loop")), args = {} } } }
    local plan = graphql.plan(answer(named("Loop"), { loop }), "x")
    assert.equal("me { __typename }", plan.selection())
  end)

  it("may name possible types that are missing, or no objects", function()
    local union = { kind = "UNION", name = "U", possibleTypes = { named("Gone"), named("E"), named("A"), 7, {} } }
    local plan = graphql.plan(answer({ kind = "UNION", name = "U" }, { union, { kind = "ENUM", name = "E",
      enumValues = {} }, { kind = "OBJECT", name = "A", fields = {
      { name = "a", type = { kind = "SCALAR", name = "Int" } } } } }), "x")
    assert.equal("__typename ... on A { a }", plan.selection())
  end)

  it("is never a reason to raise, whatever stands in it", function()
    local strangers = { operations.null, 7, "text", "", true, false, operations.array(), { a = 1 }, { 1, "x" } }
    local text = assert(json.encode(answer(non_null(named("Thing")), {
      { kind = "OBJECT", name = "Thing", fields = { { name = "id", args = {}, type = list_of(named("Thing")) } } },
      { kind = "UNION", name = "U", possibleTypes = { named("Thing") } },
      { kind = "ENUM", name = "E", enumValues = { { name = "A" } } },
      { kind = "INPUT_OBJECT", name = "I", inputFields = { { name = "u", type = { kind = "ENUM", name = "E" } } } },
    }, { { name = "i", type = { kind = "INPUT_OBJECT", name = "I" }, defaultValue = "{u: A}" } })))
    local source = json.decode(text)
    local function try()
      local definitions, report = from_graphql.document(source)
      for _, definition in ipairs(definitions or {}) do
        local ok, err = pcall(definition.inputSchema)
        assert(ok or operations.is_error(err), tostring(err))
        local plan = ok and operation.plan_of(definition.handler)
        assert(not ok or plan.request({ query = "{ a }" }))
      end
      assert(definitions or operations.is_error(report))
    end
    local function visit(node)
      local keys = {}
      for key in pairs(node) do
        keys[#keys + 1] = key
      end
      for _, key in ipairs(keys) do
        local old = node[key]
        for i = 0, #strangers do
          node[key] = strangers[i]
          try()
        end
        node[key] = old
        if type(old) == "table" then
          visit(old)
        end
      end
    end
    visit(source)
  end)
end)
