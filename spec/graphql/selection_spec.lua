-- What `select` takes. The query that is sent has one operation with one root field, whatever the text says.
local graphql = require("spec.support.graphql_plans")
local parser = require("operations.graphql.parser")

local sdl = [[
type Query {
  task(id: ID!): Task
  search(text: String): [Found!]!
  owner: Owner
  count: Int
  picky(select: String): Task
}
type Mutation { deleteTask(id: ID!): Task }
type Task {
  id: ID! title: String! state(as: State = OPEN): State owner: Owner parts(first: Int!, by: Order): [Task!]
  rate(unit: Float): Float tags(all: [String!], any: JSON): [String]
}
type User implements Owner { id: ID! login: String! boss(of: ID): Owner tasks(match: Match): [Task] size: Int }
type Team implements Owner { id: ID! login: String! boss(of: ID): Owner size: Float }
type Robot { serial: Int }
interface Owner { id: ID! login: String! boss(of: ID): Owner }
union Found = Task | User
enum State { OPEN CLOSED }
input Order { field: String! down: Boolean = false }
input Match @oneOf { id: ID title: String }
scalar JSON
]]

local function query(select, name)
  return graphql.query(sdl, name or "task", { id = 1, select = select })
end

local function selected(select)
  local text, message = query(select)
  return text and text:match("^query task%(%$id: ID!%) { task%(id: %$id%) { (.*) } }$") or message
end

describe("a selection", function()
  for select, printed in pairs({
    ["id"] = "id", ["{ id }"] = "id", ["t: title"] = "t: title",
    ["owner"] = "owner { __typename id login ... on User { size } ... on Team { size_Team: size } }",
    ["owner { login }"] = "owner { login }",
    ["owner { ... on User { tasks(match: {id: 3}) { id } } __typename }"] =
      "owner { ... on User { tasks(match: {id: 3}) { id } } __typename }",
    ["parts(first: 3, by: {field: \"a\"}) { id }"] = 'parts(first: 3, by: {field: "a"}) { id }',
    ["state(as: CLOSED)"] = "state(as: CLOSED)", ["rate(unit: 2)"] = "rate(unit: 2)",
    ["tags(all: \"one\", any: {x: [1, A]})"] = 'tags(all: "one", any: {x: [1, A]})',
    ["id @include(if: true) ... @skip(if: false) { title }"] = "id @include(if: true) ... @skip(if: false) { title }",
    ["id id"] = "id id",
  }) do
    it(("is sent: %s"):format(select), function()
      assert.equal(printed, selected(select))
    end)
  end

  for select, message in pairs({
    ["titel"] = 'Task has no field "titel" (did you mean title?) (at line 1, column 1)',
    ["owner { size }"] = 'Owner has no field "size" (did you mean ... on User { size }?) (at line 1, column 9)',
    ["id { x }"] = "id is of the type ID, which has no fields (at line 1, column 1)",
    ["parts { id }"] = 'parts lacks its argument "first" (Int!) (at line 1, column 1)',
    ["parts(first: null) { id }"] = "expected Int!, found null (at line 1, column 14)",
    ['parts(first: "1") { id }'] = 'expected Int, found "1" (at line 1, column 14)',
    ["parts(first: 3000000000) { id }"] = "expected an Int of 32 bits, found 3000000000 (at line 1, column 14)",
    ["parts(first: 1, frist: 2) { id }"] =
      'parts has no argument "frist" (did you mean first?) (at line 1, column 17)',
    ["parts(first: 1, first: 2) { id }"] = 'the argument "first" is given twice (at line 1, column 17)',
    ["parts(first: 1, by: {}) { id }"] = 'the input Order lacks the field "field" (at line 1, column 21)',
    ["parts(first: 1, by: 7) { id }"] = "expected fields of the input Order, found 7 (at line 1, column 21)",
    ['parts(first: 1, by: {field: "a", feild: "b"}) { id }'] =
      'the input Order has no field "feild" (did you mean field?) (at line 1, column 34)',
    ["state(as: OPNE)"] = "expected a value of the enum State (did you mean OPEN?), found OPNE (at line 1, column 11)",
    ['state(as: "OPEN")'] = 'expected a value of the enum State (did you mean OPEN?), found "OPEN" '
      .. '(at line 1, column 11)',
    ["rate(unit: 1e999)"] = "expected a finite Float, found 1e999 (at line 1, column 12)",
    ["owner { ... on User { tasks(match: {}) { id } } }"] =
      "the input Match takes exactly one of its fields, got 0 (at line 1, column 36)",
    ["owner { ... on User { tasks(match: {id: null}) { id } } }"] = "expected ID!, found null (at line 1, column 41)",
    ["... on Robot { serial }"] = "a value of Task is never a Robot (at line 1, column 1)",
    ["... on Nobody { id }"] = 'there is no type "Nobody" (at line 1, column 1)',
    ["... on State { id }"] = "State has no fields (at line 1, column 1)",
    ["id @include"] = 'include lacks its argument "if" (Boolean!) (at line 1, column 4)',
    ["id @deprecated"] = "the directive @deprecated is not allowed here; expected @skip or @include "
      .. "(at line 1, column 4)",
    ["id @skip(if: true) @skip(if: true)"] = "the directive @skip is given twice (at line 1, column 20)",
    ["a: id a: title"] = '"a" is selected twice, as different fields; an alias tells them apart '
      .. "(at line 1, column 7)",
    ["parts(first: 1) { id } parts(first: 2) { id }"] =
      '"parts" is selected twice, with different arguments; an alias tells them apart (at line 1, column 24)',
    ["owner { ... on User { size } ... on Team { size } }"] =
      '"size" is selected twice, with different types; an alias tells them apart (at line 1, column 44)',
  }) do
    it(("is refused: %s"):format(select), function()
      assert.equal("/select: " .. message, selected(select))
    end)
  end

  it("is a string of at most 64 KiB", function()
    assert.equal("/select: expected a string, got number", selected(7))
    assert.equal("/select: longer than 65536 bytes", selected("id " .. (" "):rep(65536)))
  end)

  it("is called _select where an argument is called select", function()
    assert.equal('query picky($select: String) { picky(select: $select) { id } }',
      graphql.query(sdl, "picky", { select = "title }", _select = "id" }))
  end)

  it("is UTF-8", function()
    assert.equal("/select: not UTF-8", selected('tags(all: "\255")'))
  end)

  it("is not there for a field without fields", function()
    assert.is_nil(graphql.plan(sdl, "count").input_schema.properties.select)
    assert.equal("query count { count }", graphql.query(sdl, "count", { select = "x" }))
  end)

  it("does not take longer than its size says", function()
    local text = "id"
    for _ = 1, 40 do
      text = ("... on Owner { x: id ... on User { x: id } ... on Team { x: id } %s }"):format(text)
    end
    assert.truthy(query("owner { " .. text .. " }"))
    text = "login"
    for _ = 1, 40 do
      text = ("boss { %s } ... on User { boss { id } } ... on Team { boss { id } }"):format(text)
    end
    local _, message = query("owner { " .. text .. " }")
    assert.truthy(message:find("^/select: the selection is too large"))
    local many = {}
    for i = 1, 9000 do
      many[i] = "a" .. i % 7 .. ":id"
    end
    assert.truthy(query(table.concat(many, " ")))
  end)
end)

-- Ways out of the field that was called.
local ways_out = {
  "id } deleteTask(id: 1) { id", "id } } mutation { deleteTask(id: 1) { id } } {", "id }} mutation M { x }",
  "{ id } } query X { count }", "{ id } { title }", "id } #", "} count {", "id } ... on Query { count } {",
  "... on Query { count }", "... on Mutation { deleteTask(id: 1) { id } }",
  "... on Query { __schema { types { name } } }", "__schema { types { name } }", "__type(name: \"Task\") { name }",
  "...F } fragment F on Query { count", "...F", "fragment F on Task { id }", "query { count }",
  "mutation { deleteTask(id: 1) { id } }", "id # }\n} count", "id\r} count\n{ x", "id \"} count {\"",
  "id\"\"\"} count {\"\"\"", "title(x: \"\"\"\\\"\"\"} count {\"\"\")", "state(as: OPEN) } count { ",
  "state(as: OPEN) { id } } count", "a: __typename } count b: {", "deleteTask(id: 1) { id }",
  "query: deleteTask(id: 1) { id }", "id @include(if: $id)", "parts(first: $id) { id }",
  "parts(first: 1 } count { x: 1) { id }", "state(as: \"OPEN\") } count {", "tags(any: {a: \"} }\") } count {",
  "tags(any: \"\\u0022) } count { \\u0022\")", "tags(any: \"\\\\\") } count { x: tags(any: \"\")",
  "id \239\187\191} count {", "id\0} count {", "\255id } count {", "id,},count,{",
  "id @skip(if: true) } count @include(if: true) {", "owner { id } } count { id",
  "owner { ... on User { id } } } } mutation D { deleteTask(id: 1) { id } } query Q { count x: owner { id",
  "id } subscription { x", "extend type Query { x: Int }", "id \226\128\168} count {",
}

-- Does a query have one operation, with the one root field?
local function stays_within(text)
  local document = assert(parser.document(text))
  local root = document.operations[1].selections
  return #document.operations == 1 and #document.fragments == 0 and document.operations[1].kind == "query"
    and #root == 1 and root[1].name == "task" and not root[1].alias and not root[1].inline and not root[1].spread
end

describe("no selection leaves its field:", function()
  for i, way in ipairs(ways_out) do
    it(("way %d, %s"):format(i, way:gsub("[^%w%p ]", " ")), function()
      local text, message = query(way)
      if text then
        assert.is_true(stays_within(text), text)
      else
        assert.truthy(message:find("^/select: "))
      end
    end)
  end

  it("those that are sent are texts within strings", function()
    local sent = {}
    for _, way in ipairs(ways_out) do
      sent[#sent + 1] = query(way)
    end
    assert.same({ 'query task($id: ID!) { task(id: $id) { tags(any: "\\") } count { \\"") } }' }, sent)
  end)
end)
