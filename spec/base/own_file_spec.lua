local own_file = require("operations.base.own_file")

describe("a file of the library", function()
  it("is found where package.path finds modules", function()
    assert.matches("<html", own_file.read("operations/server/page/index.html"), 1, true)
  end)

  it("is nil where it is not installed, or a directory", function()
    assert.is_nil(own_file.read("operations/nowhere.txt"))
    assert.is_nil(own_file.read("operations/server"))
  end)
end)
