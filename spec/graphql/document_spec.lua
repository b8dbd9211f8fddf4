local from_graphql = require("operations.graphql")
local operations = require("operations")

local sdl = [[
type Query {
  "One task."
  task(id: ID!): Task
  tasks(first: Int, after: String): TaskConnection!
}
type Mutation { task(title: String!): Task }
type Task { id: ID! title: String! owner: User parts(of: Int!): [String!] }
type User { login: String! }
type TaskConnection { nodes: [Task] pageInfo: PageInfo! }
type PageInfo { hasNextPage: Boolean! endCursor: String }
]]

local function ids(definitions)
  local list = {}
  for i, definition in ipairs(definitions) do
    list[i] = definition.type .. " " .. definition.namespace .. "." .. definition.name
  end
  return list
end

describe("a GraphQL document", function()
  it("makes an operation of each root field", function()
    local definitions, report = from_graphql.document(sdl, { namespace = "tasks" })
    assert.same({ "query tasks.task", "query tasks.tasks", "mutation tasks.task_mutation", "mutation tasks.graphql" },
      ids(definitions))
    assert.same({ { pointer = "Mutation.task",
      message = 'the name "task" is taken; this operation is called "task_mutation"' } }, report)
    assert.equal("One task.", definitions[1].description)
  end)

  it("has names of its own for all of them", function()
    local definitions = from_graphql.document([[type Query { a: Int graphql: Int }
      type Mutation { a_mutation: Int a: Int graphql_raw: Int }]])
    assert.same({ "query graphql.a", "query graphql.graphql", "mutation graphql.a_mutation",
      "mutation graphql.a_mutation_mutation", "mutation graphql.graphql_raw", "mutation graphql.graphql_raw_raw" },
      ids(definitions))
  end)

  it("takes what include and exclude say, the operation for any query too", function()
    local function names(options)
      return ids((from_graphql.document(sdl, options)))
    end
    assert.same({ "query graphql.task", "mutation graphql.task_mutation" }, names({ include = { "task" } }))
    assert.same({ "mutation graphql.task" }, names({ include = { "Mutation.task" } }))
    assert.same({ "query graphql.tasks", "mutation graphql.graphql" }, names({ exclude = { "task" } }))
    assert.same({ "mutation graphql.graphql" }, names({ include = { "graphql" } }))
    assert.same({ "mutation graphql.task" }, names({ include = function(info)
      return info.type == "mutation" and info.name ~= "graphql"
    end }))
  end)

  it("has operations that are found by their arguments", function()
    local registry = operations.registry()
    assert(registry:register_all(assert(from_graphql.document(sdl))))
    assert.same({ "first", "after" }, registry:parameters("graphql.tasks"))
  end)

  it("describes the input by the arguments and a selection", function()
    local schema = from_graphql.document(sdl)[1].inputSchema()
    assert.same({ "id" }, schema.required)
    assert.same({ "string", "integer" }, schema.properties.id.type)
    assert.same({ "id title" }, schema.properties.select.examples)
  end)

  it("has operations that are collected, used or not", function()
    local weak = setmetatable({}, { __mode = "v" })
    local function make()
      local definitions = from_graphql.document(sdl)
      definitions[1].inputSchema()
      weak[1], weak[2] = definitions[1].handler, definitions[2].handler
    end
    make()
    collectgarbage()
    collectgarbage()
    assert.is_nil(weak[1])
    assert.is_nil(weak[2])
  end)

  it("reports types without a root", function()
    for _, text in ipairs({ "", "type Task { id: ID! }" }) do
      local definitions, report = operations.from_graphql.document(text)
      assert.same({ "graphql", "Query" }, { definitions[1].name, report[1].pointer })
    end
  end)

  it("fails for a text that is not SDL, with the place", function()
    local definitions, err = from_graphql.document("type Query {\n a: Int")
    assert.is_nil(definitions)
    assert.equal("EXECUTION_ERROR: document: line 1, column 12: a { lacks its }", tostring(err))
    assert(operations.is_error(err))
  end)
end)
