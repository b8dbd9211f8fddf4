--- Everyday jobs at a shell, each once: what is typed and what is shown, standard error included. $API are the words
--- that name the API of examples/server, $TASKS those behind `operations add NAME`.
local jobs = require("spec.support.jobs")

local function section(title, list)
  describe(title, function()
    local shown

    setup(function()
      local scripts = {}
      for i, job in ipairs(list) do
        scripts[i] = job[2]
      end
      shown = jobs.run(scripts)
    end)

    for i, job in ipairs(list) do
      it(job[1], function()
        assert.equal(job[3], shown[i])
      end)
    end
  end)
end

section("Sources", {
  { "remember an API, then call it by name", [[
operations add todo $TASKS
operations call todo.get id=2
]], [[
operations: remembered todo: 4 operations; operations list todo shows them
{"done":false,"id":2,"priority":"low","title":"Water the plants"}
]] },
  { "see what is remembered, for people and for programs", [[
operations add todo $TASKS -q
operations sources | sed 's/openapi .*json/openapi FILE/'
operations sources --json | grep -o '"kind":"[a-z]*","name":"[a-z]*","operations":[0-9]*'
]], [[
todo  openapi FILE  (4 operations)
"kind":"openapi","name":"todo","operations":4
]] },
  { "keep a token out of the file, and out of the list of processes", [[
operations add todo $TASKS --bearer env:TODO_TOKEN -q
grep -o '"bearer":.*' $XDG_CONFIG_HOME/operations/config.json
]], [[
"bearer": "env:TODO_TOKEN",
]] },
  { "have another address at work", [[
operations add todo $TASKS -q
operations add todo --profile work --base-url https://work.example -q
operations call todo.get id=1 --profile work --dry-run | head -1
]], [[
GET https://work.example/tasks/1
]] },
  { "move a source to another address", [[
operations add todo examples/tasks.openapi.json -q
operations add todo $TASKS --replace -q
operations call todo.get id=1 --select title
]], [[
"Read the design"
]] },
  { "forget a source", [[
operations add todo $TASKS -q
operations remove todo
operations sources
]], [[
operations: no source is remembered: operations add NAME FILE|URL
]] },
  { "take over a server that Cursor has configured", [[
mkdir -p $HOME/.cursor
cat >$HOME/.cursor/mcp.json <<END
{"mcpServers":{"demo":{"command":"operations","args":["mcp","--lua","examples/definitions"]}}}
END
operations add --from cursor:demo -q
operations call demo.demo_greet name=Ada --raw
]], [[
Hello, Ada!
]] },
  { "give sources to an assistant", [[
operations add todo $TASKS -q
operations install cursor todo -y >/dev/null
grep -A 5 mcpServers .cursor/mcp.json
]], [[
operations: ~/.cursor/mcp.json has the server operations
  "mcpServers": {
    "operations": {
      "command": "operations",
      "args": [
        "mcp",
        "todo"
]] },
  { "use the sources of a project, once they are trusted", [[
mkdir project && cd project
echo '{"sources":{"demo":{"lua":"tools.lua"}}}' >.operations.json
echo 'return { namespace = "demo", name = "hi", handler = function() return "hi" end }' >tools.lua
operations call demo.hi 2>&1 | tail -1
operations trust -q 2>/dev/null
operations call demo.hi
]], [[
operations: demo is a source of ~/project/.operations.json, which is not trusted
"hi"
]] },
  { "find out why a source does not work", [[
operations add todo examples/tasks.openapi.json --base-url http://127.0.0.1:1 --bearer env:NOWHERE -q
operations doctor todo | sed 1,/^$/d
]], [[
todo  openapi ~/examples/tasks.openapi.json
  ok      4 operations
  failed  --bearer: env:NOWHERE: the environment has no NOWHERE
]] },
})

section("Looking around", {
  { "list a source", [[
operations list --lua examples/definitions
]], [[
demo.countdown  subscription  Count down, one event per step
demo.greet      query         Greet somebody
demo.summary    query         Count the tasks of the HTTP API
]] },
  { "search by words", [[
operations add todo $TASKS -q
operations list create
]], [[
todo.watch   subscription  Watch tasks as they are created
todo.create  mutation      Create a task
]] },
  { "list what changes nothing", [[
operations list --type query --openapi examples/tasks.openapi.json
]], [[
tasks.list  query  List tasks
tasks.get   query  Get one task
]] },
  { "read the input and a call to copy", [[
operations describe tasks.get --openapi examples/tasks.openapi.json
]], [[
tasks.get  query  1.2.0
GET /tasks/{id}

Get one task

Input:
  id  integer, required, at least 1
      The number of the task.

Output:
  id        integer, required
  title     string, required
  priority  "low" | "normal" | "high", required
  done      boolean, required

Errors:
  HTTP_404  What is wrong.

Try:
  operations call tasks.get id=1
]] },
  { "complete what is typed", [[
operations add todo $TASKS -q
operations complete -- call todo.l
operations complete -- call todo.create prio
]], [[
todo.list	List tasks
priority=
]] },
})

section("Calling", {
  { "call by method and path", [[
operations call 'GET /tasks/1' --select title $API
]], [[
"Read the design"
]] },
  { "filter by a parameter", [[
operations call tasks.list done=false $API
]], [[
[{"done":false,"id":2,"priority":"low","title":"Water the plants"}]
]] },
  { "create something from fields", [[
operations call tasks.create title='Buy milk' priority=high $API
]], [[
{"done":false,"id":3,"priority":"high","title":"Buy milk"}
]] },
  { "send a body from a file", [[
echo '{"title":"From a file"}' >task.json
operations call tasks.create body:=@task.json --select title $API
]], [[
"From a file"
]] },
  { "send a body from a pipe", [[
echo '{"title":"From a pipe"}' | operations call tasks.create --select title $API
]], [[
"From a pipe"
]] },
  { "give lists and objects", [[
echo 'return { namespace = "echo", name = "echo", handler = function(input) return input end }' >echo.lua
operations call echo.echo tags=a tags=b size:=3 owner.name=Ada --lua echo.lua
]], [[
{"owner":{"name":"Ada"},"size":3,"tags":["a","b"]}
]] },
  { "notice a misspelt field before anything is sent", [[
operations call tasks.create titel=x $API
]], [[
operations: VALIDATION_ERROR
  /body/title: required, but missing; expected string
  /body/titel: unknown property; expected "title" or "priority" (did you mean title?)
[5]
]] },
  { "see the request without sending it", [[
operations call tasks.create title=x --bearer secret --dry-run --openapi examples/tasks.openapi.json \
  --base-url https://tasks.example
]], [[
POST https://tasks.example/tasks
Accept: application/json
Authorization: ***
Content-Type: application/json

{"title":"x"}
]] },
  { "hand the request on to somebody who has curl", [[
operations call tasks.get id=1 --curl --openapi examples/tasks.openapi.json --base-url https://tasks.example
]], [[
curl https://tasks.example/tasks/1 \
  --location \
  --header 'Accept: application/json' \
  --compressed
]] },
  { "send a request that the document does not have", [[
operations request GET /tasks/2 --select title $API
]], [[
"Water the plants"
]] },
  { "call a tool of an MCP server", [[
operations call demo.demo_greet name=Ada --mcp 'operations mcp --lua examples/definitions' --namespace demo
]], [[
"Hello, Ada!"
]] },
  { "call as somebody with fewer rights", [[
cat >rights.lua <<END
return { namespace = "rights", name = "secret", accessControl = { requiredScopes = { "write" } },
  handler = function() return "told" end }
END
operations call rights.secret --scopes read --lua rights.lua
operations call rights.secret --scopes read,write --lua rights.lua
]], [[
operations: ACCESS_DENIED: rights.secret needs scope 'write'
  {"operationId":"rights.secret","requiredScopes":["write"]}
"told"
]] },
  { "limit how long a call may take", [[
cat >slow.lua <<END
return { namespace = "slow", name = "wait", handler = function() require("operations").sleep(60) end }
END
operations call slow.wait --timeout 0.05 --lua slow.lua
]], [[
operations: TIMEOUT: the deadline passed
[6]
]] },
})

section("Answers", {
  { "put one value into a variable", [[
title=$(operations call tasks.get id=1 --select title --raw $API)
echo "<$title>"
]], [[
<Read the design>
]] },
  { "show a table with the columns that matter", [[
operations call tasks.list --select 'title,when: priority' -f table $API
]], [[
title             when
Read the design   high
Water the plants  low
]] },
  { "open a list in a spreadsheet", [[
operations call tasks.list -f csv --select id,title $API
]], [[
id,title
1,Read the design
2,Water the plants
]] },
  { "loop over the items of a list", [[
operations call tasks.list -f ndjson --select "[].id" $API | while read id; do echo "task $id"; done
]], [[
task 1
task 2
]] },
  { "save an answer in a file", [[
operations call tasks.get id=1 -o task.json $API
cat task.json
]], [[
{"done":true,"id":1,"priority":"high","title":"Read the design"}
]] },
  { "read the status and headers", [[
operations call tasks.get id=1 --envelope --select 'meta.{statusCode,contentType}' $API
]], [[
{"statusCode":200,"contentType":"application/json"}
]] },
  { "tell a missing thing from a broken server", [[
operations call tasks.get id=99 -q $API
]], [[
operations: HTTP_404: 404 Not Found: there is no task 99
  {"message":"there is no task 99"}
[10]
]] },
})

section("Many", {
  { "make a call for each line of a file", [[
printf '{"title":"%s"}\n' one two three >tasks.ndjson
operations call tasks.create --each --select title -q $API <tasks.ndjson
]], [[
"one"
"two"
"three"
]] },
  { "go on after the line that failed", [[
printf '{"id":%s}\n' 1 99 2 >ids.ndjson
operations call tasks.get --each --fail-fast --select title $API <ids.ndjson >answers
cut -c -30 answers
operations call tasks.get --each --skip 2 --select title $API <ids.ndjson
]], [[
operations: stopped after line 1: --skip 1 continues there
operations: 1 of 2 calls failed
"Read the design"
{"error":{"code":"HTTP_404","d
"Water the plants"
]] },
  { "follow events, and stop after some", [[
operations watch demo.countdown from=9 pause=0.01 --limit 2 --lua examples/definitions
]], [[
{"left":9}
{"left":8}
]] },
})

section("Programs", {
  { "turn a command into a program", [[
operations call tasks.get id=1 $API --lua-code >get.lua
lua get.lua | grep -o '"title":"[^"]*"'
]], [[
"title":"Read the design"
]] },
  { "use a remembered source in a script", [[
operations add todo $TASKS -q
lua -e 'local todo = require("operations").sources.load("todo")
print(todo.registry:execute("todo.get", { id = 2 }).data.title)'
]], [[
Water the plants
]] },
  { "serve Lua functions as an HTTP API", [[
operations serve --lua examples/definitions --port 0 --no-auth >address 2>log & server=$!
until grep -qs http: address; do sleep 0.05; done
curl -s "$(cat address)/demo/greet?name=Ada"
{ kill $server; wait $server; } 2>log
true
]], [[
"Hello, Ada!"]] },
  { "print the document of Lua functions for others", [[
operations export --lua examples/definitions -q | grep -o '^    "/[a-z/]*'
]], [[
    "/demo/countdown
    "/demo/greet
    "/demo/summary
]] },
})
