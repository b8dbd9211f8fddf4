local inside = require("spec.support.inside")

describe("a call in Neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("does what spec/nvim/inside/call.lua inside of Neovim says", function()
    inside.passes("spec/nvim/inside/call.lua", 11)
  end)
end)
