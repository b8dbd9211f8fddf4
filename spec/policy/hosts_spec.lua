local inside = require("spec.support.inside")

for name, program in pairs({ Neovim = "nvim", OpenResty = "nginx" }) do
  describe("policies in " .. name, function()
    local missing = inside.missing(program)
    if missing then
      pending(missing)
      return
    end

    it("are passed by in no way", function()
      local result = inside[program]("spec/support/run_busted.lua", "BUSTED_ARGS='-o TAP spec/policy/law_spec.lua'")
      local tap = inside.tap(result.out)
      assert.equal("", tap.failures)
      assert.equal(0, result.code)
      assert.equal(tap.planned, tap.passed)
      assert.is_true(tap.passed > 30)
    end)
  end)
end
