local command = require("spec.support.command")

describe("operations login", function()
  it("asks for a client, and for a source that has users", function()
    local result = command.run([[operations add api examples/tasks.openapi.json 2>/dev/null
      operations login api; operations login apu; operations login; operations logout api]])
    assert.equal('operations: login: api needs the id that its API gave to your client: --client-id ID\n'
      .. 'operations: login: no source "apu" (did you mean api?); operations sources lists them\n'
      .. "operations: login: expected the NAME of a source, got 0 words\n"
      .. "operations: logged out of api\n", result.err)
    result = command.run([[d=$(mktemp -d); cat >$d/odd.json <<'END'
{"openapi":"3.1.0","paths":{},"components":{"securitySchemes":"x"}}
END
      operations add odd $d/odd.json --client-id me 2>/dev/null; operations login odd; rm -r $d]])
    assert.equal("operations: EXECUTION_ERROR: odd: its document has no OAuth flow for users (authorizationCode)\n",
      result.err)
    result = command.run([[operations add api examples/tasks.openapi.json --client-id me 2>/dev/null
      operations login api]])
    assert.equal("operations: EXECUTION_ERROR: api: its document has no OAuth flow for users (authorizationCode)\n",
      result.err)
    assert.equal(8, result.code)
    result = command.run([[operations add api examples/tasks.openapi.json --client-id me 2>/dev/null
      unset HOME XDG_CACHE_HOME; operations login api]])
    assert.equal("operations: EXECUTION_ERROR: api: a login needs a place for the cache of its document\n", result.err)
    assert.equal(8, result.code)
  end)

  it("opens only addresses that are absolute, and https or on this machine", function()
    local document = [[{ "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": {},
      "components": { "securitySchemes": { "o": { "type": "oauth2", "flows": { "authorizationCode": {
        "authorizationUrl": %s, "tokenUrl": %s, "scopes": {} } } } } } }]]
    local good, script, expected = '"https://a.test/token"', {}, {}
    for i, case in ipairs({
      { '"/authorize"', good, "authorizationUrl", "not an absolute URL" },
      { '""', good, "authorizationUrl", "not an absolute URL" },
      { '"javascript:alert(1)"', good, "authorizationUrl", "not an absolute URL" },
      { '"file:///etc/passwd"', good, "authorizationUrl", "not an absolute URL" },
      { '"http://a.test/authorize"', good, "authorizationUrl", "neither https nor on this machine" },
      { "7", good, "authorizationUrl", "not an absolute URL" },
      { good, '"http://a.test/token"', "tokenUrl", "neither https nor on this machine" },
      { good, '"token"', "tokenUrl", "not an absolute URL" },
    }) do
      script[i] = ([[printf '%%s' '%s' >$XDG_CONFIG_HOME/d%d.json
        operations add s%d $XDG_CONFIG_HOME/d%d.json --client-id me 2>/dev/null
        operations login s%d; echo $?]]):format(document:format(case[1], case[2]), i, i, i, i)
      expected[i] = ("operations: EXECUTION_ERROR: s%d: the %s of its document is refused: it is %s\n"):format(i,
        case[3], case[4])
    end
    local result = command.run("mkdir -p $XDG_CONFIG_HOME\n" .. table.concat(script, "\n"))
    assert.equal(table.concat(expected), result.err)
    assert.equal(("8\n"):rep(#script), result.out)
  end)

  it("is not for sources without users, and needs a name", function()
    local result = command.run([[mkdir -p $XDG_CONFIG_HOME/operations
      echo '{ "sources": { "tools": { "lua": "/x" } } }' >$XDG_CONFIG_HOME/operations/config.json
      operations login tools; echo $?; operations logout; echo $?; operations logout nobody; echo $?]])
    assert.equal("operations: login: tools is a source of kind lua, which has no login\n"
      .. "operations: logout: expected the NAME of a source, got 0 words\n"
      .. 'operations: logout: no source "nobody"; operations sources lists them\n', result.err)
    assert.equal("2\n2\n2\n", result.out)
  end)
end)

describe("operations logout", function()
  -- Runs a script in which `keep` stores a login to http://127.0.0.1:1/mcp, and `left` lists what is stored of it.
  local function run(script)
    return command.run([[mkdir -p $XDG_CONFIG_HOME/operations
      cat >$XDG_CONFIG_HOME/store.lua <<'END'
local operations = require("operations")
local store = operations.oauth.directory_store(require("operations.base.directories").state() .. "/oauth")
local server, client = "server http://127.0.0.1:1/mcp", "client https://as.test"
if arg[1] == "keep" then
  store.save(server, { issuer = "https://as.test", client_id = "c", token = { access_token = "t" } })
  store.save(client, { client_id = "c", redirect_uri = "http://127.0.0.1:8976/callback" })
end
print(store.load(server) and "token" or "no token", store.load(client) and "registration" or "no registration")
END
      echo '{ "mcpServers": { "a": { "url": "http://127.0.0.1:1/mcp" }, "b": { "command": "none" } } }' \
        >$XDG_CONFIG_HOME/mcp.json
      echo '{ "sources": { "far": { "mcp": "http://127.0.0.1:1/mcp" }, "near": { "mcp": "sh -c true" },
        "all": { "mcp-config": "'$XDG_CONFIG_HOME'/mcp.json" } } }' >$XDG_CONFIG_HOME/operations/config.json
      ]] .. script:gsub("store.lua", "$XDG_CONFIG_HOME/store.lua"))
  end

  it("removes token and registration of a remote MCP source, and says so", function()
    local result = run("lua store.lua keep; operations logout far; lua store.lua; operations logout far; echo $?")
    assert.equal("operations: logged out of far: removed the token and the registration\n"
      .. "operations: logged out of far: there was no login\n", result.err)
    assert.equal("token\tregistration\nno token\tno registration\n0\n", result.out)
  end)

  it("removes those of the servers in a file", function()
    local result = run("lua store.lua keep; operations logout all; lua store.lua")
    assert.equal("operations: logged out of all: removed the token and the registration\n", result.err)
    assert.equal("token\tregistration\nno token\tno registration\n", result.out)
  end)

  it("is not for a program of this machine, which has no login", function()
    local result = run("operations logout near; echo $?")
    assert.equal("operations: logout: near is a source of kind mcp, which has no login\n", result.err)
    assert.equal("2\n", result.out)
  end)

  it("is a part of the removal of a source", function()
    local result = run("lua store.lua keep; operations remove far; lua store.lua")
    assert.equal("operations: removed the token and the registration of far\n", result.err)
    assert.equal("token\tregistration\nno token\tno registration\n", result.out)
  end)
end)
