local inside = require("spec.support.inside")

describe("the plugin's log", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("does what spec/nvim/inside/log.lua inside of Neovim says", function()
    inside.passes("spec/nvim/inside/log.lua", 5)
  end)
end)
