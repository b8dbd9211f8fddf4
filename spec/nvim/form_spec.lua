local inside = require("spec.support.inside")

describe("questions to the user", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("do what spec/nvim/inside/form.lua inside of Neovim says", function()
    inside.passes("spec/nvim/inside/form.lua", 6)
  end)
end)
