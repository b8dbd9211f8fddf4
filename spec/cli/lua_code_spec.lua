local command = require("spec.support.command")
local json = require("operations.base.json")
local shell_api = require("spec.support.shell_api")

local api = shell_api.during(setup, teardown)

-- The program of a call, what it prints, and what the call itself prints.
local function both(arguments)
  local result = api:run(([[KEY=abcdefgh; export KEY
    operations add shop %s --bearer env:KEY -q
    operations call %s --lua-code >program.lua; echo ==; lua program.lua; echo ==; operations call %s]]):format(
    api.document, arguments, arguments))
  assert.equal("", result.err)
  local printed, direct = result.out:match("^==\n(.-)==\n(.*)$")
  return api:file("program.lua"), printed, direct
end

describe("the Lua program of a call", function()
  it("does the same with a remembered source, its profile and its secrets", function()
    local text, printed, direct = both("shop.create owner=ada title=x labels=a count=3 'note=say \"hi\"' --compact")
    assert.equal([[
local operations = require("operations")
local source = assert(operations.sources.load("shop"))
local registry = source.registry
local envelope = assert(registry:execute("shop.create", {
  body = { count = 3, labels = { "a" }, title = "x" },
  note = "say \"hi\"",
  owner = "ada",
}))
print(operations.json.encode(envelope.data))
source:close()
]], text)
    printed, direct = json.decode(printed), json.decode(direct)
    for _, name in ipairs({ "method", "uri", "body" }) do
      assert.equal(direct[name], printed[name])
    end
    assert.equal("Bearer abcdefgh", printed.headers.authorization)
    local result = api:run("operations add shop " .. api.document .. " -q; operations add shop --profile work "
      .. "--header 'X-A: b' -q; operations call shop.thing --profile work --lua-code")
    assert.matches('assert(operations.sources.load("shop", { profile = "work" }))', result.out, 1, true)
  end)

  it("does the same with a document", function()
    local text, printed = both(("shell.create owner=ada title=x --openapi %s --bearer env:KEY --header 'X-A: b'")
      :format(api.document))
    assert.matches('auth = { token = os.getenv("KEY"), type = "bearer" }', text, 1, true)
    printed = json.decode(printed)
    assert.same({ "Bearer abcdefgh", "b" }, { printed.headers.authorization, printed.headers["x-a"] })
  end)

  it("has every text as it is, and runs none", function()
    local hostile = json.encode({ title = "a\n\"]] .. os.exit() \\ \0\127\226\128\174", count = 1,
      labels = { "end", "--[[" } })
    local _, printed, direct = both(("shop.create owner=ada '%s' --compact"):format(hostile:gsub("'", "'\\''")))
    assert.equal(json.decode(direct).body, json.decode(printed).body)
  end)
end)

describe("the Lua program of other calls", function()
  local function code(arguments)
    return api:run("operations call " .. arguments .. " --lua-code --openapi " .. api.document)
  end

  it("follows pages, and has the deadline and the identity", function()
    local text = code("shell.items --all --timeout 3 --scopes a").out
    assert.matches('for page in assert(registry:pages("shell.items", operations.object(), {\n  '
      .. 'deadline = operations.now() + 3000,\n  identity = { id = "command line", scopes = { "a" } },\n})) do\n',
      text, 1, true)
    assert.matches("for page in assert(registry:pages(\"shell.items\")) do\n", code("shell.items --max-items 3").out, 1,
      true)
  end)

  it("follows a subscription", function()
    local result = command.run("operations watch tasks.watch --openapi examples/tasks.openapi.json --lua-code")
    assert.matches('assert(registry:subscribe("tasks.watch"))\nfor envelope in subscription do\n', result.out, 1, true)
  end)

  it("contains no secret, and names what it leaves out", function()
    local result = code("shell.thing --bearer s3cret --api-key k --select id")
    assert.is_nil(result.out:find("s3cret", 1, true))
    assert.matches('token = os.getenv("TOKEN")', result.out, 1, true)
    assert.equal("operations: not in the program: --api-key, --select\n", result.err)
  end)

  it("needs a remembered source where that is no document", function()
    local result = api:run("echo 'return { namespace = \"a\", name = \"b\", handler = print }' >a.lua; "
      .. "operations call a.b --lua a.lua --lua-code")
    assert.same({ "operations: --lua-code: remember the source first (operations add NAME ...), and call NAME.b\n", 2 },
      { result.err, result.code })
  end)
end)
