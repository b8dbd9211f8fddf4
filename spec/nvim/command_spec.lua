local inside = require("spec.support.inside")

describe(":Operations", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("lists, describes, calls and watches, and shows what is wrong", function()
    inside.passes("spec/nvim/inside/command.lua", 16)
  end)

  it("starts and lists jobs", function()
    inside.passes("spec/nvim/inside/jobs.lua", 4)
  end)

  it("keeps working with servers and files that are broken", function()
    inside.passes("spec/nvim/inside/broken.lua", 7)
  end)

  it("asks before it uses files of the current directory", function()
    inside.passes("spec/nvim/inside/trust.lua", 5)
  end)
end)
