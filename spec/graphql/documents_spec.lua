-- Operations of `.graphql` documents.
local from_graphql = require("operations.graphql")
local graphql = require("spec.support.graphql_plans")
local operation = require("operations.graphql.operation")
local operations = require("operations")

local types = [[
type Query { task(id: ID!): Task tasks(first: Int, after: String, before: String): Page! any: Any }
type Mutation { add(title: String!, rank: Int! = 1): Task }
type Subscription { added: Task }
type Task { id: ID! title: String! parts(first: Int, after: String): Page! }
type Page { nodes: [Task!] pageInfo: Info! }
type Info { hasNextPage: Boolean! endCursor: String }
type User { login: String! }
union Any = Task | User
]]

-- The definitions of documents by name, and the report.
local function load(texts, options)
  local directory = os.tmpname()
  os.remove(directory)
  assert(os.execute(("mkdir -p '%s/inner'"):format(directory)))
  for name, text in pairs(texts) do
    local file = assert(io.open(directory .. "/" .. name, "wb"))
    file:write(text)
    file:close()
  end
  options = options or {}
  options.documents, options.fields, options.raw = directory, false, false
  local list, report = graphql.load(types, options)
  os.execute(("rm -r '%s'"):format(directory))
  return list, report
end

local function one(text)
  local list, report = load({ ["a.graphql"] = text })
  local _, definition = next(list)
  return definition, report[1] and report[1].message
end

describe("a document", function()
  it("makes an operation of each of its operations, with fragments of other files", function()
    local list, report = load({
      ["a.graphql"] = "query One($id: ID!) { task(id: $id) { ...Parts } } subscription Added { added { id } }",
      ["inner/b.gql"] = "fragment Parts on Task { id ...More } fragment More on Task { title } "
        .. "fragment No on Task { id }",
      ["inner/lonely.graphql"] = "{ any { __typename } }",
      ["c.txt"] = "query Other { any { __typename } }",
    }, { namespace = "tasks" })
    assert.same({}, report)
    assert.equal("query", list.One.type)
    assert.equal("subscription", list.Added.type)
    assert.equal("tasks", list.lonely.namespace)
    assert.is_nil(list.Other)
    local request = operation.plan_of(list.One.handler).request({ id = 7 })
    assert.equal("query One($id: ID!) { task(id: $id) { ...Parts } } fragment Parts on Task { id ...More } "
      .. "fragment More on Task { title }", request.query)
    assert.equal("One", request.operationName)
    assert.same({ id = 7 }, request.variables)
    assert.is_nil(request.field)
  end)

  it("has its variables as input", function()
    local schema = one("query A($id: ID! = 1, $n: Int!, $d: Int = 3) { task(id: $id) { "
      .. "a: parts(first: $n) { nodes { id } } b: parts(first: $d) { nodes { id } } } }").inputSchema()
    assert.same({ "n" }, schema.required)
    assert.equal(3, schema.properties.d.default)
  end)

  it("has the exact type of its answer", function()
    local schema = assert(operations.schema.compile(one([[query A {
      any { kind: __typename ... on Task { id title @include(if: true) } ... on User { login } } }]]).outputSchema()))
    for text, fits in pairs({
      ['{"any": null}'] = true,
      ['{"any": {"kind": "Task", "id": "1"}}'] = true,
      ['{"any": {"kind": "Task", "id": "1", "title": "a"}}'] = true,
      ['{"any": {"kind": "Task", "id": "1", "title": null}}'] = false,
      ['{"any": {"kind": "User", "login": "x"}}'] = true,
      ['{"any": {"kind": "User", "id": "1"}}'] = false,
      ['{"any": {"kind": "Robot", "id": "1"}}'] = false,
      ['{}'] = false,
    }) do
      assert.equal(fits, (schema:check(operations.json.decode(text))), text)
    end
  end)

  it("tells the types of a large union apart no more than needed", function()
    local parts, names = {}, {}
    for i = 1, 600 do
      names[i] = "T" .. i
      parts[i] = ("type T%d { a: Int b%d: Int }"):format(i, i)
    end
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write("query A { u { __typename ... on T1 { a b1 } ... on T2 { a } } }")
    file:close()
    local many = "type Query { u: U! } union U = " .. table.concat(names, "|") .. " " .. table.concat(parts, " ")
    local list = graphql.load(many, { documents = path, fields = false })
    os.remove(path)
    local schema = list.A.outputSchema().properties.u
    assert.same({ "__typename" }, schema.required)
    assert.is_table(schema.properties.b1)
  end)

  it("is described by its description, or the comment above it", function()
    assert.equal("Gets it.", one('"Gets it." query A { any { __typename } }').description)
    local commented = one("# other\n\n# First line,\n# second.\nquery A { any { __typename } }")
    assert.equal("First line,\nsecond.", commented.description)
    assert.equal("query A", one("query A { any { __typename } }").description)
    assert.equal("query A", one("# other\n\nquery A { any { __typename } }").description)
  end)

  it("knows the connection that its variables move", function()
    local plan = operation.plan_of(one([[query A($id: ID!, $after: String, $n: Int) {
      t: task(id: $id) { parts(first: $n, after: $after) { nodes { id } } } }]]).handler)
    assert.same({ path = { "t", "parts" }, after = "after", first = "n" }, plan.page)
    assert.truthy(plan.request({ id = 1 }, true).query:find(
      "nodes { id } pageInfo { hasNextPage endCursor } } } }", 1, true))
    assert.is_nil(plan.request({ id = 1 }).query:find("pageInfo", 1, true))
  end)

  it("is not changed by the pages of another that uses the same fragment", function()
    local list = load({ ["a.graphql"] = [[
      query A($after: String) { task(id: 1) { ...Parts } } query B($after: String) { task(id: 2) { ...Parts } }
      fragment Parts on Task { parts(after: $after) { nodes { id } } }]] })
    for _, name in ipairs({ "A", "B" }) do
      local plan = operation.plan_of(list[name].handler)
      assert.is_nil(plan.request({}).query:find("pageInfo", 1, true))
      assert.equal(1, select(2, plan.request({}, true).query:gsub("pageInfo", "")))
    end
  end)

  it("names the place in a fragment of another file", function()
    local _, report = load({ ["a.graphql"] = "query A { task(id: 1) { ...F } }",
      ["b.graphql"] = "\n\nfragment F on Task { titel }" })
    assert.equal('A: Task has no field "titel" (did you mean title?) (at line 3, column 22)', report[1].message)
  end)

  it("keeps directives of the service", function()
    local plan = operation.plan_of(one("query A($t: Int) @cached(ttl: $t) { any { __typename @own } }").handler)
    assert.equal("query A($t: Int) @cached(ttl: $t) { any { __typename @own } }", plan.request({}).query)
  end)

  for text, message in pairs({
    ["query A { any }"] = "A: fields of any must be selected (at line 1, column 11)",
    ["query A { task { id } }"] = 'A: task lacks its argument "id" (ID!) (at line 1, column 11)',
    ["query A { task(id: $id) { id } }"] = "A: the variable $id is not defined (at line 1, column 20)",
    ["query A($id: ID) { task(id: $id) { id } }"] =
      "A: the variable $id is of the type ID, expected ID! (at line 1, column 29)",
    ["query A($id: [ID!]!) { task(id: $id) { id } }"] =
      "A: the variable $id is of the type [ID!]!, expected ID! (at line 1, column 33)",
    ["query A($a: Int) { any { __typename } }"] = "A: the variable $a is not used (at line 1, column 9)",
    ["query A($a: Int $a: Int) { any { __typename } }"] = "A: the variable $a is defined twice (at line 1, column 17)",
    ["query A($a: Task) { any { __typename @x(a: $a) } }"] = "A: Task is not a type of inputs",
    ["query A { ...F }"] = 'A: there is no fragment "F" (at line 1, column 11)',
    ["query A { task(id: 1) { ...F } } fragment F on Task { parts { nodes { ...F } } }"] =
      'A: the fragment "F" contains itself (at line 1, column 71)',
    ["query A { tsk }"] = 'A: Query has no field "tsk" (did you mean task?) (at line 1, column 11)',
    ["query A {"] = "line 1, column 10: expected a field, found the end",
    ["type Query { a: Int }"] = 'line 1, column 1: expected an operation or a fragment, found "type"',
  }) do
    it(("is reported and left out: %s"):format(text), function()
      local definition, problem = one(text)
      assert.is_nil(definition)
      assert.equal(message, problem)
    end)
  end

  it("takes a variable for what has a default, as the specification says", function()
    assert.is_table(one("mutation A($r: Int) { add(title: \"a\", rank: $r) { id } }"))
    assert.is_table(one("query A($id: ID = 3) { task(id: $id) { id } }"))
  end)

  it("fails where the path does not exist", function()
    local list, err = from_graphql.document(types, { documents = "/nowhere/a.graphql" })
    assert.is_nil(list)
    assert.equal("EXECUTION_ERROR: /nowhere/a.graphql: No such file or directory", tostring(err))
  end)

  it("may have fragments in fragments to a bound", function()
    local parts = { "query A { task(id: 1) { ...F1 } }" }
    for i = 1, 50000 do
      parts[i + 1] = ("fragment F%d on Task { ...F%d }"):format(i, i + 1)
    end
    local definition, problem = one(table.concat(parts, "\n"))
    assert.is_nil(definition)
    assert.truthy(problem:find("^A: fragments are nested more than 100 levels deep"))
  end)

  it("does not take longer than its size says", function()
    local parts = { "query A { task(id: 1) { ...F1 } }" }
    for i = 1, 60 do
      parts[#parts + 1] = ("fragment F%d on Task { a%d: parts { nodes { ...F%d } } b%d: parts { nodes { ...F%d } } }")
        :format(i, i, i + 1, i, i + 1)
    end
    parts[#parts + 1] = "fragment F61 on Task { id }"
    local definition, problem = one(table.concat(parts, "\n"))
    assert.is_nil(definition)
    assert.equal("A: the selection is too large", problem:match("^A: the selection is too large"))
  end)
end)

describe("the operation that takes any query", function()
  local raw = graphql.load(types).graphql

  local function request(input)
    local made, err = operation.plan_of(raw.handler).request(input)
    return made, err and err.message
  end

  it("sends a query as it is, by its kind", function()
    assert.same({ query = "{ any { x } }", type = "query" }, request({ query = "{ any { x } }" }))
    local document = "query A { a } mutation B($x: Int) { b }"
    assert.same({ query = document, type = "mutation", operationName = "B", variables = { x = 1 } },
      request({ query = document, operationName = "B", variables = { x = 1 } }))
  end)

  it("refuses subscriptions, and several operations without a name", function()
    for query, message in pairs({
      ["query A { a } query B { b }"] = "/query: operationName must say which operation runs",
      ["{ a"] = "/query: expected a field, found the end (at line 1, column 4)",
      ["subscription { a }"] = "/query: subscriptions are operations of their own; this one sends queries and "
        .. "mutations",
    }) do
      assert.equal(message, select(2, request({ query = query })))
    end
    local _, unknown = request({ query = "query A { a }", operationName = "C" })
    assert.equal('/query: there is no operation "C"', unknown)
  end)

  it("is exposed only where the program says so", function()
    local access = { requiredScopes = { "x" } }
    assert.is_false(graphql.load(types, { accessControl = access }).graphql._meta.exposed)
    assert.is_true(graphql.load(types, { accessControl = access }).task._meta.exposed)
    assert.is_true(graphql.load(types, { accessControl = access, raw = true }).graphql._meta.exposed)
    assert.is_nil(graphql.load(types, { raw = false }).graphql)
  end)
end)
