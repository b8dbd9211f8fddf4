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
      script[i] = ([[printf '%%s' '%s' >d%d.json; operations add s%d ./d%d.json --client-id me 2>/dev/null
        operations login s%d; echo $?]]):format(document:format(case[1], case[2]), i, i, i, i)
      expected[i] = ("operations: EXECUTION_ERROR: s%d: the %s of its document is refused: it is %s\n"):format(i,
        case[3], case[4])
    end
    local result = command.run(table.concat(script, "\n"))
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
