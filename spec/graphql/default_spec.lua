-- What is selected of a type when the caller selects nothing.
local graphql = require("spec.support.graphql_plans")

local function selected(types, name, options)
  return graphql.plan(types, name or "x", options).selection()
end

local function fields(count, prefix)
  local list = {}
  for i = 1, count do
    list[i] = prefix .. i .. ": Int"
  end
  return table.concat(list, " ")
end

describe("the default selection", function()
  it("has the leaves of an object, in their order", function()
    assert.equal("b a list", selected("type Query { x: X } type X { b: Int a: E! list: [[String!]]! o: X } "
      .. "enum E { F }"))
  end)

  it("has no field that requires arguments, and no deprecated one", function()
    assert.equal("free filled", selected([[type Query { x: X }
      type X { free(a: Int): Int filled(a: Int! = 3): Int bound(a: Int!): Int old: Int @deprecated }]]))
  end)

  it("goes one level down where there are no leaves", function()
    assert.equal("x { id } y { __typename }", selected("type Query { x: X } type X { x: Y! y: Z } type Y { id: ID } "
      .. "type Z { x: X }"))
  end)

  it("has at least the type's name", function()
    assert.equal("__typename", selected("type Query { x: X } type X { a(b: Int!): Int }"))
  end)

  it("goes through the nodes of a page, with the page's own leaves", function()
    local types = [[type Query { x: Page! } type Page { edges: [Edge] %s pageInfo: Info! total: Int }
      type Edge { cursor: String node: Node } type Node { id: ID! }
      type Info { hasNextPage: Boolean! endCursor: String }]]
    assert.equal("pageInfo { hasNextPage endCursor } total nodes { id }", selected(types:format("nodes: [Node]")))
    assert.equal("pageInfo { hasNextPage endCursor } total edges { node { id } }", selected(types:format("")))
  end)

  it("goes one level into the result of a mutation, into its errors first", function()
    assert.equal("ok userErrors { message path } task { id }", selected([[type Query { a: Int }
      type Mutation { x: Payload } type Payload { task: Task userErrors: [Problem!]! ok: Boolean }
      type Task { id: ID again: Task } type Problem { message: String path: [String] }]]))
  end)

  it("has the type's name and the leaves of each type of a union", function()
    assert.equal("__typename ... on A { id only } ... on B { id only_B: only }", selected([[type Query { x: U }
      union U = A | B type A { id: ID! only: Int } type B { id: ID! only: String }]]))
  end)

  it("has the leaves of an interface once, and those that its types add", function()
    assert.equal("__typename id ... on A { a } ... on B { b }", selected([[type Query { x: I }
      interface I { id: ID other: I } type A implements I { id: ID! a: Int other: A }
      type B implements I { id: ID b: Int } type C implements I { id: ID other: I }]]))
  end)

  it("has 60 leaves at most, telling ones first", function()
    local types = ("type Query { x: X } type X { %s id: ID title: String }"):format(fields(70, "f"))
    local text = selected(types)
    assert.equal("id title f1", text:match("^%S+ %S+ %S+"))
    assert.equal(60, select(2, text:gsub("%S+", "")))
    assert.equal("id title f1", selected(types, "x", { max_leaves = 3 }))
  end)

  it("gives each type of a union its share, those of a large one by telling names only", function()
    local members, types = {}, {}
    for i = 1, 30 do
      members[i] = "T" .. i
      types[i] = ("type T%d { %s name: String }"):format(i, fields(9, "f"))
    end
    local few = ("type Query { x: U } union U = T1 | T2 | T3 %s"):format(table.concat(types, " "))
    assert.equal("__typename ... on T1 { name f1 f2 } ... on T2 { name f1 f2 } ... on T3 { name f1 f2 }",
      selected(few, "x", { max_leaves = 9 }))
    local many = ("type Query { x: U } union U = %s %s"):format(table.concat(members, " | "), table.concat(types, " "))
    assert.truthy(selected(many):find("^__typename ... on T1 { name } ... on T2 { name }"))
  end)

  it("is taken for each field whose own selection is missing", function()
    assert.equal("query x { x { o { id } } }", graphql.query("type Query { x: X } type X { o: X id: ID }", "x",
      { select = "o" }))
  end)
end)
