local command = require("spec.support.command")
local json = require("operations.base.json")
local shell_api = require("spec.support.shell_api")

local api = shell_api.during(setup, teardown)

local function printed(arguments)
  local result = api:run("call " .. arguments)
  assert.equal("", result.err)
  assert.equal(0, result.code)
  return result.out
end

-- Compares everything about a call that goes wrong.
local function fails(arguments, code, message)
  local result = api:run("call " .. arguments)
  assert.same({ out = "", err = message, code = code, files = "" }, result)
end

describe("a request", function()
  it("is shown and not sent", function()
    assert.equal(("POST %s/echo/ada\nAccept: application/json\nAuthorization: ***\nContent-Type: application/json\n\n"
      .. '{"title":"x"}\n'):format(api.url), printed("create owner=ada title=x --bearer abcdef --dry-run"))
    assert.equal(("GET %s/shell/mute\nAccept: application/json\n"):format(api.url), printed("mute --dry-run"))
    fails("create owner=ada --dry-run count=x", 5, "operations: VALIDATION_ERROR\n"
      .. '  /body/title: required, but missing; expected string\n  /body/count: expected integer, got "x"\n')
  end)

  it("is a command of curl that does the same", function()
    local result = api:run("call create owner=ada \"title=it's\" --curl >c; OPERATIONS_BEARER=abcdef; export "
      .. "OPERATIONS_BEARER; call create owner=ada title=y --curl >d; cat d; sh ./c 2>/dev/null; sh ./d 2>/dev/null")
    assert.equal("", result.err)
    local text, one, two = result.out:match("^(curl.-\n)({.-\n?})({.*)$")
    assert.matches('--header "Authorization: Bearer $OPERATIONS_BEARER" \\\n', text, 1, true)
    assert.equal('{"title":"it\'s"}', json.decode(one).body)
    assert.equal("Bearer abcdef", json.decode(two).headers.authorization)
    result = api:run("printf png >a.png; call attach title=t file=@a.png --curl >c; sh ./c 2>/dev/null")
    assert.matches('name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\npng',
      json.decode(result.out).body, 1, true)
    result = api:run([[echo 'return { namespace = "t", name = "a", handler = print }' >a.lua
      operations call t.a --lua a.lua --curl]])
    assert.equal("operations: --curl: t.a is not an operation of an HTTP API\n", result.err)
  end)

  it("has the variables of a remembered source in the command of curl", function()
    local result = api:run("KEY=abcdefgh; export KEY; operations add shop " .. api.document
      .. " --bearer env:KEY --header 'X-Token: file:secret' 2>/dev/null; echo hidden >secret; "
      .. "operations call shop.thing --curl")
    assert.equal(("curl %s/shell/thing \\\n  --location \\\n  --header 'Accept: application/json' \\\n"
      .. '  --header "Authorization: Bearer $KEY" \\\n  --header \'X-Token: ***\' \\\n  --compressed\n')
      :format(api.url), result.out)
    assert.equal("operations: credentials are shown as ***; one that is given as env:NAME is written as $NAME\n"
      .. "operations: if the server redirects to another host, curl sends it X-Token too; operations does not\n",
      result.err)
  end)
end)

describe("a call of an MCP server's tool", function()
  local server

  setup(function()
    local words = { "env" }
    for name, value in pairs(command.environment()) do
      words[#words + 1] = ('%s="%s"'):format(name, value)
    end
    server = ("--mcp '%s %s spec/support/mcp/server.lua legacy'"):format(table.concat(words, " "),
      command.interpreter())
  end)

  it("is shown as JSON-RPC and not sent", function()
    local result = command.run(("operations call mcp.add a=1 b=2 --dry-run %s"):format(server))
    assert.equal("", result.err)
    assert.same({ jsonrpc = "2.0", id = 1, method = "tools/call",
      params = { name = "add", arguments = { a = 1, b = 2 } } }, json.decode(result.out))
  end)

  it("is shown with its answer on standard error", function()
    local result = command.run(("operations call mcp.add a=1 b=2 -v %s 2>&1 >/dev/null | grep '^[<>]'"):format(server))
    local sent, came = result.out:match("^> ({.-})\n< ({.-})\n$")
    sent, came = json.decode(sent), json.decode(came)
    assert.same({ "tools/call", "add", sent.id }, { sent.method, sent.params.name, came.id })
    assert.equal(3, came.result.structuredContent.sum)
  end)
end)
