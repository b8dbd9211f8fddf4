local arguments = require("operations.cli.arguments")
local command = require("spec.support.command")
local redis = require("spec.support.redis")

describe("the identity of the command line", function()
  it("has the id of --identity and the scopes of --scopes", function()
    assert.is_nil(arguments.identity({}))
    assert.same({ id = "ada", scopes = { "a" } }, arguments.identity({ identity = '{"id":"ada","scopes":["a"]}' }))
    assert.same({ id = "command line", scopes = { "a", "b" } }, arguments.identity({ scopes = "a, b" }))
    assert.same({ id = "ada", scopes = { "b" } }, arguments.identity({ identity = '{"id":"ada"}', scopes = "b" }))
    for _, text in ipairs({ "{", "[]", "1" }) do
      local none, message = arguments.identity({ identity = text })
      assert.is_nil(none)
      assert.matches("--identity: ", message, 1, true)
    end
  end)

  it("sees what others serve to it, and calls that", function()
    local server = redis.start()
    local result = command.run(("url=%s\n"):format(server.url) .. [[
      echo '
        local operations = require("operations")
        local registry = operations.registry()
        registry:register({ namespace = "a", name = "guarded", type = "query",
          accessControl = { requiredScopes = { "a:read" } },
          handler = function(_, context) return context.identity.id end })
        operations.call_handler(registry, operations.call_map(assert(
          operations.transports.redis(arg[1], { vouches = true }))))
        operations.sleep(60)' | lua - $url & serving=$!
      until operations list --redis $url --scopes a:read 2>/dev/null | grep -q guarded; do sleep 0.05; done
      operations list --redis $url --identity '{"id":"ada","scopes":["a:read"]}'
      operations describe a.guarded --redis $url --scopes a:read | head -1
      operations call a.guarded --redis $url --identity '{"id":"ada","scopes":["a:read"]}'
      operations list --redis $url --scopes other
      operations call a.guarded --redis $url 2>/dev/null; echo "code $?"
      operations list --redis $url --identity [ 2>&1 >/dev/null; echo "code $?"
      kill $serving]])
    server.stop()
    assert.equal("", result.err)
    assert.matches("^a%.guarded  query\na%.guarded  query  1%.0%.0\n\"ada\"\ncode 3\n", result.out)
    assert.matches("%-%-identity: [^\n]*\n.*code 2\n$", result.out)
  end)
end)
