--- What people get wrong when they call, and the whole of what they are told.
local shell_api = require("spec.support.shell_api")

local USAGE, INVALID = 2, 5
local create = "create owner=ada title=x "

-- { what is typed, exit code, what is said behind "operations: " }
local mistakes = {
  { "bytes -o /nowhere/x", USAGE, "cannot write /nowhere/x: No such file or directory" },
  { "bytes -o .", USAGE, "cannot write .: it is a directory" },
  { "bytes -o /dev/full", USAGE, "cannot write /dev/full: No space left on device" },
  { "bytes -o x -O", USAGE, "--output and --remote-name exclude each other" },
  { "thing --pretty --compact", USAGE, "--pretty and --compact exclude each other" },
  { "thing -f jsn", USAGE, '--format: expected json, yaml, table, csv or ndjson, got "jsn" (did you mean json?)' },
  { "thing --formt yaml", USAGE, "unknown option --formt (did you mean --format?); input is given as formt=VALUE, see "
    .. "operations call --help" },
  { "thing --text a", USAGE,
    "unknown option --text; input is given as text=VALUE, see operations call --help" },
  { "thing --raw=x", USAGE, "--raw takes no value; see operations call --help" },
  { "thing --timeout abc", USAGE, '--timeout: expected a number of seconds above 0, got "abc"' },
  { "items --max-items 0", USAGE, '--max-items: expected a whole number above 0, got "0"' },
  { "thing --select 'a[x'", USAGE,
    '--select: cannot read "a[x" at "[x": expected a path such as items[0].name, parts such as id,name, '
      .. "or a JSON Pointer" },
  { "thing --select a.", USAGE, '--select: "a." ends with a dot' },
  { "items --select '[0].nam'", USAGE,
    '--select: [0] has no "nam" (did you mean name?); it has extra, id, name' },
  { "items --select id", USAGE, "--select: the answer is a list: [].id takes this of every item" },
  { "items --select '[9]'", USAGE, "--select: the answer has 2 items" },
  { "items --select '[0].id[]'", USAGE, "--select: [0].id is not a list" },
  { create .. "lines:=@/nowhere", USAGE, "/nowhere: No such file or directory" },
  { create .. "title=@/nowhere", USAGE, "title: /nowhere: No such file or directory" },
  { create .. "title=@/", USAGE, "title: / is a directory" },
  { create .. "title=@", USAGE, "title: expected a file after @; for a text that begins with @ write title=@@..." },
  { create .. "owner.name=@/bin/true", USAGE, "owner.name: /bin/true is not UTF-8, and a text is wanted here" },
  { create .. "'lines[3].n=1'", USAGE, "lines[3].n: the list has 0 items, so the next one is [0]" },
  { create .. "title.a=1", USAGE, "title.a: /body/title is a string already" },
  { create .. "count:=x", USAGE, "count: JSON, line 1, column 1 (byte 1): expected a value, got 'x'" },
  { create .. "x", USAGE, '"x" is not an input: expected key=value, key:=json, @file, - or a JSON object' },
  { create .. "counts=3", INVALID,
    'VALIDATION_ERROR\n  /body/counts: unknown property; expected "title", "count", "labels", "lines" or "owner" '
      .. "(did you mean count?)" },
  { create .. "count=three", INVALID, "VALIDATION_ERROR\n  /body/count: expected integer, got \"three\"" },
  { create .. "title:=7 labels:=true", INVALID, "VALIDATION_ERROR\n  /body/title: expected string, got 7\n"
    .. "  /body/labels: expected array, got true" },
  { create .. "title:='{}'", INVALID, "VALIDATION_ERROR\n  /body/title: expected string, got object" },
  { "attach", INVALID, "VALIDATION_ERROR\n  /body: required, but missing; expected object; its fields are given as "
    .. "file=..." },
  { "create title=x", INVALID, "VALIDATION_ERROR\n  /owner: required, but missing; expected string" },
  { "thing --base-url http://u:p@h", USAGE,
    "--base-url: expected a URL without a user name and password: --basic USER:PASSWORD gives them" },
  { "thing -fjsn", USAGE, '--format: expected json, yaml, table, csv or ndjson, got "jsn" (did you mean json?)' },
  { "thing -vx", USAGE, "unknown option -x; see operations call --help" },
  { "denied", 10, "HTTP_401: 401 Unauthorized\n  {}\noperations: --bearer, --basic or --api-key gives credentials, "
    .. "operations login those of a remembered source; operations describe shell.denied shows which" },
  { "page status=500", 11, "HTTP_500: 500 Internal Server Error\n  Sorry Come back later. (129 bytes; --envelope shows "
    .. "all)" },
  { "bytes --dry-run --document-header x", USAGE, "--document-header: expected 'NAME: VALUE', got \"x\"" },
}

describe("a mistake", function()
  local api = shell_api.during(setup, teardown)

  for _, mistake in ipairs(mistakes) do
    it("is answered with what is wrong and what to type instead: " .. mistake[1], function()
      local result = api:run("call " .. mistake[1])
      assert.same({ out = "", err = "operations: " .. mistake[3] .. "\n", code = mistake[2], files = "" }, result)
    end)
  end

  it("of an address, which answers a page instead of JSON, is told", function()
    local result = api:run("call page")
    assert.matches("Come back later", result.out, 1, true)
    assert.equal("operations: warning: the answer is text/html, and shell.page answers JSON: is this the API's "
      .. "address?\n", result.err)
    assert.equal("", api:run("call text").err)
  end)

  it("of a server is told in at most a thousand bytes", function()
    local result = api:run("call page status=500 more=1000")
    assert.matches("\n  Sorry Come back later%. [\195\164 ]+%.%.%. %(10%.1 kB; %-%-envelope shows all%)\n$", result.err)
    assert.is_true(#result.err < 1200)
  end)

  it("in the name of an argument is told beside the one that is missing", function()
    local result = api:run([[echo 'return { namespace = "t", name = "read", handler = print, inputSchema =
      { type = "object", required = { "text" }, properties = { text = { type = "string" } } } }' >a.lua
      operations call t.read txt=x --lua a.lua]])
    assert.equal('operations: warning: the input has no "txt" by its schema (did you mean text?)\n'
      .. "operations: VALIDATION_ERROR\n  /text: required, but missing; expected string\n", result.err)
  end)

  it("in the name of a tool's argument is told, and the argument sent", function()
    local result = api:run([[echo 'return { namespace = "t", name = "read", handler = function(input) return input end,
      inputSchema = { type = "object", properties = { path = { type = "string" } } } }' >a.lua
      operations call t.read paht=x pat=y --lua a.lua]])
    assert.equal('{"paht":"x","pat":"y"}\n', result.out)
    assert.equal('operations: warning: the input has no "paht" by its schema (did you mean path?)\n'
      .. 'operations: warning: the input has no "pat" by its schema (did you mean path?)\n', result.err)
  end)
end)
