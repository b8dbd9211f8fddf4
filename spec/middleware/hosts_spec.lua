local inside = require("spec.support.inside")

local arguments = "BUSTED_ARGS='-o TAP spec/middleware/inside.lua'"

local function passes(result)
  local tap = inside.tap(result.out)
  assert.equal("", tap.failures)
  assert.equal(0, result.code)
  assert.equal(tap.planned, tap.passed)
  assert.is_true(tap.passed > 90)
end

for name, program in pairs({ Neovim = "nvim", OpenResty = "nginx" }) do
  describe("middleware in " .. name, function()
    local missing = inside.missing(program)
    if missing then
      pending(missing)
      return
    end

    it("fulfils its contract", function()
      passes(inside[program]("spec/support/run_busted.lua", arguments))
    end)
  end)
end
