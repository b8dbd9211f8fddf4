local command = require("spec.support.command")
local json = require("operations.base.json")
local server = require("spec.support.server")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local document = [[{ "openapi": "3.1.0", "info": { "title": "Pet store", "version": "1" },
  "servers": [ { "url": "http://127.0.0.1:9" } ], "components": { "schemas": { "Pet": { "type": "object",
    "properties": { "name": { "type": "string" }, "kind": { "enum": ["cat", "dog"] } }, "required": ["name"] } } },
  "paths": { "/pets": { "get": { "operationId": "pets/list", "summary": "All pets", "responses": { "200": {
      "description": "", "content": { "application/json": { "schema": { "type": "array",
        "items": { "$ref": "#/components/schemas/Pet" } } } } } } },
    "post": { "operationId": "pets/create", "requestBody": { "content": { "application/json": {
      "schema": { "$ref": "#/components/schemas/Pet" } } } }, "responses": { "201": { "description": "" } } } } } }]]

describe("remembered sources", function()
  local home

  before_each(function()
    home = os.tmpname()
    os.remove(home)
    os.execute("mkdir -p " .. home .. "/project/deep")
    local file = assert(io.open(home .. "/pets.json", "w"))
    file:write(document)
    file:close()
  end)

  after_each(function()
    os.execute("rm -rf " .. home)
  end)

  -- Runs a script with a home of its own.
  local function run(script, stdin)
    return command.run(("HOME=%s; export HOME; unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME; "
      .. "tree=$PWD; %s"):format(home, script), stdin)
  end

  -- The same in a directory of that home, where the tree's modules are found all the same.
  local function run_in(directory, script)
    return run(("operations() { LD_PRELOAD=\"$SANITIZER\" %s $tree/lua/operations/cli/main.lua \"$@\"; }; cd %s/%s; %s")
      :format(command.interpreter(), home, directory, script))
  end

  local function write(name, text)
    local file = assert(io.open(home .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end

  it("are added, listed, called and removed", function()
    local result = run("operations add petstore $HOME/pets.json && operations sources && operations list petstore")
    assert.equal("operations: remembered petstore: 2 operations; operations list petstore shows them\n", result.err)
    assert.equal(0, result.code)
    assert.matches("^petstore  openapi " .. home .. "/pets.json  %(2 operations%)\n", result.out)
    assert.matches("\npetstore.pets_list +query", result.out)
    result = run("operations remove petstore && operations sources")
    assert.equal("operations: no source is remembered: operations add NAME FILE|URL\n", result.err)
    assert.equal("", run("find $HOME/.cache -type f").out)
  end)

  it("show the states of MCP servers", function()
    local program = ("%s spec/support/mcp_server/odd.lua"):format(command.interpreter())
    write("mcp.json", json.encode({ mcpServers = { away = { url = "http://127.0.0.1:9/mcp" },
      off = { command = "x", disabled = true }, odd = { command = command.interpreter(),
      args = { "spec/support/mcp_server/odd.lua" }, env = command.environment() } } }))
    local result = run(("operations add odd --mcp '%s' --env-allow 'LUA_*' --env-allow 'LD_*'; operations add all "
      .. "--mcp-config $HOME/mcp.json; operations sources --states"):format(program))
    assert.matches("all  mcp-config " .. home .. "/mcp.json  (6 operations; away retrying; odd connected; "
      .. "off disabled)\nodd  mcp ", result.out, 1, true)
    assert.matches("; connected%)\n$", result.out)
    assert.matches("away is retrying: ", result.err, 1, true)
    local states = json.decode(run("operations sources --states --json").out)[1].states
    assert.same({ "away", "retrying" }, { states[1].name, states[1].state })
    assert.matches("127.0.0.1", states[1].reason, 1, true)
  end)

  it("are listed one by one, without starting or blaming another", function()
    write("form.lua", [[return { namespace = "form", name = "fill", title = "Fills it", type = "query",
      handler = print }]])
    write("other.lua", [[local out = io.open(os.getenv("HOME") .. "/started", "a") out:write("x") out:close()
      return { namespace = "other", name = "information", title = "of a form", type = "query", handler = print }]])
    local result = run([[operations add form $HOME/form.lua; operations add other $HOME/other.lua
      : >$HOME/started; operations list form; operations list form nothing
      operations list form --json | grep -c '"id"'
      wc -c <$HOME/started; operations list fill; operations list of form]])
    assert.equal("form.fill  query  Fills it\n1\n0\nform.fill  query  Fills it\n"
      .. "other.information  query  of a form\n", result.out)
    assert.matches("no operation has nothing\n$", result.err)
  end)

  it("are listed as JSON beside the error of one that cannot be loaded", function()
    write("good.lua", [[return { namespace = "good", name = "one", type = "query", handler = print }]])
    local result = run([[cp $HOME/good.lua $HOME/bad.lua
      operations add bad $HOME/bad.lua; operations add good $HOME/good.lua; echo 'return 7' >$HOME/bad.lua
      operations list --json | tr -d ' \n' | grep -o '"id":"[^"]*"'; operations list --json >/dev/null; echo $?
      operations list bad --json; echo $?]])
    assert.equal('"id":"good.one"\n12\n[]\n12\n', (result.out:gsub("%[%s*%]", "[]")))
    assert.matches("bad.lua: expected a definition, got number", result.err, 1, true)
  end)

  with_yaml("keep the order of a YAML document's properties in the cache", function()
    write("pets.yaml", [[
openapi: 3.1.0
info: { title: a, version: "1" }
servers: [{ url: "http://127.0.0.1:9" }]
paths:
  /pets:
    post:
      operationId: create
      requestBody: { content: { application/json: { schema: { type: object, properties: {
        zebra: { type: string }, ant: { type: array, items: {} }, mouse: {} } } } } }
      responses: { "201": { description: "" } }
]])
    local result = run([[operations add pets $HOME/pets.yaml
      operations describe pets.create | grep -oE '^ +(zebra|ant|mouse)' | tr -d ' \n']])
    assert.equal("zebraantmouse", result.out)
  end)

  it("answer to ids, operationIds and endpoints", function()
    run("operations add petstore $HOME/pets.json")
    for _, word in ipairs({ "petstore.pets_list", "petstore.pets.list", "pets/list", "pets_list", "'GET /pets'" }) do
      local result = run(("operations describe %s --json"):format(word))
      assert.equal("", result.err)
      assert.equal("pets_list", json.decode(result.out).name)
    end
    local result = run("operations add other $HOME/pets.json; operations describe pets/list")
    assert.equal(2, result.code)
    assert.matches("operations: 'pets/list' may be other.pets_list, petstore.pets_list: give the whole id\n$",
      result.err)
    assert.equal("operations: OPERATION_NOT_FOUND: no operation 'pets_lost'; did you mean other.pets_list or "
      .. "petstore.pets_list?\n", run("operations call pets_lost").err)
  end)

  it("are shown what would be sent, with fields other than parameters in the body", function()
    run("operations add petstore $HOME/pets.json --header 'X-Team: pets'")
    local result = run("operations call pets/create name=Rex --dry-run")
    assert.equal("", result.err)
    assert.matches("^POST http://127.0.0.1:9/pets\n.*\n\n{\"name\":\"Rex\"}\n$", result.out)
    result = run("ONE=hidden; export ONE; operations call pets/list --dry-run --openapi $HOME/pets.json "
      .. "--header 'X-One: env:ONE' --header 'X-Two: 2'")
    assert.matches("X-One: ***\nX-Two: 2\n", result.out, 1, true)
    result = run("ONE=hidden; export ONE; operations call pets/list --curl --openapi $HOME/pets.json "
      .. "--header 'X-One: env:ONE' </dev/null")
    assert.matches('--header "X-One: $ONE"', result.out, 1, true)
  end)

  it("keep their files to their user", function()
    run("operations add petstore $HOME/pets.json")
    assert.equal("600 600\n",
      run("echo $(find $HOME/.config $HOME/.cache -type f | xargs stat -c %a)").out)
  end)

  it("are read alone: only that whose operation is called", function()
    local text = 'io.stderr:write("%s is read\\n") return { namespace = "%s", name = "%s", '
      .. 'handler = function() return 1 end }'
    write("one.lua", text:format("one", "one", "a"))
    write("two.lua", text:format("two", "two", "b"))
    local result = run([[
      { operations add one $HOME/one.lua && operations add two $HOME/two.lua; } 2>/dev/null
      operations call one.a; operations call b]])
    assert.equal("1\n1\n", result.out)
    assert.equal("one is read\ntwo is read\n", result.err)
  end)

  it("hold no secrets, and read those of the called source only", function()
    local result = run("operations add petstore $HOME/pets.json --bearer abc")
    assert.equal("operations: --bearer: a remembered source holds no secrets: give env:NAME, file:PATH or cmd:COMMAND "
      .. "instead of the token itself\n", result.err)
    assert.equal(2, result.code)
    result = run("operations add petstore $HOME/pets.json --header 'X-Api-Key: abc'")
    assert.equal("operations: --header: a remembered source holds no secrets: give env:NAME, file:PATH or cmd:COMMAND "
      .. "behind 'X-Api-Key:'\n", result.err)
    write("one.lua", 'return { namespace = "one", name = "a", handler = function() return 1 end }')
    result = run([[{ operations add petstore $HOME/pets.json --bearer "cmd:touch $HOME/asked; echo t"
        operations add one $HOME/one.lua
        operations list; operations call one.a; } >/dev/null 2>&1
      test -e $HOME/asked && echo asked; operations call petstore.pets.list 2>/dev/null
      test -e $HOME/asked && echo called]])
    assert.equal("called\n", result.out)
  end)

  it("have profiles", function()
    local result = run("operations add petstore $HOME/pets.json --base-url http://127.0.0.1:9 && "
      .. "operations add petstore --profile work --base-url http://127.0.0.1:10; "
      .. "operations call pets/list --profile work; operations call pets/list --profile play")
    assert.matches("remembered the profile work of petstore: %-%-profile work uses it\n", result.err)
    assert.matches("GET http://127.0.0.1:10/pets: Failed to connect", result.err)
    assert.matches('operations: %-%-profile: no source has a profile "play"\n$', result.err)
  end)

  it("of a project are left out with the reason where its file cannot be read", function()
    os.execute("mkdir -p " .. home .. "/odd && truncate -s 20M " .. home .. "/odd/.operations.json")
    local result = run_in("odd", "operations sources")
    assert.equal(0, result.code)
    assert.matches(("^operations: %s/odd/.operations.json: too large\n"):format(home), result.err)
  end)

  it("of a project count once its file is trusted, as it is", function()
    write("project/.operations.json", '{ "sources": { "near": { "openapi": "../pets.json" } } }')
    local untrusted = ("operations: %s/project/.operations.json is not trusted, so its sources are left out: "
      .. "operations trust %s/project shows and trusts them\n"):format(home, home)
    local result = run_in("project/deep", "operations sources")
    assert.equal(untrusted .. "operations: no source is remembered: operations add NAME FILE|URL\n", result.err)
    result = run_in("project/deep", "operations trust && operations describe near.pets.list --json")
    assert.matches(("\noperations: %s/project/.operations.json is trusted as it is now\n$"):format(home), result.err)
    assert.equal("pets_list", json.decode(result.out).name)
    write("project/.operations.json", '{ "sources": { "near": { "openapi": "../pets.json", "insecure": true } } }')
    assert.matches("has changed since it was trusted %(%S+/.operations.json%), so its sources are left out",
      run_in("project/deep", "operations sources").err)
    run_in("project/deep", "operations trust && operations trust --revoke")
    assert.matches("is not trusted, so", run_in("project/deep", "operations sources").err)
  end)

  it("are listed with their operations and profiles, and the file of a project", function()
    write("one.lua", 'return { namespace = "one", name = "a", handler = function() return 1 end }')
    write("project/.operations.json", '{ "sources": { "near": { "openapi": "../pets.json" } } }')
    run([[operations add petstore $HOME/pets.json && operations add one $HOME/one.lua
      operations add petstore --profile work --bearer env:X; operations add petstore --profile home --bearer env:X]])
    local result = run_in("project", "operations trust 2>/dev/null; operations sources")
    assert.equal((("near      openapi HOME/pets.json  (of HOME/project/.operations.json)\n"
      .. "one       lua HOME/one.lua  (1 operation)\n"
      .. "petstore  openapi HOME/pets.json  (2 operations; profiles home, work)\n"):gsub("HOME/pets.json", "%0", 1)
      :gsub("HOME", home)), (result.out:gsub("/project/../pets", "/pets")))
    local list = json.decode(run("operations sources --json").out)
    assert.same({ { name = "one", kind = "lua", place = home .. "/one.lua", operations = 1, profiles = {},
      file = home .. "/.config/operations/config.json" }, { name = "petstore", kind = "openapi", operations = 2,
      place = home .. "/pets.json", profiles = { "home", "work" }, file = home .. "/.config/operations/config.json" } },
      list)
    assert.equal("[]\n", run("operations remove one petstore; operations sources --json").out)
    result = run_in("project", "operations remove near")
    assert.same({ 2, ("operations: remove: near is in %s/project/.operations.json: edit that file\n"):format(home) },
      { result.code, result.err })
  end)

  it("are replaced with their profiles kept, and not remembered where there is no place", function()
    run("operations add petstore $HOME/pets.json; operations add petstore --profile work --bearer env:X")
    local result = run("operations add petstore $HOME/pets.json --replace && operations sources --json")
    assert.equal("operations: remembered petstore: 2 operations; operations list petstore shows them\n", result.err)
    assert.same({ "work" }, json.decode(result.out)[1].profiles)
    result = run("place=$HOME/pets.json; unset HOME; operations add petstore $place")
    assert.same({ "operations: neither XDG_CONFIG_HOME nor HOME says where to remember it\n", 12 },
      { result.err, result.code })
  end)

  it("are listed and described where there is no place for the cache", function()
    write("one.lua", 'return { namespace = "one", name = "a", handler = function() return 1 end }')
    run("operations add petstore $HOME/pets.json; operations add one $HOME/one.lua")
    local before = "XDG_CONFIG_HOME=$HOME/.config; export XDG_CONFIG_HOME; place=$HOME/pets.json; unset HOME; "
    for _, command_line in ipairs({ "operations list", "operations list petstore --refresh",
      "operations describe petstore.pets_list --json", "operations list --json",
      "operations list --openapi $place" }) do
      local with = run((command_line:gsub("%$place", "$HOME/pets.json")))
      local without = run(before .. command_line)
      assert.same({ with.out, "", 0 }, { without.out, without.err, without.code })
    end
  end)

  it("have several operations at one path, each described as itself once they are cached", function()
    local paths = {}
    for _, method in ipairs({ "put", "post", "patch", "delete" }) do
      paths[method] = { operationId = method .. "_a", summary = "Does " .. method .. ".", responses = { ["200"] = {
        description = "" } } }
    end
    write("a.json", json.encode({ openapi = "3.1.0", info = { title = "", version = "1" },
      servers = { { url = "http://127.0.0.1:1" } }, paths = { ["/a"] = paths } }))
    run("operations add several $HOME/a.json")
    for method in pairs(paths) do
      local result = run("operations describe several." .. method .. "_a --json")
      assert.equal("Does " .. method .. ".", json.decode(result.out).description, result.err)
    end
  end)

  it("say what is wrong in their file", function()
    local cases = {
      { '{ "sources": { "a": { "openapi": "x", "barer": "env:X" } } }',
        "/sources/a/barer: unknown member (did you mean bearer?)" },
      { '{ "sources": { "a": { "openapi": 3 } } }', "/sources/a/openapi: expected a string, got integer" },
      { '{ "sources": { "a": {} } }',
        "/sources/a: expected one of openapi, graphql, lua, mcp, mcp-config, redis and websocket, got 0" },
      { '{ "sources": { "a b": { "lua": "x" } } }', "/sources/a b: expected a name of letters, digits, _ and -" },
      { '{ "sources": [] }', nil },
      { '{ "sources": { "a": { "openapi": "x", "bearer": "abc" } } }',
        "/sources/a/bearer: a remembered source holds no secrets: "
        .. "give env:NAME, file:PATH or cmd:COMMAND instead of the token itself" },
    }
    run("mkdir -p $HOME/.config/operations")
    for _, case in ipairs(cases) do
      write(".config/operations/config.json", case[1])
      local result = run("operations sources")
      local message = case[2] and ("operations: %s/.config/operations/config.json: %s\n"):format(home, case[2])
        or "operations: no source is remembered: operations add NAME FILE|URL\n"
      assert.equal(message, result.err)
      assert.equal(case[2] and 12 or 0, result.code)
    end
  end)

  with_yaml("stay patched when their document is fetched again, and say when the patch no longer fits", function()
    local api = server.start()
    finally(function()
      api:stop()
    end)
    write("mend.yaml", "- {op: move, from: /paths/~1echo/get, path: /paths/~1echo/post}\n")
    local script = [[operations add pets %s/petstore/patched --patch $HOME/mend.yaml >/dev/null
      operations list pets; operations list pets; operations list pets --refresh]]
    local result = run((script:gsub("%%s", api.url)))
    assert.equal("operations: remembered pets: 1 operation; operations list pets shows them\n", result.err)
    assert.equal(3, select(2, result.out:gsub("POST /echo\n", "")), result.out)
    write("mend.yaml", "- {op: remove, path: /paths/~1cats}\n")
    assert.matches("operation 1 (remove /paths/~1cats) of the patch: there is no /paths/~1cats",
      run("operations list pets").err, 1, true)
  end)

  it("are fetched once, and asked for news by their entity tag", function()
    local api = server.start()
    finally(function()
      api:stop()
    end)
    local script = [[operations add pets %s/petstore/fetched && operations call pets.pets.list >/dev/null
      operations list >/dev/null; operations list --refresh; operations list --openapi %s/petstore/given
      operations list --openapi %s/petstore/given; curl -s %s/note/fetched; curl -s %s/note/given]]
    local result = run((script:gsub("%%s", api.url)))
    assert.equal("operations: remembered pets: 1 operation; operations list pets shows them\n", result.err)
    assert.matches("200 200 \n?200 304 \n?$", result.out)
  end)

  it("are used from the cache when the server does not answer", function()
    local api = server.start()
    local result = run(("operations add pets %s/petstore/alone"):format(api.url))
    api:stop()
    assert.equal(0, result.code)
    run("find $HOME/.cache -type f | xargs touch -d '2 days ago'")
    result = run("operations list")
    assert.matches("^operations: http://127.0.0.1:%d+/petstore/alone cannot be asked for news: using its document of "
      .. "%d+%-%d+%-%d+\n$", result.err)
    assert.matches("^pets.pets_list", result.out)
    assert.equal(0, result.code)
    result = run("operations list --refresh")
    assert.equal(13, result.code)
  end)
end)
