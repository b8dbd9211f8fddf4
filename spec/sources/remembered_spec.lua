local command = require("spec.support.command")
local remembered = require("operations.sources.remembered")

describe("a remembered source", function()
  it("holds no secrets", function()
    local function problem(name, value)
      local message = remembered.secret_problem(name, value)
      return message and message:gsub("^a remembered source holds no secrets: ", "")
    end
    for name, word in pairs({ bearer = "token", ["api-key"] = "key", ["client-secret"] = "secret",
      basic = "password" }) do
      assert.equal(("give env:NAME, file:PATH or cmd:COMMAND instead of the %s itself"):format(word),
        problem(name, "u:s3cret"))
      assert.is_nil(problem(name, "env:NAME"))
    end
    assert.is_nil(problem("basic", "u:env:NAME"))
    assert.is_nil(problem("basic", "file:x"))
    assert.is_nil(problem("api-key", "name=env:NAME"))
    assert.equal("give env:NAME, file:PATH or cmd:COMMAND instead of the key itself", problem("api-key", "name=s3cret"))
    for _, header in ipairs({ "Authorization", "Cookie", "X-Api-Key", "X-Password", "Secret", "X-Session", "token" }) do
      assert.equal(("give env:NAME, file:PATH or cmd:COMMAND behind '%s:'"):format(header),
        problem("header", header .. ": x"))
      assert.is_nil(problem("document-header", header .. ": env:X"))
    end
    assert.is_nil(problem("header", "Accept: x"))
    assert.equal("https://a.test/x has a password", problem("openapi", "https://u:p@a.test/x"))
    assert.equal("http://p:1 has a password", problem("proxy", "http://u:p@p:1"))
    assert.equal("https://a.test has a password", problem("base-url", "https://u@a.test"))
    assert.is_nil(problem("openapi", "https://a.test/u@b"))
    assert.is_nil(problem("namespace", "https://u:p@a.test"))
    assert.is_nil(problem("bearer", true))
  end)

  local function order(entry, profile)
    local list = {}
    for i, option in ipairs(remembered.order({ name = "s", base = "/base", entry = entry }, profile)) do
      list[i] = option.name .. "=" .. tostring(option.value)
    end
    return list
  end

  it("is the options of a command line, its kind first, then its namespace", function()
    assert.same({ "openapi=https://a.test/x", "namespace=s", "base-url=https://b", "bearer=env:T", "header=A: 1",
      "header=B: 2", "remote-refs=true" }, order({ openapi = "https://a.test/x", header = { "A: 1", "B: 2" },
      ["base-url"] = "https://b", bearer = "env:T", ["remote-refs"] = true }))
    assert.same({ "mcp=npx x", "namespace=n", "header=A: 1" },
      order({ mcp = "npx x", namespace = "n", header = "A: 1" }))
  end)

  it("has paths beside the file that it is in", function()
    assert.same({ "openapi=/base/a.json", "namespace=s", "ca-file=/base/ca.pem", "cert=/base/c.pem", "key=/abs/k.pem" },
      order({ openapi = "a.json", ["ca-file"] = "ca.pem", cert = "c.pem", key = "/abs/k.pem" }))
    assert.same({ "lua=/base/x", "namespace=s" }, order({ lua = "x" }))
    assert.same({ "mcp-config=/base/m.json", "namespace=s" }, order({ ["mcp-config"] = "m.json" }))
    assert.same({ "websocket=wss://h", "namespace=s" }, order({ websocket = "wss://h" }))
  end)

  it("is changed by a profile", function()
    local entry = { openapi = "https://a", bearer = "env:A", profiles = { work = { bearer = "env:B" } } }
    assert.same({ "openapi=https://a", "namespace=s", "bearer=env:A" }, order(entry))
    assert.same({ "openapi=https://a", "namespace=s", "bearer=env:B" }, order(entry, "work"))
    assert.same({ "openapi=https://a", "namespace=s", "bearer=env:A" }, order(entry, "home"))
    assert.is_table(entry.profiles)
  end)
end)

-- Runs code in a process with directories of its own, $D; `try(text)` gives the user's file a text and prints what is
-- read of it: the names of the sources, or the message.
local function run(code)
  local program = os.tmpname()
  local file = assert(io.open(program, "w"))
  file:write([[
local remembered, directory = require("operations.sources.remembered"), os.getenv("D")
local members = require("operations.base.members")
local function write(path, text)
  local file = assert(io.open(directory .. "/" .. path, "w"))
  file:write(text)
  file:close()
end
local function show(value, message)
  print(((type(value) == "table" and table.concat(value.names, " ") or value or message):gsub(directory, "$D")))
end
local function try(text)
  write("operations/config.json", text)
  show(remembered.read())
end
]], code)
  file:close()
  local script = "D=%s.d; XDG_CONFIG_HOME=$D; XDG_STATE_HOME=$D/state; export D XDG_STATE_HOME; "
    .. "mkdir -p $D/operations $D/project/deep; (cd $D/project/deep; lua %s); rm -r $D"
  local result = command.run(script:format(program, program))
  os.remove(program)
  assert.equal("", result.err)
  return result.out
end

describe("the file of remembered sources", function()
  it("is an object whose sources are options of the command line", function()
    assert.equal("\n\na\na b-1 c_\na\na\na\n", run([=[
try("{}")
try('{ "sources": {}, "more": 1 }')
try('{ "sources": { "a": { "openapi": "x", "profiles": { "w": { "bearer": "env:X", "insecure": true } } } } }')
try('{ "sources": { "c_": { "lua": "x" }, "a": { "mcp": "x" }, "b-1": { "websocket": "ws://x" } } }')
try('{ "sources": { "a": { "openapi": "x", "header": [ "A: 1", "B: 2" ] } } }')
try('{ "sources": { "a": { "openapi": "x", "header": "A: 1" } } }')
try('{ "sources": { "a": { "openapi": "x", "profiles": {} } } }')
]=]))
  end)

  it("is refused as a whole, with the place of the first error", function()
    local texts = {
      { '[]', 'expected { "sources": { NAME: { ... } } }' },
      { '7', 'expected { "sources": { NAME: { ... } } }' },
      { '{ "sources": 7 }', 'expected { "sources": { NAME: { ... } } }' },
      { '{', "JSON, line 1, column 2 (byte 2): expected a string or '}', got the end of the text" },
      { '{ "sources": { "a": 7 } }', "/sources/a: expected an object" },
      { '{ "sources": { "a": [ 7 ] } }', "/sources/a: expected an object" },
      { '{ "sources": { "b": 7, "a": 7 } }', "/sources/a: expected an object" },
      { '{ "sources": { "a": { "openapi": "x", "mcp": "x" } } }',
        "/sources/a: expected one of openapi, graphql, lua, mcp, mcp-config, redis and websocket, got 2" },
      { '{ "sources": { "a": { "openapi": null } } }', "/sources/a/openapi: expected a string, got null" },
      { '{ "sources": { "a": { "openapi": [ "x" ] } } }', "/sources/a/openapi: expected a string, got array" },
      { '{ "sources": { "a": { "openapi": "x", "insecure": false } } }', "/sources/a/insecure: expected true" },
      { '{ "sources": { "a": { "openapi": "x", "header": [ "A: 1", 2 ] } } }',
        "/sources/a/header: expected strings" },
      { '{ "sources": { "a": { "openapi": "x", "header": [ "A: 1", "Cookie: x" ] } } }',
        "/sources/a/header: a remembered source holds no secrets: give env:NAME, file:PATH or cmd:COMMAND behind "
        .. "'Cookie:'" },
      { '{ "sources": { "a": { "openapi": "x", "profile": "w" } } }',
        "/sources/a/profile: unknown member" },
      { '{ "sources": { "a": { "openapi": "x", "profiles": 7 } } }', "/sources/a/profiles: expected an object" },
      { '{ "sources": { "a": { "openapi": "x", "profiles": { "w": 7 } } } }',
        "/sources/a/profiles/w: expected an object" },
      { '{ "sources": { "a": { "openapi": "x", "profiles": { "w": { "bearer": "x" } } } } }',
        "/sources/a/profiles/w/bearer: a remembered source holds no secrets: give env:NAME, file:PATH or cmd:COMMAND "
        .. "instead of the token itself" },
      { '{ "sources": { "a": { "openapi": "x", "profiles": { "w": { "profiles": {} } } } } }',
        "/sources/a/profiles/w/profiles: unknown member" },
      { '{ "sources": { "": { "openapi": "x" } } }', "/sources/: expected a name of letters, digits, _ and -" },
      { '{ "sources": { "-a": { "openapi": "x" } } }', "/sources/-a: expected a name of letters, digits, _ and -" },
    }
    local code, said = {}, {}
    for i, case in ipairs(texts) do
      code[i], said[i] = ("try(%q)\n"):format(case[1]), "$D/operations/config.json: " .. case[2] .. "\n"
    end
    assert.equal(table.concat(said), run(table.concat(code)))
  end)

  it("is made by the first change, and keeps its other keys", function()
    assert.equal('$D/operations/config.json {"sources":{"a":{"lua":"x"}}}\n'
      .. '$D/operations/config.json {"more":1,"sources":{"a":{"lua":"x"},"b":{"mcp":"y"}}}\n'
      .. '$D/operations/config.json: /sources/a: expected an object {"sources":{"a":7}}\n', run([[
local function change(text)
  if text then
    write("operations/config.json", text)
  end
  local path, message = remembered.change(function(sources)
    sources.a = { lua = "x" }
  end)
  show((path or message) .. " " .. io.open(directory .. "/operations/config.json"):read("*a"):gsub("%s", ""))
end
change()
change('{ "more": 1, "sources": { "b": { "mcp": "y" } } }')
change('{ "sources": { "a": 7 } }')
]]))
  end)

  it("is not replaced where it cannot be read", function()
    local result = command.run([[d=$(mktemp -d); export XDG_CONFIG_HOME=$d XDG_CACHE_HOME=$d/cache
      mkdir $d/operations; mkfifo $d/operations/config.json
      operations add s https://a.test/x.json >$d/out 2>&1; echo $?; grep -c "config.json" $d/out
      test -p $d/operations/config.json && echo kept; rm -r $d]])
    assert.equal("", result.err)
    assert.matches("^[1-9]%d*\n1\nkept\n", result.out)
  end)

  it("stays a link where it is one, and the file behind it is changed", function()
    local result = command.run([[d=$(mktemp -d); export XDG_CONFIG_HOME=$d XDG_CACHE_HOME=$d/cache
      echo 'return { namespace = "a", name = "b", type = "query", handler = print }' >$d/a.lua
      mkdir $d/operations; echo '{}' >$d/mine.json; ln -s ../mine.json $d/operations/config.json
      operations add s $d/a.lua -q; test -L $d/operations/config.json; echo $?; grep -c '"lua"' $d/mine.json
      rm -r $d]])
    assert.same({ "0\n1\n", "" }, { result.out, result.err })
  end)

  it("of programs that add at the same time are all kept", function()
    local result = command.run([[d=$(mktemp -d); export XDG_CONFIG_HOME=$d XDG_CACHE_HOME=$d/cache
      echo 'return { namespace = "a", name = "b", type = "query", handler = print }' >$d/a.lua
      for i in 1 2 3 4 5 6 7 8; do operations add s$i $d/a.lua >/dev/null 2>&1 & done; wait
      grep -c '"lua"' $d/operations/config.json; rm -r $d]])
    assert.same({ "8\n", "" }, { result.out, result.err })
  end)

  it("of a project counts in the state in which it was trusted, and goes before the user's", function()
    assert.equal("mine\n$D/project/.operations.json both near\nboth mine near\n$D/project\n$D\nnil \n"
      .. "$D/project/.operations.json: /sources/near: expected an object\n"
      .. "mine\n$D/project/.operations.json \n", run([[
local project = directory .. "/project/.operations.json"
local function look()
  local all, message = remembered.read()
  show(all, message)
  return all
end
local function tell(...)
  print((table.concat({ ... }, " "):gsub(directory, "$D")))
end
local both = '{ "sources": { "both": { "lua": "x" }, "near": { "lua": "x" } } }'
write("operations/config.json", '{ "sources": { "mine": { "lua": "x" } } }')
write("project/.operations.json", both)
local all = look()
local function tell_untrusted()
  tell(tostring(all.untrusted), table.concat(members.names(all.left_out), " "))
end
tell_untrusted()
assert(assert(remembered.subject(project)):trust())
all = look()
tell(all.by_name.near.base)
tell((all.by_name.mine.base:gsub("/operations$", "")))
tell_untrusted()
write("project/.operations.json", '{ "sources": { "near": 7 } }')
show(remembered.subject(project))
all = look()
tell_untrusted()
]]))
  end)
end)
