local command = require("spec.support.command")

describe("operations login", function()
  it("asks for a client, and for a source that has users", function()
    local result = command.run([[operations add api examples/tasks.openapi.json 2>/dev/null
      operations login api; operations login apu; operations login; operations logout api]])
    assert.equal('operations: login: api needs the id that its API gave to your client: --client-id ID\n'
      .. 'operations: login: no source "apu" (did you mean api?); operations sources lists them\n'
      .. "operations: login: expected the NAME of a source, got 0 words\n"
      .. "operations: logged out of api\n", result.err)
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
