-- SDL: what it may look like, what is wrong with it, how large it may be.
local from_graphql = require("operations.graphql")
local graphql = require("spec.support.graphql_plans")
local operations = require("operations")

local function problem_of(text)
  local definitions, report = from_graphql.document(text, { raw = false })
  if not definitions then
    return report.message
  end
  for _, definition in ipairs(definitions) do
    pcall(definition.inputSchema)
  end
  return report[1] and report[1].pointer .. " " .. report[1].message
end

describe("SDL", function()
  it("names its roots, or they have the usual names", function()
    local list = graphql.load([[schema @x(a: "}") { query: Q mutation: M }
      type Q { a: Int } type M { b: Int } type Query { c: Int } type Subscription { d: Int }]])
    assert.is_table(list.a)
    assert.equal("mutation", list.b.type)
    assert.is_nil(list.c)
    assert.equal("subscription", graphql.load("type Subscription { d: Int }").d.type)
    assert.equal("query", graphql.load("extend schema { query: Q } type Q { a: Int }").a.type)
  end)

  it("has extensions of every kind of type, before or after the type", function()
    local types = [[extend type Query { b(i: I): B } type Query { a: A } interface N { n: Int }
      type A { x: Int } extend type A implements N { n: Int }
      union B = A extend union B = | C type C { c: E } enum E { F } extend enum E { G }
      input I { j: Int } extend input I { k: Int } scalar S extend scalar S @specifiedBy(url: "u")
      extend type A @key(fields: "x")]]
    assert.equal("x n", graphql.plan(types, "a").selection())
    local plan = graphql.plan(types, "b")
    assert.equal("__typename ... on A { x n } ... on C { c }", plan.selection())
    assert.is_table(plan.input_schema["$defs"].I.properties.k)
    assert.same({ "F", "G", operations.null }, plan.output_schema.properties.c.enum)
  end)

  it("has descriptions, comments and directives everywhere", function()
    local types = [==[
      """ The } "service" { """ # }
      schema { query: Query }
      directive @d("what" a: String = "}") repeatable on FIELD | OBJECT
      directive @e on | FIELD_DEFINITION
      """
      Root { of \""" all
      """
      type Query @d(a: "{") @d(a: "") {
        # comment }
        "field }" x("arg }" a: Int = 3 @d(a: ")")): X @d, y: Int
      }
      type X{y:Int}]==]
    assert.equal("y", graphql.plan(types, "x").selection())
    assert.equal("field }", graphql.load(types).x.description)
    assert.equal("arg }", graphql.plan(types, "x").input_schema.properties.a.description)
  end)

  it("may have names that mean something to Lua or to GraphQL", function()
    local types = [[type Query { end(nil: Int, function: Int): type  type: Int query: Int on: Int }
      type type { repeat: Int input: Int enum: Int }]]
    assert.equal("query end($nil: Int) { end(nil: $nil) { repeat input enum } }",
      graphql.query(types, "end", { ["nil"] = 1 }))
    local list = graphql.load(types)
    assert.is_table(list.type)
    assert.is_table(list.on)
  end)

  for text, message in pairs({
    ["type Query {"] = "document: line 1, column 12: a { lacks its }",
    ["type Query { a: Int } }"] = 'document: line 1, column 23: expected a definition of a type, found "}"',
    ["type { a: Int }"] = 'document: line 1, column 6: expected a name, found "{"',
    ["class A { }"] = 'document: line 1, column 1: expected a definition of a type, found "class"',
    ['type A { "x'] = "document: line 1, column 10: a string lacks its closing quotation mark",
    ['type A { """x" }'] = 'document: line 1, column 10: a block string lacks its closing """',
    ["type A @x( { a: Int }"] = "document: line 1, column 10: a ( lacks its )",
    ["type A { a: Int } type A { b: Int }"] = 'document: line 1, column 19: the type "A" is defined twice',
    ["type A { a: Int } extend enum A { B }"] = 'document: line 1, column 26: the type "A" is defined twice',
    ["directive @x(a: Int) FIELD"] = 'document: line 1, column 22: expected "on", found "FIELD"',
    ["{ a }"] = 'document: line 1, column 1: expected a definition of a type, found "{"',
    ["query { a }"] = 'document: line 1, column 1: expected a definition of a type, found "query"',
    ["type Query { a Int }"] = 'Query the type Query, line 1, column 16: expected ":", found "Int"',
    ["type Query { a: [Int }"] = 'Query the type Query, line 1, column 22: expected "]", found "}"',
    ["type Query { a: X } type X { b: }"] =
      'Query.a the type X, line 1, column 33: expected a type, found "}"',
    ["type Query { a: Gone }"] = 'Query.a there is no type "Gone"',
    ["type Query { a: X } type Y { b: Int }"] = 'Query.a there is no type "X"',
    ["type Query { a: User } type Uesr { b: Int }"] = 'Query.a there is no type "User" (did you mean Uesr?)',
    ["\255\254"] = "document: line 1, column 1: unexpected character",
  }) do
    it(("is refused, or its operation reported: %s"):format(text:gsub("[\128-\255]", " ")), function()
      assert.equal(message, problem_of(text))
    end)
  end

  it("has broken types at no cost to other operations", function()
    local list, report = graphql.load("type Query { a: X b: Y } type X { b: } type Y { c: Int }")
    local registry = operations.registry({ log = function() end })
    assert(registry:register_all({ list.a, list.b }))
    assert.is_table(registry:get_spec("graphql.b").inputSchema)
    assert.equal("EXECUTION_ERROR",
      select(2, registry:execute("graphql.a", {})).code)
    assert.equal(1, #report)
    assert.equal("Query.a", report[1].pointer)
  end)

  it("is reported completely when the program is eager", function()
    local _, report = graphql.load("type Query { a: X b: Z } type X { b: }", { eager = true })
    assert.equal("Query.a", report[1].pointer)
    assert.equal("Query.b", report[2].pointer)
  end)

  it("may have 10,000 types, of which a call reads those that it needs", function()
    local parts = { "type Query { a: T1 u: U }" }
    local members = {}
    for i = 1, 10000 do
      parts[#parts + 1] = ('"type %d }" type T%d implements I { id: ID! next: T%d! wrong: }'):format(i, i, i + 1)
      members[i] = "T" .. i
    end
    parts[2], parts[3] = "type T1 implements I { id: ID! next: T2! }", "type T2 implements I { id: ID! }"
    parts[#parts + 1] = "interface I { id: ID! } union U = " .. table.concat(members, " | ")
    local list, report = graphql.load(table.concat(parts, "\n"))
    assert.same({}, report)
    assert.is_table(list.a.inputSchema())
  end)

  it("may nest types and values to a bound", function()
    assert.equal("Query the type Query, line 1, column 117: nested more than 100 levels deep",
      problem_of("type Query { a: " .. ("["):rep(5000) .. "Int" .. ("]"):rep(5000) .. " }"))
    assert.equal("Query the type Query, line 1, column 125: nested more than 100 levels deep",
      problem_of("type Query { a(b: Int = " .. ("["):rep(5000) .. ("]"):rep(5000) .. "): Int }"))
  end)
end)
