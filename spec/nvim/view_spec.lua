local inside = require("spec.support.inside")

describe("a window of lines", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("does what spec/nvim/inside/view.lua inside of Neovim says", function()
    inside.passes("spec/nvim/inside/view.lua", 10)
  end)
end)
