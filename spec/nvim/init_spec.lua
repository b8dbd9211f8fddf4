local inside = require("spec.support.inside")

describe("operations.nvim", function()
  it("says where it works", function()
    assert.has_error(function()
      require("operations.nvim").to_vim({})
    end, "operations.nvim.to_vim works inside of Neovim only, on its main thread")
  end)

  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("gives values that Neovim's own functions take", function()
    local result = inside.nvim("spec/support/run_busted.lua", "BUSTED_ARGS='-o TAP spec/nvim/inside/to_vim.lua'")
    local tap = inside.tap(result.out)
    assert.equal("", tap.failures)
    assert.equal(0, result.code)
    assert.equal(tap.planned, tap.passed)
    assert.is_true(tap.passed >= 9)
  end)

  it("takes sources of plugins, and gives their authors its forms, texts and windows", function()
    inside.passes("spec/nvim/inside/author.lua", 9)
  end)
end)
