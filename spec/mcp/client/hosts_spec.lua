local inside = require("spec.support.inside")

-- What must hold on every host: these specs, run inside of it.
local files = "spec/mcp/client/stdio_spec.lua spec/mcp/client/http_spec.lua spec/mcp/client/client_spec.lua"

for name, program in pairs({ Neovim = "nvim", nginx = "nginx" }) do
  describe("MCP inside " .. name, function()
    local missing = inside.missing(program)
    if missing then
      pending(missing)
      return
    end

    it("works as in plain Lua", function()
      local result = inside[program]("spec/support/run_busted.lua", ("BUSTED_ARGS='-o TAP %s'"):format(files))
      local tap = inside.tap(result.out)
      assert.equal("", tap.failures)
      assert.equal(0, result.code)
      assert.equal(tap.planned, tap.passed)
      assert.is_true(tap.passed > 60)
    end)
  end)
end
