local inside = require("spec.support.inside")

describe("examples/neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("has a plugin with operations of its own", function()
    inside.passes("examples/neovim/spec/notes_spec.lua", 3)
  end)

  it("has a plugin that gives the operations to other assistants", function()
    inside.passes("examples/neovim/spec/beside_spec.lua", 4)
  end)
end)
