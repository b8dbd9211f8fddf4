local inside = require("spec.support.inside")

local files = "spec/sandbox/sandbox_spec.lua spec/sandbox/escape_spec.lua spec/sandbox/exhaustion_spec.lua"

describe("the sandbox", function()
  for name, program in pairs({ Neovim = "nvim", OpenResty = "nginx" }) do
    local missing = inside.missing(program)
    if missing then
      pending(missing)
    else
      it(("keeps programs in when %s runs them"):format(name), function()
        local result = inside[program]("spec/support/run_busted.lua",
          ("BUSTED_ARGS='-o TAP --pattern=. %s'"):format(files))
        local tap = inside.tap(result.out)
        assert.equal("", tap.failures, result.log)
        assert.equal(0, result.code, result.log)
        assert.equal(tap.planned, tap.passed)
        assert.is_true(tap.passed > 90)
      end)
    end
  end
end)
