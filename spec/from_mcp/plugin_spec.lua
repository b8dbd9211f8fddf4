local inside = require("spec.support.inside")

describe("the example plugin for Neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("lists tools and calls one, and never holds the editor up", function()
    local result = inside.nvim("spec/support/neovim_mcp.lua", nil, "-c 'qa!'")
    assert.same({ out = "went on\nspec.echo  Says it again\nwent on\ndone ticked\n", code = 0 }, result)
  end)
end)
