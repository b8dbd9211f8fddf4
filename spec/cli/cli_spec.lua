local command = require("spec.support.command")
local json = require("operations.base.json")
local server = require("spec.support.server")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local operations_file = os.tmpname()

setup(function()
  local file = assert(io.open(operations_file, "w"))
  file:write([[
    local operations = require("operations")
    local T = operations.type
    local function echo(input, context)
      return { input = input, identity = context.identity and context.identity.id }
    end
    return {
      { namespace = "t", name = "echo", type = "query", description = "Give back\nthe input", tags = { "basic" },
        inputSchema = T.object({
          text = T.optional(T.string()), count = T.optional(T.integer({ minimum = 0 })),
          flag = T.optional(T.boolean()), ids = T.optional(T.array(T.integer())) }),
        handler = echo },
      { namespace = "t", name = "any", handler = function(input) return input end },
      { namespace = "t", name = "nothing", handler = function() end },
      { namespace = "t", name = "secret", accessControl = { requiredScopes = { "a", "b" } }, handler = echo },
      { namespace = "t", name = "fail", errorSchemas = { { code = "BROKEN", description = "It broke." } },
        handler = function(input)
          if input.status then
            return nil, operations.error("EXECUTION_ERROR", "HTTP", { statusCode = input.status, body = { m = "no" } })
          end
          return nil, operations.error(input.code, "as asked", input.details)
        end },
      { namespace = "t", name = "misfit", outputSchema = T.object({ n = T.integer() }),
        handler = function() return { n = "x" } end },
      { namespace = "t", name = "crash", handler = function(input) error(input.text or "out of order", 0) end },
      { namespace = "t", name = "logs", handler = function(_, context) context.log("info", "hello") end },
      { namespace = "t", name = "function", handler = function() return { f = print } end },
      { namespace = "t", name = "count", type = "subscription", inputSchema = T.object({ to = T.integer() }),
        handler = function(input, context)
          context.defer(function() io.stderr:write("closed\n") end)
          for i = 1, input.to do coroutine.yield({ i = i }) end
        end },
      { namespace = "t", name = "tools", type = "subscription",
        handler = function()
          for _, is_error in ipairs({ false, true, false }) do
            coroutine.yield(operations.mcp_envelope(is_error and "bad" or "good", { isError = is_error,
              content = { 1, { type = "text", text = "so it is" } } }))
          end
        end },
      { namespace = "t", name = "wait", type = "subscription",
        handler = function(_, context)
          context.defer(function() io.stderr:write("closed\n") end)
          coroutine.yield("begun")
          operations.sleep(60)
        end },
      { namespace = "t", name = "spin", type = "subscription",
        handler = function(_, context)
          context.defer(function() io.stderr:write("closed\n") end)
          while true do coroutine.yield("begun") end
        end },
      { namespace = "t", name = "sleep", handler = function()
          io.stdout:write("begun\n")
          io.stdout:flush()
          operations.sleep(60)
        end },
      { namespace = "t", name = "loud", handler = function()
          print("printed", nil, 1)
          io.write("written\n")
          return { 1 }
        end },
    }
  ]])
  file:close()
end)

teardown(function()
  os.remove(operations_file)
end)

--- Runs `operations ARGUMENTS` with the operations above.
local function run(arguments, stdin)
  return command.run(("operations %s --lua %s"):format(arguments, operations_file), stdin)
end

--- The data that `operations call t.OPERATION` prints.
local function data_of(arguments, stdin)
  local result = run("call t." .. arguments, stdin)
  assert.equal("", result.err)
  assert.equal(0, result.code)
  return (assert(json.decode(result.out)))
end

describe("operations list", function()
  it("prints id, type and the first paragraph of the description", function()
    local result = run("list echo")
    assert.equal("t.echo  query  Give back the input\n", result.out)
    assert.equal(0, result.code)
  end)

  it("finds by text, type and tag", function()
    assert.equal("t.count  subscription\n", run("list --type subscription count").out)
    assert.matches("^t.echo [^\n]*\n$", run("list --tag basic").out)
    assert.matches("^t.echo [^\n]*\n$", run("list THE --type query").out)
    assert.equal("", run("list nowhere").out)
  end)

  it("prints specs for programs", function()
    local specs = json.decode(run("list --tag basic --json").out)
    assert.equal(1, #specs)
    assert.equal("echo", specs[1].name)
    assert.equal("[]\n", run("list nowhere --json").out)
  end)

  it("keeps a long id from moving the types of the others away", function()
    local file, long = os.tmpname(), ("x"):rep(120)
    local handle = assert(io.open(file, "w"))
    handle:write(('return { { namespace = "n", name = "%s", handler = print }, { namespace = "n", name = "b", '
      .. 'description = "B", handler = print } }'):format(long))
    handle:close()
    local result = command.run("operations list --lua " .. file)
    os.remove(file)
    assert.equal("n." .. long .. "  mutation\nn.b" .. (" "):rep(57) .. "  mutation  B\n", result.out)
  end)
end)

describe("operations describe", function()
  it("shows schemas, access and errors for people", function()
    assert.equal([[
t.echo  query  1.0.0

Give back the input

Input:
  count  integer, at least 0
  flag   boolean
  ids    integer[]
  text   string

Output:
  any

Try:
  operations call t.echo
]], run("describe t.echo").out)
    assert.matches("Needs:\n  all of the scopes a, b\n", run("describe t.secret").out)
    assert.matches("Errors:\n  BROKEN  It broke%.\n", run("describe t.fail").out)
  end)

  it("prints the spec for programs", function()
    local spec = json.decode(run("describe t.count --json").out)
    assert.equal("subscription", spec.type)
    assert.equal("integer", spec.inputSchema.properties.to.type)
  end)
end)

describe("operations call", function()
  it("takes key=value as the schema wants it, when nothing is lost", function()
    assert.same({ text = "12", count = 12, flag = true }, data_of("echo text=12 count=12 flag=true").input)
  end)

  it("makes a list of a repeated key", function()
    assert.same({ "1", "x" }, data_of("any a=1 a=x").a)
    assert.same({ 1, 2 }, data_of("echo ids=1 ids=2").input.ids)
  end)

  it("keeps text where no schema says otherwise", function()
    assert.same({ a = "1", b = "x=y", c = "" }, data_of("any a=1 b=x=y c="))
  end)

  it("takes key:=json", function()
    local data = data_of([[any a:=1 b:='[true,null]' c:='{"d":"e"}']])
    assert.same({ a = 1, b = { true, json.null }, c = { d = "e" } }, data)
  end)

  it("takes files, standard input and objects, the later ones first in rank", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('{"a":1,"b":1}')
    file:close()
    assert.same({ a = 1, b = 2 }, data_of("any @" .. path .. " b:=2"))
    assert.same({ x = { a = 1, b = 1 } }, data_of("any x:=@" .. path))
    os.remove(path)
    assert.same({ a = 3 }, data_of("any -", '{"a":3}'))
    assert.same({ a = 4, b = "5" }, data_of([[any '{"a":3,"b":1}' b=5 '{"a":4}']]))
    assert.same({ 1, 2 }, data_of("any '[1,2]'"))
    assert.same({}, data_of("any"))
  end)

  it("prints data as one line of JSON with sorted keys, or indented when asked", function()
    assert.equal('{"a":1,"b":2}\n', run("call t.any b:=2 a:=1").out)
    assert.equal('{\n  "a": 1\n}\n', run("call t.any a:=1 --pretty").out)
    assert.equal("null\n", run("call t.nothing").out)
  end)

  it("prints the whole envelope when asked", function()
    local envelope = json.decode(run("call t.any a:=1 --envelope").out)
    assert.same({ a = 1 }, envelope.data)
    assert.equal("t.any", envelope.meta.operationId)
  end)

  it("calls with scopes or an identity", function()
    assert.equal(4, run("call t.secret").code)
    assert.equal(4, run("call t.secret --scopes a").code)
    assert.equal("command line", data_of("secret --scopes a,b").identity)
    assert.equal("ada", data_of([[secret --identity '{"id":"ada","scopes":["a","b"]}']]).identity)
    assert.equal("ada", data_of([[secret --identity '{"id":"ada"}' --scopes a,b]]).identity)
  end)

  it("lists every issue of invalid input with its path", function()
    local result = run([[call t.echo count=-1 text:=7]])
    assert.equal(5, result.code)
    assert.equal("", result.out)
    local lines = {}
    for line in result.err:gmatch("[^\n]+") do
      lines[#lines + 1] = line
    end
    table.sort(lines)
    assert.equal(3, #lines)
    assert.matches("^  /count: ", lines[1])
    assert.matches("^  /text: ", lines[2])
    assert.equal("operations: VALIDATION_ERROR", lines[3])
  end)

  it("warns of a result that does not fit, on stderr, and prints it", function()
    local result = run("call t.misfit")
    assert.equal(0, result.code)
    assert.equal('{"n":"x"}\n', result.out)
    assert.equal("operations: warning: the answer of t.misfit differs from its schema in one place (--verbose shows "
      .. "where, --cast converts it)\n", result.err)
    assert.equal("operations: warning: the answer of t.misfit differs from its schema in one place:\n"
      .. '  /n: expected integer, got "x"\n', run("call t.misfit -v").err)
  end)

  it("keeps tracebacks for --verbose", function()
    assert.equal("operations: EXECUTION_ERROR: out of order\n", run("call t.crash").err)
    assert.equal("", run("call t.logs").err)
    assert.matches("^operations: error: t.crash: out of order\nstack traceback:\n", run("call t.crash --verbose").err)
    assert.equal("operations: info: hello\n", run("call t.logs --verbose").err)
  end)

  it("says what it cannot print", function()
    local result = run("call t.function")
    assert.equal(5, result.code)
    assert.matches("/f", result.err)
  end)

  it("says that it could not write", function()
    local result = run("call t.any >/dev/full")
    assert.equal(1, result.code)
    assert.matches("^operations: stdout: No space left on device\n", result.err)
  end)

  it("sends people with a subscription to watch", function()
    local result = run("call t.count to=1")
    assert.equal(2, result.code)
    assert.matches("use operations watch", result.err)
  end)
end)

describe("the exit code", function()
  local function code_of(code)
    return run("call t.fail code=" .. code).code
  end

  it("tells the kinds of errors apart", function()
    assert.equal(1, code_of("UNKNOWN_ERROR"))
    assert.equal(3, run("call t.missing").code)
    assert.equal(6, code_of("TIMEOUT"))
    assert.equal(7, code_of("ABORTED"))
    assert.equal(8, code_of("EXECUTION_ERROR"))
    assert.equal(9, code_of("BROKEN"))
    assert.equal(9, code_of("OK"))
    assert.equal(10, run("call t.fail status:=404").code)
    assert.equal(11, run("call t.fail status:=503").code)
  end)

  it("comes with the error on stderr, details too", function()
    assert.equal('operations: BROKEN: as asked\n  {"k":1}\n', run([[call t.fail code=BROKEN details:='{"k":1}']]).err)
    assert.equal('operations: EXECUTION_ERROR: HTTP\n  {"m":"no"}\n', run("call t.fail status:=404").err)
    assert.matches("^operations: OPERATION_NOT_FOUND: ", run("call t.missing").err)
    assert.equal("operations: OPERATION_NOT_FOUND: no operation 't.ecko'; did you mean t.echo?\n",
      run("describe t.ecko").err)
  end)

  it("is 2 for wrong usage, with a hint", function()
    for arguments, hint in pairs({
      ["call"] = "expected an OPERATION",
      ["call t.any x"] = "expected key=value",
      ["call t.any =x"] = "expected key=value",
      ["call t.any a:=x"] = "a: ",
      ["call t.any '{'"] = "input: ",
      ["call t.any @/nowhere"] = "/nowhere: No such file",
      ["call t.any a:=@"] = "expected a file after @",
      ["call t.any - <&-"] = "standard input: ",
      ["call t.any --timout 1"] = "unknown option %-%-timout %(did you mean %-%-timeout%?%)",
      ["cal"] = "no command \"cal\" %(did you mean call%?%); see operations %-%-help",
      ["help cal"] = "no command \"cal\" %(did you mean call%?%)",
      ["call t.any '[1]' a=1"] = "a value other than an object",
      ["call t.any --timeout 0"] = "%-%-timeout: expected a number",
      ["call t.any --identity 1"] = "%-%-identity: expected a JSON object",
      ["call t.any --nonsense"] = "unknown option %-%-nonsense",
      ["describe"] = "expected one OPERATION",
      ["watch t.any"] = "use operations call",
      ["watch t.count --limit x"] = "%-%-limit",
      ["list --type verb"] = "%-%-type: expected query, mutation or subscription",
      ["frobnicate"] = "no command",
      ["list --header x"] = "%-%-header: expected 'NAME: VALUE'",
    }) do
      local result = run(arguments)
      assert.equal(2, result.code, arguments)
      assert.equal("", result.out)
      assert.matches(hint, result.err)
    end
  end)

  it("is 2 without a source or a command", function()
    local result = command.run("operations list")
    assert.equal(2, result.code)
    assert.matches("give %-%-openapi", result.err)
    assert.equal(2, command.run("operations").code)
  end)
end)

describe("sources", function()
  it("are shown without their possible secrets", function()
    for _, source in ipairs({
      "--openapi 'http://u:hidden@127.0.0.1:1/x'", "--openapi 'http://127.0.0.1:1/x?key=hidden'",
      "--mcp 'http://127.0.0.1:1/x?key=hidden'", "--mcp 'false --token hidden'", "--mcp \"false 'hidden\"",
      "--websocket 'ws://u:hidden@127.0.0.1:1'", "--redis 'redis://u:hid/hidden@127.0.0.1:1'",
    }) do
      local result = command.run("operations list --verbose " .. source)
      assert.is_true(result.code == 12 or result.code == 13, source)
      assert.matches("cannot load %l", result.err)
      assert.is_nil(result.err:find("hidden", 1, true), result.err)
    end
  end)

  it("that cannot be loaded end with 12 and the reason", function()
    local result = command.run("operations list --lua /nowhere")
    assert.equal(12, result.code)
    assert.matches("/nowhere: No such file", result.err)
    assert.equal(12, command.run("operations list --openapi /nowhere").code)
  end)

  it("refuse one operation twice", function()
    local result = run("list --lua " .. operations_file)
    assert.equal(12, result.code)
    assert.matches("t.echo is also an operation of " .. operations_file, result.err, 1, true)
  end)

  it("report the files in a directory that give no operation, and load the others", function()
    local directory = os.tmpname()
    os.remove(directory)
    local result = command.run(([[mkdir %s; echo 'return 1' >%s/a.lua; cp %s %s/b.lua; operations list echo --lua %s
      rm -r %s]]):format(directory, directory, operations_file, directory, directory, directory))
    assert.equal(("operations: %s/a.lua: expected a definition, got number\n"):format(directory), result.err)
    assert.matches("^t.echo", result.out)
  end)
end)

describe("operations of an OpenAPI document", function()
  local document = os.tmpname()
  local echo

  setup(function()
    echo = server.start()
    local file = assert(io.open(document, "w"))
    local text = assert(json.encode({
      openapi = "3.1.0",
      info = { title = "Echo", version = "1" },
      servers = { { url = echo.url } },
      paths = {
        ["/echo"] = {
          get = {
            operationId = "get",
            parameters = { { name = "n", ["in"] = "query", schema = { type = "integer" } } },
            responses = { ["200"] = { description = "", content = { ["application/json"] = { schema = true } } } },
          },
        },
      },
    }))
    file:write(text)
    file:close()
  end)

  teardown(function()
    echo:stop()
    os.remove(document)
  end)

  --- What the server saw of `operations call ...`.
  local function request(arguments)
    local result = command.run(("operations call %s"):format(arguments:gsub("DOCUMENT", document)))
    assert.equal("", result.err)
    return (assert(json.decode(result.out)))
  end

  it("are called with what the options say", function()
    local seen = request("api.get n=7 --openapi DOCUMENT --namespace api --header 'X-A: b: c' --bearer secret")
    assert.equal("/echo?n=7", seen.uri)
    assert.equal("b: c", seen.headers["x-a"])
    assert.equal("Bearer secret", seen.headers.authorization)
    seen = request("api.get --openapi DOCUMENT --namespace api --basic a:b:c")
    assert.equal("Basic YTpiOmM=", seen.headers.authorization)
    assert.equal("k", request("api.get --openapi DOCUMENT --namespace api --api-key k").headers["x-api-key"])
    seen = request(("api.get --openapi DOCUMENT --namespace api --base-url %s/echo"):format(echo.other))
    assert.equal("/echo/echo", seen.uri)
  end)

  it("take options that come before every document, or after one, for that one", function()
    local arguments = "--header 'X-All: all' --openapi DOCUMENT --namespace a --header 'X-A: a' --openapi DOCUMENT "
      .. "--namespace b"
    local a, b = request("a.get " .. arguments).headers, request("b.get " .. arguments).headers
    assert.same({ "all", "a" }, { a["x-all"], a["x-a"] })
    assert.same({ "all" }, { b["x-all"], b["x-a"] })
  end)

  it("take the token of the environment, out of sight of other users", function()
    local result = command.run(
      "OPERATIONS_BEARER=t; export OPERATIONS_BEARER; operations call api.get --namespace api --openapi " .. document)
    assert.equal("Bearer t", json.decode(result.out).headers.authorization)
  end)

  with_yaml("may be mended by a patch, each time that the document is read", function()
    local mended, patch = document .. ".mended.json", document .. ".patch.yaml"
    local function write(path, text)
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
    end
    local function document_of(title)
      return ('{"openapi":"3.1.0","info":{"title":"%s","version":"1"},"servers":[{"url":"%s"}],"paths":{"/ehco":'
        .. '{"get":{"operationId":"wrong"}}}}'):format(title, echo.url)
    end
    write(mended, document_of("One"))
    write(patch, "- {op: move, from: /paths/~1ehco, path: /paths/~1echo}\n"
      .. "- {op: replace, path: /paths/~1echo/get/operationId, value: right}\n")
    local options = ("--namespace api --openapi %s --patch %s"):format(mended, patch)
    for _, title in ipairs({ "One", "One", "Another" }) do
      write(mended, document_of(title))
      assert.equal("/echo", request("api.right " .. options).uri)
    end
    write(patch, "[{op: remove, path: /paths/~1gone}]")
    local result = command.run("operations call api.right " .. options)
    assert.matches("operation 1 (remove /paths/~1gone) of the patch: there is no /paths/~1gone", result.err, 1, true)
    assert.not_equal(0, result.code)
    os.remove(mended)
    os.remove(patch)
  end)

  with_yaml("may be read from YAML", function()
    local path = document .. ".yaml"
    local file = assert(io.open(path, "w"))
    file:write(([[
openapi: 3.0.3
info: {title: Echo, version: 1.0}
servers: [{url: %s}]
paths:
  /echo:
    post:
      operationId: post
      summary: Says it again
      requestBody: {content: {application/json: {schema: {type: object, properties: {n: {type: integer}}}}}}
      responses:
        200: {description: "", content: {application/json: {}}}
        4XX: {description: "Not\n  understood."}
]]):format(echo.url))
    file:close()
    local seen = request("api.post body:='{\"n\":7}' --namespace api --openapi " .. path)
    local text = command.run("operations describe api.post --namespace api --openapi " .. path).out
    os.remove(path)
    assert.equal('{"n":7}', seen.body)
    assert.equal([[
api.post  mutation  1.0
POST /echo

Says it again

Input:
  body  object
    n  integer

Output:
  any

Errors:
  HTTP_4XX  Not understood.

Try:
  operations call api.post
]], text)
  end)

  it("say once where they are when they say nothing else", function()
    local path = document .. ".bare.json"
    local file = assert(io.open(path, "w"))
    file:write('{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"op"}}}}')
    file:close()
    local described = command.run("operations describe api.op --openapi " .. path)
    os.remove(path)
    assert.matches("^api.op  query  [^\n]*\nGET /a\n\nInput:\n", described.out)
  end)

  it("say how many of their parts are not taken over, or with --verbose which", function()
    local path = document .. ".parts.json"
    local function list(parts, options)
      local file = assert(io.open(path, "w"))
      file:write('{"openapi":"3.1.0","paths":{' .. parts .. '"/c":{"get":{"operationId":"op"}}}}')
      file:close()
      return command.run("operations list --openapi " .. path .. (options or "")).err
    end
    assert.matches("parts.json: one part was not taken over %(%-%-verbose tells more%)\n", list('"/a":7,'))
    assert.matches("parts.json: 2 parts were not taken over %(%-%-verbose tells more%)\n", list('"/a":7,"/b":8,'))
    assert.matches("parts.json#/paths/~1a: ", list('"/a":7,', " --verbose"))
    assert.equal("", list(""))
    os.remove(path)
  end)

  it("that cannot be called are described as such", function()
    local path = document .. ".bad.json"
    local file = assert(io.open(path, "w"))
    file:write('{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"op","requestBody":{"$ref":"#/no"}}}}}')
    file:close()
    local described = command.run("operations describe api.op --openapi " .. path)
    local verbose = command.run("operations list --verbose --openapi " .. path)
    os.remove(path)
    assert.equal(8, described.code)
    assert.matches("api.op cannot be used: /inputSchema: #/paths/~1a/post/requestBody: ", described.err, 1, true)
    assert.matches('#/paths/~1a/post/requestBody: $ref "#/no" points to nothing', verbose.err, 1, true)
  end)

  it("may be read from a URL", function()
    local result = command.run_with_server("operations list --openapi $TASKS_URL/openapi.json --namespace tasks")
    assert.matches("tasks%.create +mutation +Create a task\n", result.out)
  end)

  it("end with a code of their own when the server refuses or is not there", function()
    local result = command.run_with_server(
      "operations call tasks.get id=99 --openapi examples/tasks.openapi.json --namespace tasks --base-url $TASKS_URL")
    assert.equal(10, result.code)
    assert.matches('^operations: HTTP_404: .*\n  {"message":"there is no task 99"}\n$', result.err)
    result = command.run("operations call api.get --namespace api --base-url http://127.0.0.1:1 --openapi " .. document)
    assert.equal(13, result.code)
    assert.matches("connect", result.err)
  end)

  it("stream", function()
    local result = command.run_with_server([[operations watch tasks.watch --namespace tasks \
      --base-url $TASKS_URL --openapi examples/tasks.openapi.json seconds=60 --limit 2 --envelope]])
    assert.equal(0, result.code)
    local first = json.decode((result.out:match("^[^\n]*")))
    assert.same({ "task", "1" }, { first.meta.event, first.meta.lastEventId })
    assert.equal("Read the design", first.data.title)
  end)

  it("are refused when an option is wrong", function()
    local result = command.run("operations list --base-url nonsense --openapi " .. document)
    assert.equal(2, result.code)
    assert.equal('operations: --base-url: expected a URL such as https://api.example/v1, got "nonsense"\n', result.err)
  end)
end)

describe("a terminal", function()
  it("is not steered by data or details", function()
    local arguments = "call t.%s text=$(printf '\\302\\2332J\\177') --pretty --color never"
    local line = "script -qec 'LD_PRELOAD=$SANITIZER %s lua/operations/cli/main.lua %s --lua %s' /dev/null"
    local shown = command.run(line:format(command.interpreter(), arguments:format("any"):gsub("'", "\""),
      operations_file))
    assert.matches('"text": "\\u009b2J\\u007f"', shown.out, 1, true)
    assert.equal('{"text":"\194\1552J\127"}\n', run("call t.any text=$(printf '\\302\\2332J\\177')").out)
    local failed = run([[call t.fail code=BROKEN details:='{"k":"'$(printf '\302\2332J')'"}']])
    assert.equal('operations: BROKEN: as asked\n  {"k":"\\u009b2J"}\n', failed.err)
  end)
end)

describe("the help of an operation", function()
  it("is its description", function()
    local arguments = " tasks.get --openapi examples/tasks.openapi.json"
    local described = command.run("operations describe" .. arguments)
    assert.matches("^tasks.get  query", described.out)
    assert.same(described, command.run("operations call" .. arguments .. " --help"))
    assert.same(described, command.run("operations call --help" .. arguments .. " id=1"))
  end)
end)

describe("operations watch", function()
  it("prints a line per event and closes the subscription", function()
    local result = run("watch t.count to=3")
    assert.equal('{"i":1}\n{"i":2}\n{"i":3}\n', result.out)
    assert.equal("closed\n", result.err)
    assert.equal(0, result.code)
  end)

  it("continues after a tool's event that failed, and exits with an error", function()
    local result = run("watch t.tools")
    assert.equal('"good"\n"bad"\n"good"\n', result.out)
    assert.equal("operations: EXECUTION_ERROR: the tool failed: so it is\n", result.err)
    assert.equal(8, result.code)
    assert.equal(8, run("watch t.tools --limit 2").code)
    assert.equal(0, run("watch t.tools --limit 1").code)
  end)

  it("opens a stream that was lost again after its last event, which --from names for the next program", function()
    local path = os.tmpname() .. ".lua"
    local file = assert(io.open(path, "w"))
    file:write([[return { namespace = "t", name = "lossy", type = "subscription", handler = function(_, context)
      for i = (tonumber(context.lastEventId) or 0) + 1, 4 do
        context.emit(i, { id = i })
        if i == 2 then
          local err = require("operations").error("TRANSPORT_LOST", "the line was cut")
          err.retryable = true
          error(err, 0)
        end
      end
    end }]])
    file:close()
    local result = command.run("operations watch t.lossy --lua " .. path)
    assert.same({ "1\n2\n3\n4\n", "operations: the line was cut; opening it again in 1 s\n", 0 },
      { result.out, result.err, result.code })
    assert.equal("4\n", command.run("operations watch t.lossy --from 3 --lua " .. path).out)
    os.remove(path)
  end)

  it("stops after --limit events, closing", function()
    local result = run("watch t.count to=1000 --limit 2")
    assert.equal('{"i":1}\n{"i":2}\n', result.out)
    assert.equal("closed\n", result.err)
  end)

  it("prints each event at once", function()
    local result = command.run(([[
      (operations watch t.count to=1000000 --lua %s 2>/dev/null & echo $! >&3) 3>/dev/null | head -n 1]]):format(
      operations_file))
    assert.equal('{"i":1}\n', result.out)
  end)

  it("ends quietly when its reader has gone", function()
    for _, trap in ipairs({ "trap '' PIPE;", "" }) do
      local result = command.run(("%s operations watch t.count to=1000000 --lua %s | head -n 1"):format(
        trap, operations_file))
      assert.equal('{"i":1}\n', result.out)
      assert.equal("closed\n", result.err)
    end
  end)

  it("ends when its reader goes late", function() -- by then LuaJIT has compiled what writes
    local result = command.run(("operations watch t.count to=100000000 --lua %s | head -n 20000 | tail -n 1"):format(
      operations_file))
    assert.same({ '{"i":20000}\n', "closed\n" }, { result.out, result.err })
  end)
end)

describe("--command", function()
  with_yaml("makes programs operations, from JSON or YAML", function()
    local path = os.tmpname()
    local function with(extension, text, line)
      local file = assert(io.open(path .. extension, "w"))
      file:write(text)
      file:close()
      local result = command.run(("operations %s --command %s"):format(line, path .. extension))
      os.remove(path .. extension)
      return result
    end
    local yaml = "- {namespace: text, name: upper, type: query, argv: [tr, a-z, A-Z], stdin: text}\n"
      .. "- namespace: text\n  name: count\n  argv: [seq, '{n}']\n  output: json-stream\n"
    assert.equal('"ABC"\n', with(".yaml", yaml, "call text.upper text=abc").out)
    assert.equal("1\n2\n", with(".yaml", yaml, "watch text.count n=2").out)
    assert.matches("text.upper.*text.count", with(".yaml", yaml, "list").out)
    local one = '{"namespace":"text","name":"fail","argv":["sh","-c","exit 3"],"errors":{"3":"NOT_FOUND"}}'
    assert.matches("NOT_FOUND", with(".json", one, "call text.fail").err)
    local wrong = with(".json", '{"namespace":"text","name":"x","argv":["{a}"]}', "call text.x")
    assert.equal(12, wrong.code)
    assert.matches("the name of a program expected", wrong.err)
    os.remove(path)
  end)
end)

describe("what a handler prints", function()
  it("goes to standard error, so that standard output is its data", function()
    assert.same({ out = "[1]\n", err = "printed\tnil\t1\nwritten\n", code = 0 },
      command.run("operations call t.loud --lua " .. operations_file))
  end)
end)

describe("Ctrl-C", function()
  --- Interrupts a command after its first output.
  local function interrupt(arguments)
    return command.run(([[
      out=$(mktemp)
      LD_PRELOAD=$SANITIZER %s lua/operations/cli/main.lua %s --lua %s >$out & pid=$!
      while [ ! -s $out ]; do sleep 0.02; done
      kill -INT $pid; wait $pid; code=$?
      head -n 1 $out; rm $out; exit $code]]):format(command.interpreter(), arguments, operations_file))
  end

  it("ends a subscription that waits, and cleans up", function()
    assert.same({ out = '"begun"\n', err = "closed\n", code = 130 }, interrupt("watch t.wait"))
  end)

  it("ends a subscription that is busy, and cleans up", function()
    assert.same({ out = '"begun"\n', err = "closed\n", code = 130 }, interrupt("watch t.spin"))
  end)

  it("ends a call", function()
    assert.same({ out = "begun\n", err = "", code = 130 }, interrupt("call t.sleep"))
  end)

  it("ends a program that waits for its input", function()
    local result = command.run(([[
      directory=$(mktemp -d); mkfifo $directory/fifo
      LD_PRELOAD=$SANITIZER %s lua/operations/cli/main.lua call t.any @$directory/fifo --lua %s & pid=$!
      exec 3>$directory/fifo # has been opened by both
      kill -INT $pid; wait $pid; code=$?
      rm -r $directory; exit $code]]):format(command.interpreter(), operations_file))
    assert.same({ out = "", err = "", code = 130 }, result)
  end)

  it("is no error that has such a text", function()
    local result = run("call t.crash text=interrupted!")
    assert.equal("operations: EXECUTION_ERROR: interrupted!\n", result.err)
    assert.equal(8, result.code)
  end)

  it("ends the program by its signal, as TERM and HUP do", function()
    for number, name in pairs({ "HUP", "INT", [15] = "TERM" }) do
      local child = command.start("lua/operations/cli/main.lua", "watch", "t.wait", "--lua", operations_file)
      assert.equal('"begun"', child:read_line())
      os.execute(("kill -%s %d"):format(name, child.pid))
      assert.same({ signal = number }, child:wait())
      assert.equal("closed", child:stderr())
    end
  end)
end)

describe("help and version", function()
  it("shows options for sources where a command opens some, which refuses them elsewhere", function()
    for name, opens in pairs({ call = true, add = true, remove = false, trust = false, completion = false }) do
      assert.equal(opens, command.run("operations " .. name .. " --help").out:find("--openapi", 1, true) ~= nil, name)
    end
    local refused = command.run("operations remove --openapi a.json api")
    assert.same({ out = "", err = "operations: unknown option --openapi; see operations remove --help\n", code = 2 },
      refused)
  end)

  it("fits in 80 columns", function()
    for _, name in ipairs({ "", "list", "describe", "call", "watch", "request", "export", "worker", "jobs" }) do
      for line in command.run("operations " .. name .. " --help").out:gmatch("[^\n]+") do
        assert.is_true(#line <= 80, line)
      end
    end
  end)

  it("is there for everything", function()
    for arguments, text in pairs({
      ["--help"] = "Usage: operations COMMAND",
      ["-h"] = "Exit codes:",
      ["help call"] = "Usage: operations call",
      ["call --help"] = "key:=json",
      ["watch --help"] = "%-%-limit N",
      ["list --help"] = "%-%-openapi FILE|URL",
      ["describe -h"] = "Usage: operations describe",
      ["--version"] = "^operations %d",
    }) do
      local result = command.run("operations " .. arguments)
      assert.equal(0, result.code)
      assert.matches(text, result.out)
      assert.equal("", result.err)
    end
  end)
end)
