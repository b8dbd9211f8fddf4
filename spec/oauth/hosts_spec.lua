local inside = require("spec.support.inside")

-- Single flights, logins that outlive their request, timers, keys that are fetched: what hosts do differently.
local specs = "spec/oauth/token_spec.lua spec/oauth/authorizer_spec.lua spec/oauth/mcp_spec.lua "
  .. "spec/oauth/loopback_spec.lua spec/oauth/resource_server_spec.lua spec/oauth/key_set_spec.lua "
  .. "spec/oauth/introspection_spec.lua spec/oauth/static_spec.lua"

describe("OAuth", function()
  for name, run in pairs({ nvim = inside.nvim, nginx = inside.nginx }) do
    it("is the same in " .. name, function()
      local missing = inside.missing(name)
      if missing then
        pending(missing)
        return
      end
      local result = run("spec/support/run_busted.lua", ("BUSTED_ARGS='-o TAP %s'"):format(specs))
      local tap = inside.tap(result.out)
      assert.equal("", tap.failures)
      assert.is_true(tap.passed > 140)
      assert.equal(0, result.code)
    end)
  end
end)
