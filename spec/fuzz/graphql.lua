--- GraphQL texts: SDL, documents and selections, broken ones among them. Nothing raises; what is read is printed as a
--- text that reads the same again; a selection that is taken stays within its field.
local errors = require("operations.base.error")
local from_graphql = require("operations.graphql")
local mutate = require("spec.fuzz.mutate")
local operation = require("operations.graphql.operation")
local parser = require("operations.graphql.parser")
local printer = require("operations.graphql.printer")

local types = [[type Query { task(id: ID!): Task other: Int }
  type Task implements Node { id: ID! title(as: Case = LOW, by: By, all: [Int!], any: JSON): String owner: Owner u: U }
  interface Node { id: ID! } union U = Task | User enum Case { LOW UP } input By { a: Int! = 1 b: By c: [String] }
  type User implements Node { id: ID! login: String tasks(first: Int!): [Task!]! } union Owner = User scalar JSON]]

local samples = {
  types, "extend type Query { a(b: Int = 3 @d): [Int!]! @deprecated(reason: \"x\") } "
    .. "directive @d(a: Int) on FIELD | ENUM",
  '"""\n a } " \\""" b\n""" type A @d(a: ")") { "x" b: Int, c: [A!] } schema { query: A } input I @oneOf { a: I }',
  "query A($id: ID! = \"x\" @d, $n: [Int!]) @a(b: 1) { task(id: $id) { ...F } } fragment F on Task { id }",
  "{ id owner { ... on User { tasks(first: 3) { t: title(as: UP, all: [1 2], any: {a: [B null]}) } } } }",
  "id title(by: {b: {a: 2, c: [\"\\u00e9\\uD83D\\uDE00\\n\"]}}) @include(if: true) u { __typename ... on Task { id } }",
  'title(any: """ a "b" \\""" \n  c """) # comment }\n id', "id } other task(id: 1) { id", "...on Query{other}",
}
local words = {
  "{", "}", "(", ")", "[", "]", ":", "!", "$", "=", "@", "|", "&", "...", '"', '"""', "#", ",", "\n", "\\u", "\\u{",
  "query ", "mutation ", "fragment ", " on ", "type ", "extend ", "schema ", "input ", "union ", "enum ", "true",
  "null", "-0", "1e9", "__typename", "other", "id", "Query", "Task", "@skip(if: true)", "implements ", "\239\187\191",
}

local plan

local function check_selection(input)
  plan = plan or operation.plan_of(from_graphql.document(types)[1].handler)
  local request, err = plan.request({ id = 1, select = input })
  if not request then
    assert(errors.is_error(err) and err.code == "VALIDATION_ERROR", "a failure without a reason")
    return
  end
  local document = assert(parser.document(request.query))
  local root = document.operations[1].selections
  assert(#document.operations == 1 and #document.fragments == 0 and #root == 1 and root[1].name == "task",
    "it leaves its field: " .. request.query)
  assert(printer.operation(document.operations[1]) == request.query, "it is read as another query")
end

local function check_selections(input)
  local selections = parser.selections(input)
  if selections then
    local text = printer.selections(selections)
    assert(printer.selections(assert(parser.selections(text))) == text, "it is printed in two ways: " .. text)
  end
end

local function check_types(input)
  local definitions, report = from_graphql.document(input)
  assert(definitions or errors.is_error(report), "a failure without an error")
  for i = 1, math.min(3, #(definitions or {})) do
    local ok, err = pcall(operation.plan_of, definitions[i].handler)
    assert(ok or errors.is_error(err), "raised: " .. tostring(err))
  end
end

return {
  make = function()
    return mutate.text(samples, words)
  end,
  run = function(input)
    check_selections(input)
    check_selection(input)
    check_types(input)
    local document, problem = parser.document(input)
    assert(document or type(problem.message) == "string", "a failure without a message")
  end,
}
