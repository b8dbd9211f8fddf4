--- Mistakes around sources, each with the whole of what is said: what was wrong, where, what to type instead.
local command = require("spec.support.command")

-- A command that writes a file of $D, which returns a definition with these fields.
local function lua_file(path, fields)
  return ([[echo "return { %s }" >$D/%s]]):format(fields, path)
end

-- The script, what it prints on standard error, its exit code. $D is a directory of its own.
local mistakes = {
  ["a command that is misspelled"] = { "operations lst",
    'operations: no command "lst" (did you mean list?); see operations --help\n', 2 },
  ["an option that is misspelled"] = { "operations list --opnapi x",
    "operations: unknown option --opnapi (did you mean --openapi?); see operations list --help\n", 2 },
  ["an option without its value"] = { "operations list --openapi",
    "operations: --openapi needs a value: FILE|URL; see operations list --help\n", 2 },
  ["a switch with a value"] = { "operations list --refresh=yes",
    "operations: --refresh takes no value; see operations list --help\n", 2 },
  ["a name that is none"] = { "operations add my.api x",
    'operations: add: expected a name of letters, digits, _ and -, got "my.api"\n', 2 },
  ["a source that is missing"] = { "operations add api",
    "operations: add: expected one source, such as operations add api https://api.example/openapi.json, got 0\n", 2 },
  ["two sources for one name"] = { "operations add api $D/a.json --mcp x",
    "operations: add: expected one source, such as operations add api https://api.example/openapi.json, got 2\n", 2 },
  ["a file that is missing"] = { "operations add api $D/none.json",
    "operations: cannot load api\noperations: EXECUTION_ERROR: $D/none.json: No such file or directory\n"
      .. '  {"kind":"file","location":"$D/none.json"}\n', 12 },
  ["a document that is broken"] = { "echo '{ \"openapi\": }' >$D/b.json; operations add api $D/b.json",
    "operations: cannot load api\noperations: EXECUTION_ERROR: $D/b.json: JSON, line 1, column 14 (byte 14): "
      .. "expected a value, got '}'\n"
      .. '  {"kind":"parse","location":"$D/b.json"}\n', 12 },
  ["a document of another kind"] = { "echo '{ \"a\": 1 }' >$D/b.json; operations add api $D/b.json",
    "operations: cannot load api\noperations: EXECUTION_ERROR: $D/b.json: expected a document of OpenAPI 3.0, 3.1 or "
      .. '3.2 or Swagger 2.0, found no version\n  {"kind":"version","location":"$D/b.json"}\n', 12 },
  ["a name that is taken"] = { "operations add api $D/a.json 2>/dev/null; operations add api $D/a.json",
    "operations: add: there is a source api in $C/config.json: give --replace, or another name\n", 2 },
  ["a profile of nothing"] = { "operations add api --profile work --bearer env:T",
    'operations: add: no source "api" to give a profile\n', 2 },
  ["a profile that is another source"] = {
    "operations add api $D/a.json 2>/dev/null; operations add api --profile work --openapi $D/a.json",
    "operations: add: a profile changes how a source is reached, not what it is: leave the source out\n", 2 },
  ["a source that is not remembered"] = { "operations add tasks $D/a.json 2>/dev/null; operations remove task",
    'operations: remove: no source "task" (did you mean tasks?); operations sources lists them\n', 2 },
  ["an operation that is misspelled"] = { "operations add api $D/a.json 2>/dev/null; operations call api.lst",
    "operations: OPERATION_NOT_FOUND: no operation 'api.lst'; did you mean api.list?\n", 3 },
  ["an operation that two sources have"] = {
    "{ operations add a $D/a.json; operations add b $D/a.json; } 2>/dev/null; operations call list",
    "operations: 'list' may be a.list, b.list: give the whole id\n", 2 },
  ["one id in two documents"] = { "operations list --openapi $D/a.json --openapi $D/a.json",
    "operations: $D/a.json: a.list is also an operation of $D/a.json: give one of them another --namespace\n", 12 },
  ["one id in two files"] = { "mkdir $D/l; for f in a b; do " .. lua_file("l/$f.lua", "namespace = 'a', name = 'b', "
    .. "handler = print") .. "; done; operations list --lua $D/l",
    "operations: $D/l/b.lua: a.b is also an operation of $D/l/a.lua\n", 12 },
  ["a definition without a handler"] = { lua_file("a.lua", "namespace = 'a', name = 'b'")
    .. "; operations mcp --lua $D/a.lua </dev/null",
    "operations: $D/a.lua: a.b: /handler: expected a function, got nil\n", 12 },
  ["a field of a definition that is misspelled"] = { lua_file("a.lua", "namespace = 'a', name = 'b', handlr = print")
    .. "; operations list --lua $D/a.lua",
    "operations: $D/a.lua: a.b: /handlr: unknown field (did you mean handler?)\n", 12 },
  ["a Lua file that is missing"] = { "operations list --lua $D/none.lua",
    "operations: $D/none.lua: No such file or directory\n", 12 },
  ["a directory without Lua files"] = { "mkdir $D/l; operations list --lua $D/l",
    "operations: warning: no Lua files (*.lua) in $D/l\n", 0 },
  ["a host that does not answer"] = { "operations add api http://127.0.0.1:1/openapi.json",
    "operations: cannot load api\noperations: EXECUTION_ERROR: GET http://127.0.0.1:1/openapi.json: Failed to connect "
      .. "to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server\n"
      .. '  {"kind":"connect","method":"GET","url":"http://127.0.0.1:1/openapi.json"}\n', 13 },
  ["a secret that is not there"] = {
    "operations add api $D/a.json --bearer env:NO_SUCH 2>/dev/null; operations call api.list",
    "operations: cannot load api\noperations: --bearer: the environment has no NO_SUCH\n", 12 },
  ["a secret on the command line"] = { "operations add api $D/a.json --basic ann:hidden",
    "operations: --basic: a remembered source holds no secrets: give env:NAME, file:PATH or cmd:COMMAND instead of the "
      .. "password itself\n", 2 },
  ["a password in a URL"] = { "operations add api redis://u:hidden@127.0.0.1",
    "operations: --redis: a remembered source holds no secrets: redis://127.0.0.1 has a password\n", 2 },
  ["a source in the place of a command"] = { "operations add api $D/a.json -q; operations api",
    "operations: api is a source and no command: operations list api\n", 2 },
  ["an operation in the place of a command"] = { "operations add api $D/a.json -q; operations api.list",
    "operations: api is a source and no command: operations call api.list\n", 2 },
  ["a source and an operation as two words"] = { "operations add api $D/a.json -q; operations api list",
    "operations: api is a source and no command: operations call api.list\n", 2 },
  ["two words for an operation"] = { "operations add api $D/a.json -q; operations call api list",
    'operations: "list" is not an input: expected key=value, key:=json, @file, - or a JSON object; did you mean the '
      .. "operation api.list?\n", 2 },
  ["a source for an operation"] = { "operations add api $D/a.json -q; operations describe api",
    "operations: OPERATION_NOT_FOUND: 'api' is a source: operations list api shows its operations\n", 3 },
  ["a header of two lines"] = { "operations list --openapi $D/a.json --header 'X: a\nb'",
    "operations: --header: the value of X has a line break or another control character\n", 2 },
  ["a configuration that is a list"] = { "mkdir -p $C; echo '[]' >$C/config.json; operations add api $D/a.json",
    'operations: $C/config.json: expected { "sources": { NAME: { ... } } }\n', 12 },
  ["a configuration that is broken"] = { "mkdir -p $C; echo '{ \"sources\"' >$C/config.json; operations sources",
    "operations: $C/config.json: JSON, line 2, column 1 (byte 13): expected ':', got the end of the text\n", 12 },
  ["nothing to trust"] = { "cd /; operations() { lua $T/lua/operations/cli/main.lua \"$@\"; }; operations trust",
    "operations: trust: there is no .operations.json here or above\n", 2 },
  ["a directory with nothing to trust"] = { "mkdir $D/l; operations trust $D/l",
    "operations: trust: there is no .operations.json and no mcp.json in $D/l\n", 2 },
  ["a file to trust that is missing"] = { "operations trust $D/no.json",
    "operations: $D/no.json: No such file or directory\n", 12 },
  ["two files to trust"] = { "operations trust a b",
    "operations: trust: expected at most one DIR or FILE, got 2\n", 2 },
  ["nothing to add"] = { "operations add", "operations: add: expected NAME and FILE|URL, got 0 words\n", 2 },
  ["a place to add too many"] = { "operations add a $D/a.json $D/b.json",
    "operations: add: expected NAME and FILE|URL, got 3 words\n", 2 },
  ["a name of two words to add"] = { "operations add 'a b' $D/a.json",
    'operations: add: expected a name of letters, digits, _ and -, got "a b"\n', 2 },
  ["no name to remove"] = { "operations remove", "operations: remove: expected the NAME of a source\n", 2 },
  ["no operation to describe"] = { "operations describe --openapi $D/a.json",
    "operations: describe: expected one OPERATION, got 0\n", 2 },
  ["two operations to describe"] = { "operations describe --openapi $D/a.json a b",
    "operations: describe: expected one OPERATION, got 2\n", 2 },
  ["no operation to call"] = { "operations call --openapi $D/a.json", "operations: expected an OPERATION\n", 2 },
  ["a type of operations that is not known"] = { "operations list --openapi $D/a.json --type x",
    'operations: --type: expected query, mutation or subscription, got "x"\n', 2 },
  ["a number of items that is none"] = { "operations call --openapi $D/a.json a.list --max-items 0",
    'operations: --max-items: expected a whole number above 0, got "0"\n', 2 },
  ["a call that is watched"] = { "operations watch --openapi $D/a.json a.list",
    "operations: a.list is a query: use operations call\n", 2 },
  ["a version of a document that is not known"] = { "operations export --openapi $D/a.json --version 2.0",
    'operations: --version: expected 3.0, 3.1 or 3.2, got "2.0"\n', 2 },
  ["a prefix of a document that is no path"] = { "operations export --openapi $D/a.json --prefix api",
    'operations: --prefix: expected a path such as /api, got "api"\n', 2 },
  ["a way to search that is not known"] = { "operations mcp --openapi $D/a.json --search x </dev/null",
    'operations: mcp: --search: expected auto, always or never, got "x"\n', 2 },
  ["an editor and other options"] = { "operations mcp --nvim $D/x --openapi $D/a.json </dev/null",
    "operations: mcp: --nvim goes without other options\n", 2 },
  ["a login to two sources"] = { "operations login a b",
    "operations: login: expected the NAME of a source, got 2 words\n", 2 },
  ["a worker without a place"] = { "operations worker --openapi $D/a.json",
    "operations: worker: expected one --redis URL, got 0\n", 2 },
  ["a shell that is not known"] = { "operations completion tcsh",
    'operations: completion: expected bash, zsh or fish, got "tcsh"\n', 2 },
}

describe("a mistake", function()
  for name, mistake in pairs(mistakes) do
    it("is " .. name, function()
      local directory = os.tmpname()
      os.remove(directory)
      os.execute("mkdir " .. directory)
      local file = assert(io.open(directory .. "/a.json", "w"))
      file:write([[{ "openapi": "3.1.0", "info": { "title": "a", "version": "1" },
        "servers": [ { "url": "http://127.0.0.1:9" } ], "paths": { "/a": { "get": { "operationId": "list",
        "responses": { "200": { "description": "", "content": { "application/json": {} } } } } } } }]])
      file:close()
      local result = command.run(("D=%s; C=$D/config/operations; XDG_CONFIG_HOME=$D/config; T=$PWD; %s"):format(
        directory, mistake[1]))
      os.execute("rm -rf " .. directory)
      local said = result.err:gsub(directory:gsub("%p", "%%%0") .. "/config/operations", "$C")
      assert.equal(mistake[2], (said:gsub(directory:gsub("%p", "%%%0"), "$D"):gsub("after %d+ ms", "after 0 ms")))
      assert.equal("", result.out)
      assert.equal(mistake[3], result.code)
    end)
  end
end)
