-- Operations of GraphQL services in every way into a registry.
local operations = require("operations")

local SDL = [[
  type Query { task(id: ID!): Task forbidden: String }
  type Mutation { add(title: String!): Task  remove(id: ID!): Boolean }
  type Subscription { ticks(to: Int!): Int }
  type Task { id: ID! title: String! owner: User }
  type User { login: String! }
]]

-- A service that answers every field.
local function answer(request)
  local query, variables = request.json.query, request.json.variables
  if query:find("forbidden", 1, true) then
    return { json = { data = { forbidden = operations.null },
      errors = { { message = "not you", path = { "forbidden" }, extensions = { code = "FORBIDDEN" } } } } }
  elseif query:find("ticks", 1, true) then
    return { events = { { event = "next", data = { data = { ticks = 1 } } },
      { event = "next", data = { data = { ticks = 2 } } }, { event = "complete", data = "" } } }
  elseif query:find("add", 1, true) then
    return { json = { data = { add = { id = "2", title = variables.title } } } }
  end
  return { json = { data = { task = { id = "1", title = "Read", owner = { login = "ada" } }, remove = true } } }
end

describe("operations of a GraphQL service", function()
  local service, definitions

  before_each(function()
    service = operations.testing.http({ ["POST /graphql"] = answer })
    definitions = assert(operations.from_graphql.document(SDL, { namespace = "todo", http = service,
      endpoint = "https://api.test/graphql", accessControl = {}, subscriptions = "sse" }))
  end)

  local function registry_of(options, list)
    local all = { log = function() end }
    for name, value in pairs(options or {}) do
      all[name] = value
    end
    local registry = operations.registry(all)
    assert(registry:register_all(list or definitions))
    return registry
  end

  local function served(rule, list)
    local client = operations.testing.client(assert(operations.to_http(registry_of(nil, list),
      { upstream_errors = rule, log = function() end })))
    return function(method, path, input)
      local reply = assert(client.request({ method = method, url = "http://localhost" .. path,
        headers = { ["Content-Type"] = "application/json" }, body = input and operations.json.encode(input) }))
      return operations.json.decode(reply.body) or reply.body, reply.status
    end
  end

  it("are an HTTP API", function()
    local call = served()
    assert.same({ id = "1", title = "Read", owner = { login = "ada" } }, (call("POST", "/todo/task", { id = 1 })))
    local _, status = call("POST", "/todo/task", { id = 1, select = "id } add(title: 1) { id" })
    assert.equal(422, status)
    assert.matches("data: 1\n\ndata: 2\n\nevent: end", call("GET", "/todo/ticks?to=2"), 1, true)
  end)

  it("tell remote callers what the service said, by the option, and never its address", function()
    for rule, message in pairs({ client = "not you (at forbidden)", none = "a server behind this one failed" }) do
      local body, status = served(rule)("GET", "/todo/forbidden")
      assert.same({ 502, "FORBIDDEN", message }, { status, body.code, body.detail })
      assert.is_nil(operations.json.encode(body):find("api.test", 1, true))
    end
  end)

  it("are tools of MCP and of models", function()
    for _, format in ipairs({ "openai", "anthropic", "gemini" }) do
      local tools = assert(operations.to_tools(registry_of(), { format = format }))
      assert.equal("todo.task", tools:id_of("todo_task"))
    end
    local registry = registry_of()
    local server = assert(operations.to_mcp(registry))
    local client = assert(operations.from_mcp.connect("mcp", { url = "http://localhost/mcp",
      http = operations.testing.client(server) }))
    local behind = operations.registry({ log = function() end })
    assert(behind:register_all(client.operations))
    assert.equal("Read", behind:execute("mcp.todo_task", { id = 1, select = "title" }).data.title)
    client:close()
  end)

  it("are held back by a policy", function()
    local registry = registry_of({ policy = { { match = "todo.remove", action = "block" } } })
    assert.equal("ACCESS_DENIED", select(2, registry:execute("todo.remove", { id = 1 })).code)
    assert.equal(0, #service.requests)
  end)

  it("are changed by transform: a fixed selection, a part of the answer", function()
    local list = assert(operations.transform(definitions, { ["todo.task"] = { name = "title",
      fix = { select = "title" }, select = "title" } }))
    local registry = registry_of(nil, list)
    assert.equal("Read", registry:execute("todo.title", { id = 1 }).data)
    assert.equal("query task($id: ID!) { task(id: $id) { title } }", service.requests[1].json.query)
    assert.is_nil(registry:get_spec("todo.title").inputSchema.properties.select)
  end)

  it("have types", function()
    for format, text in pairs({ typescript = "title: string;", lua = "---@field title string",
      ["json-schema"] = '"todo.task"' }) do
      assert.matches(text, assert(operations.types(registry_of(), { format = format })), 1, true)
    end
  end)

  it("are not offered onward unless the program says so", function()
    local list = assert(operations.from_graphql.document(SDL, { namespace = "todo",
      endpoint = "https://api.test/graphql" }))
    assert.equal(404, select(2, served(nil, list)("POST", "/todo/task", { id = 1 })))
  end)
end)
