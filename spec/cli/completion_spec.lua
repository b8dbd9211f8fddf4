--- What the scripts of the shells ask: `operations complete -- WORDS...`. spec/cli/terminal has the shells themselves.
local command = require("spec.support.command")

local document = [[{ "openapi": "3.1.0", "info": { "title": "Pets", "version": "1" },
  "servers": [ { "url": "http://127.0.0.1:9" } ], "paths": {
  "/pets/{kind}": { "get": { "operationId": "pets/list", "summary": "All  pets\nof a kind", "parameters": [
    { "name": "kind", "in": "path", "required": true, "schema": { "enum": ["cat", "dog"] } },
    { "name": "age", "in": "query", "schema": { "type": "integer" } } ],
    "tags": ["animals"], "responses": { "200": { "description": "",
      "content": { "application/json": {} } } } } },
  "/news": { "get": { "operationId": "news", "responses": { "200": { "description": "",
      "content": { "text/event-stream": {} } } } } } } }]]

local nested = [[{ "openapi": "3.1.0", "info": { "title": "Pets", "version": "1" }, "paths": {
  "/pets": { "post": { "operationId": "pets/add", "requestBody": { "content": { "application/json": { "schema": {
    "type": "object", "properties": { "photo": { "type": "string" }, "owner": { "type": "object", "properties": {
      "name": { "type": "string" }, "address": { "type": "object", "properties": { "city": { "type": "string" } } },
      "kind": { "enum": ["person", "firm"] }, "a.b": { "type": "string" } } } } } } } },
    "responses": { "200": { "description": "" } } } } } }]]

describe("completion", function()
  local home

  local function run(script)
    return command.run(("HOME=%s; export HOME; unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME; %s")
      :format(home, script))
  end

  setup(function()
    home = os.tmpname()
    os.remove(home)
    os.execute("mkdir -p " .. home)
    local file = assert(io.open(home .. "/pets.json", "w"))
    file:write(document)
    file:close()
    assert.equal(0, run("operations add petstore ~/pets.json && operations add other ~/pets.json").code)
  end)

  teardown(function()
    os.execute("rm -rf " .. home)
  end)

  -- Several command lines at once, as a process each takes time: what each is answered.
  local function complete(lines)
    local script = {}
    for i, words in ipairs(lines) do
      script[i] = ("operations complete -- %s; echo =="):format(words)
    end
    local found = {}
    local ran = run(table.concat(script, "; "))
    assert.equal("", ran.err)
    for text in ran.out:gmatch("(.-)==\n") do
      found[#found + 1] = text
    end
    return found
  end

  it("knows the commands, with what they are for", function()
    local found = complete({ "''", "'desc'", "'help'" })
    for _, name in ipairs({ "call", "watch", "describe", "list", "add", "remove", "completion", "help" }) do
      assert.truthy(("\n" .. found[1]):find("\n" .. name .. "\t", 1, true), name)
    end
    assert.matches("^describe\t[^\n]+\n$", found[2])
    assert.equal("help\twhat a command takes\n", found[3])
  end)

  it("knows the operations that fit a command", function()
    local both = "%s.pets_list\tAll pets of a kind\n"
    local found = complete({ "call petstore", "watch petstore", "describe petstore", "call --json petstore",
      "describe petstore.news ''", "call nobody" })
    assert.equal(both:format("petstore"), found[1])
    assert.matches("^petstore%.news", found[2])
    assert.matches("^petstore%.[^\n]*\npetstore%.[^\n]*\n$", found[3])
    assert.equal(both:format("petstore"), found[4])
    assert.same({ "", "" }, { found[5], found[6] })
  end)

  it("knows the keys that are not given, and their values", function()
    local found = complete({ "call petstore.pets_list ''", "call petstore.pets_list kind=",
      "call petstore.pets_list kind=d", "call petstore.pets_list kind=cat ''", "call petstore.pets_list age=",
      "call petstore.none ''" })
    assert.same({ "kind=\trequired\nage=\n", "kind=cat\nkind=dog\n", "kind=dog\n", "age=\n", "", "" }, found)
  end)

  it("knows sources, options and shells", function()
    local found = complete({ "remove ''", "export pet", "serve ''", "list ''", "completion ''", "completion z",
      "completion bash ''", "list --col", "list --nope" })
    assert.same({ "other\npetstore\n", "petstore\n", "other\npetstore\n", "", "bash\nzsh\nfish\n", "zsh\n", "" },
      { found[1], found[2], found[3], found[4], found[5], found[6], found[7] })
    assert.matches("^%-%-color\t[^\n]+\n$", found[8])
    assert.equal("", found[9])
  end)

  it("knows sources for each command that takes some, and for no other", function()
    local found = complete({ "remove ''", "serve ''", "export ''", "mcp ''", "worker ''", "login ''", "logout ''",
      "add ''", "trust ''", "sources ''", "completion ''" })
    local both = "other\npetstore\n"
    assert.same({ both, both, both, both, both, both, both, "", "", "", "bash\nzsh\nfish\n" }, found)
  end)

  it("takes the value of an option for no operation", function()
    local found = complete({ "call --bearer x petstore.pets_list k", "call -f json petstore.pets_list k",
      "call --json petstore.pets_list k", "call petstore.pets_list --json kind:=1 ''", "call --bearer x petstore" })
    assert.same({ "kind=\trequired\n", "kind=\trequired\n", "kind=\trequired\n", "age=\n",
      "petstore.pets_list\tAll pets of a kind\n" }, found)
  end)

  it("knows no value of an option", function()
    assert.same({ "", "", "" }, complete({ "call --bearer pets", "serve --port ''", "call -o ''" }))
  end)

  it("knows the values of options that have a few", function()
    assert.same({ "json\nyaml\ntable\ncsv\nndjson\n", "yaml\n", "--format=csv\n", "mutation\n", "client\n",
      "never\n", "other.*\nother.news\n", "petstore.pets_list\tAll pets of a kind\n", "animals\n" },
      complete({ "call -f ''", "call --format y", "call --format=c", "list --type m", "serve --upstream-errors c",
        "call --color n", "serve --expose other.'*'; operations complete -- serve --expose other.n",
        "mcp --include petstore.p", "list --tag a" }))
  end)

  it("knows the keys of members of objects, with their values", function()
    local file = assert(io.open(home .. "/nested.json", "w"))
    file:write(nested)
    file:close()
    assert.equal(0, run("operations add zoo ~/nested.json").code)
    local found = complete({ "call zoo.pets_add o", "call zoo.pets_add owner.kind=" })
    run("operations remove zoo")
    assert.same({ "owner=\nowner.name=\nowner.address=\nowner.address.city=\nowner.kind=\nowner.a\\.b=\n",
      "owner.kind=person\nowner.kind=firm\n" }, found)
  end)

  it("knows files after @, directories with their slash", function()
    os.execute(("mkdir -p %s/files/inner && touch %s/files/a.json '%s/files/b c' %s/files/.hidden"):format(home, home,
      home, home))
    local found = {}
    for word in complete({ "call petstore.pets_list photo=@$HOME/files/" })[1]:gmatch("[^\n]+") do
      found[#found + 1] = word:gsub(home, "~", 1)
    end
    table.sort(found)
    assert.same({ "photo=@~/files/a.json", "photo=@~/files/b c", "photo=@~/files/inner/" }, found)
  end)

  it("knows profiles", function()
    assert.equal(0, run("operations add third ~/pets.json; operations add third --profile work --bearer env:X; "
      .. "operations add third --profile home --bearer env:X").code)
    local found = complete({ "call --profile ''", "call --profile w", "list --profile h" })
    run("operations remove third")
    assert.same({ "home\nwork\n", "work\n", "home\n" }, found)
  end)

  it("offers no words that a line or a terminal cannot have", function()
    local file = assert(io.open(home .. "/bad.json", "w"))
    file:write((document:gsub('"cat", "dog"', [["a\nb", "a\tb", "a\u001b[8mb", "a\u202eb", "a\u2028b", "ab"]])))
    file:close()
    assert.equal(0, run("operations add bad ~/bad.json").code)
    assert.same({ "kind=ab\n" }, complete({ "call bad.pets_list kind=" }))
    run("operations remove bad")
  end)

  it("has a script for each of three shells, and no other", function()
    for _, shell in ipairs({ "bash", "zsh", "fish" }) do
      assert.truthy(run("operations completion " .. shell).out:find("operations complete -- ", 1, true), shell)
    end
    assert.equal(0, run("operations completion bash | bash -n").code)
    local refused = run("operations completion tcsh; echo $?; operations completion bash zsh; echo $?")
    assert.equal("2\n2\n", refused.out)
    assert.matches("expected bash, zsh or fish, got \"tcsh\"", refused.err)
    assert.matches("got \"bash zsh\"", refused.err)
  end)
end)
