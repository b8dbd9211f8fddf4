-- GraphQL services as sources of the command line.
local command = require("spec.support.command")
local server = require("spec.support.server")

describe("a GraphQL service on the command line", function()
  local running = server.around(setup, teardown)
  local home, url

  before_each(function()
    home = os.tmpname()
    os.remove(home)
    os.execute("mkdir -p " .. home)
    url = running.url .. "/graphql/" .. home:match("[^/]+$")
  end)

  after_each(function()
    os.execute("rm -rf " .. home)
  end)

  local function run(script, ...)
    return command.run(("HOME=%s; export HOME; unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME; "
      .. "url=%s; %s"):format(home, url, script:format(...)))
  end

  local function noted()
    return require("operations").http.request({ url = running.url .. "/note/" .. url:match("[^/]+$") }).body
  end

  it("is remembered, listed and called, its types asked for once", function()
    local result = run("operations add todo --graphql $url && operations sources && operations list todo "
      .. "&& operations call todo.task id=7 'select=title owner { login }' "
      .. "&& operations call todo.task id=8 --select title")
    assert.equal("operations: remembered todo: 6 operations; operations list todo shows them\n", result.err)
    assert.matches("^todo  graphql http://%S+  %(6 operations%)\n", result.out)
    assert.matches("\ntodo.tasks +query", result.out)
    assert.matches('\n{"id":"7","owner":{"login":"ada"},"title":"Task 7"}\n"Task 8"\n$', result.out)
    assert.equal("schema\nquery task($id: ID!) { task(id: $id) { title owner { login } } }\n"
      .. "query task($id: ID!) { task(id: $id) { id title } }\n", noted())
  end)

  it("is known by its URL, or by the name of a file", function()
    local result = run("operations add a %s/graphql; operations call a.task id=1 --select id; "
      .. "echo 'type Query { task(id: ID!): String }' >$HOME/s.graphql; "
      .. "operations add b $HOME/s.graphql --base-url $url; operations sources", running.url)
    assert.matches('^"1"\na  graphql [^\n]*\nb  graphql [^\n]*s.graphql  %(2 operations%)\n', result.out)
  end)

  it("is described with a selection to copy", function()
    local result = run("operations add todo --graphql $url && operations describe todo.task")
    local types = "Types:\n  Task\n    id: ID!\n    title: String\n    owner: User\n      login: String\n"
    assert.matches(types, result.out, 1, true)
    assert.matches("Selection, to copy and change:\n  select='id title'\n", result.out, 1, true)
    assert.matches("operations call todo.task id=ID", result.out, 1, true)
  end)

  it("describes operations that have no selection", function()
    local result = run("echo 'query Title($id: ID!) { task(id: $id) { title } }' >$HOME/d.graphql; "
      .. "operations add todo --graphql $url --documents $HOME/d.graphql && operations describe todo.Title "
      .. "&& operations describe todo.graphql")
    assert.matches("operations call todo.Title id=ID\n", result.out, 1, true)
    assert.matches("operations call todo.graphql query=", result.out, 1, true)
  end)

  it("offers the operation for any query only where its id is written", function()
    local list = [[(echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",]]
      .. [["capabilities":{},"clientInfo":{"name":"x","version":"1"}}}'; ]]
      .. [[echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'; ]]
      .. [[echo '{"jsonrpc":"2.0","id":2,"method":"tools/list"}') | operations mcp todo ]]
    local result = run("operations add todo --graphql $url; " .. list .. "; " .. list .. "--include 'todo.*'")
    assert.matches("todo_task", result.out, 1, true)
    assert.is_nil(result.out:find("todo_graphql", 1, true))
    result = run(list .. "--include 'todo.*' --include todo.graphql")
    assert.matches("todo_graphql", result.out, 1, true)
  end)

  it("has pages and a stream", function()
    local result = run("operations add todo --graphql $url && operations call todo.tasks --all --format ndjson "
      .. "&& operations watch todo.ticks && operations call todo.tasks --all --select 'nodes[].id'")
    assert.matches('^{"id":"1",[^\n]*}\n{"id":"2",[^\n]*}\n{"id":"3",[^\n]*}\n1\n2\n%["1","2","3"%]\n$', result.out)
  end)

  it("completes arguments and the selection", function()
    local result = run("operations add todo --graphql $url && operations complete -- call todo.tasks ''")
    assert.matches("^first=\nafter=\nselect=\n", result.out)
  end)

  it("fails with its own words", function()
    local result = run("operations add todo --graphql $url && operations call todo.close id=1")
    assert.matches("FORBIDDEN: not yours (at close)", result.err, 1, true)
    assert.equal(8, result.code)
    result = run("operations call todo.task id=1 'select=title } close(id: 1) { id'")
    assert.matches("VALIDATION_ERROR\n  /select: ", result.err, 1, true)
    assert.equal(5, result.code)
    assert.is_nil(noted():find("close(id: 1)", 1, true))
  end)

  it("shows its request without sending it", function()
    local result = run("operations add todo --graphql $url && operations call todo.close id=1 --dry-run "
      .. "&& operations call todo.close id=1 --curl && operations call todo.close id=1 --lua-code")
    assert.matches('^POST http://[^\n]*\nAccept: application/graphql%-response', result.out)
    assert.matches("\ncurl --request POST http://", result.out, 1, true)
    assert.matches('operations.sources.load("todo")', result.out, 1, true)
    assert.equal("schema\n", noted())
    result = run("operations call --graphql $url graphql.task id=1 --lua-code")
    assert.matches('operations.from_graphql.url("http://', result.out, 1, true)
  end)

  it("gets the credentials of its options", function()
    local result = run("operations call --graphql %s/echo x", running.url)
    assert.equal(12, result.code) -- it is no GraphQL service
    result = run("T=secret operations add todo --graphql $url --bearer secret")
    assert.matches("a remembered source holds no secrets", result.err, 1, true)
    result = run("export T=secret; operations add todo --graphql $url --bearer env:T --api-key X-Key=env:T "
      .. "&& operations call todo.task id=1 --dry-run")
    assert.matches("Authorization: ***\n", result.out, 1, true)
    assert.matches("X-Key: ***\n", result.out, 1, true)
  end)

  it("is listed from the cache, without its secrets", function()
    local result = run("T=x operations add todo --graphql $url --bearer env:T && operations list todo")
    assert.equal(0, result.code)
    assert.matches("todo.task", result.out, 1, true)
    assert.equal("schema\n", noted())
    result = run("operations call todo.task id=1")
    assert.matches("the environment has no T", result.err, 1, true)
  end)

  it("is examined, and whose its credentials are", function()
    local result = run("export T=x; operations add todo --graphql $url --bearer env:T && operations doctor todo")
    assert.equal(0, result.code)
    assert.matches("6 operations", result.out, 1, true)
    assert.matches("the API takes the credentials, which are of ada (todo.viewer)", result.out, 1, true)
  end)

  it("is asked again by --refresh", function()
    run("operations add todo --graphql $url && operations list todo --refresh")
    assert.equal("schema\nschema\n", noted())
  end)

  it("whose file has changed is read again", function()
    local result = run("echo 'type Query { a: String }' >$HOME/s.graphql; operations add b $HOME/s.graphql; "
      .. "echo 'type Query { a: String bee: String }' >$HOME/s.graphql; operations list b")
    assert.matches("b.bee", result.out, 1, true)
  end)

  it("has the operations of documents, as these are now", function()
    local result = run("mkdir $HOME/q; echo 'query One($id: ID!) { task(id: $id) { title } }' >$HOME/q/one.graphql; "
      .. "operations add todo --graphql $url --documents $HOME/q; operations call todo.One id=4; "
      .. "echo 'query Two { tasks { nodes { id } } }' >$HOME/q/two.graphql; operations list todo; "
      .. "operations call todo.Two --select 'tasks.nodes[].id'")
    assert.matches('^{"task":{[^\n]*"title":"Task 4"}}\n', result.out)
    assert.matches("\ntodo.One +query.*\ntodo.Two +query", result.out)
    assert.matches('\n%["1"%]\n$', result.out)
    assert.equal(1, select(2, noted():gsub("schema", "")))
    result = run("rm -r $HOME/q; operations list todo")
    assert.matches("/q: No such file or directory", result.err, 1, true)
  end)

  it("says what is wrong with its types", function()
    local result = run("echo 'type Query {' >$HOME/s.graphql; operations add b $HOME/s.graphql")
    assert.matches("/s.graphql: line 1, column 12: ", result.err, 1, true)
    assert.equal(12, result.code)
    result = run("echo 'type Query { a: String }' >$HOME/s.graphql; operations call b.a --graphql $HOME/s.graphql "
      .. "--namespace b")
    assert.matches("--base-url", result.err, 1, true)
  end)

  it("is loaded by programs", function()
    local result = run("operations add todo --graphql $url && lua -e '"
      .. [[local source = assert(require("operations").sources.load("todo"))
        print(source.kind, source.registry:execute("todo.task", { id = 3 }).data.title)']])
    assert.equal("graphql\tTask 3\n", result.out)
  end)
end)
