local inside = require("spec.support.inside")

describe(":Operations", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  local function passes(file, at_least)
    local result = inside.nvim("spec/support/run_busted.lua", ("BUSTED_ARGS='-o TAP %s'"):format(file))
    local tap = inside.tap(result.out)
    -- What the editor shows by `vim.notify` comes in between.
    assert.equal("", (tap.failures:match("not ok.*") or ""))
    assert.equal(0, result.code)
    assert.is_true(tap.passed >= at_least, tap.passed)
  end

  it("lists, describes, calls and watches, and shows what is wrong", function()
    passes("spec/nvim/inside/command.lua", 14)
  end)

  it("is not hurt by servers and files that are broken", function()
    passes("spec/nvim/inside/broken.lua", 5)
  end)

  it("asks the user what is missing, and for servers", function()
    passes("spec/nvim/inside/form.lua", 4)
  end)
end)
