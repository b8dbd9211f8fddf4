-- Requests and subscriptions inside Neovim and nginx, beside plain Lua.
local inside = require("spec.support.inside")

local specs = "spec/graphql/exchange_spec.lua spec/graphql/subscription_spec.lua"

describe("a GraphQL service", function()
  for host, name in pairs({ nvim = "Neovim", nginx = "nginx" }) do
    local missing = inside.missing(host)
    it("is called and subscribed to in " .. name, function()
      if missing then
        pending(missing)
        return
      end
      -- One spec starts an nginx of its own.
      local result = inside[host]("spec/support/run_busted.lua",
        ("BUSTED_ARGS='-o TAP --pattern=. --filter-out=no.WebSocket %s'"):format(specs))
      local tap = inside.tap(result.out)
      assert.equal("", tap.failures)
      assert.equal(0, result.code, result.log)
      assert.equal(tap.planned, tap.passed)
      assert.is_true(tap.passed >= 30)
    end)
  end
end)
