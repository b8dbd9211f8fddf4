local files = require("operations.base.files")

describe("the text of a file", function()
  it("is read whole; a failure names the path", function()
    local path = os.tmpname()
    local handle = assert(io.open(path, "wb"))
    handle:write("a\0b\r\n")
    handle:close()
    assert.equal("a\0b\r\n", files.read(path))
    os.remove(path)
    for _, other in ipairs({ path, "/tmp" }) do
      local text, message = files.read(other)
      assert.is_nil(text)
      assert.equal(other .. ": ", message:sub(1, #other + 2))
    end
  end)

  it("of the library is found where package.path finds modules", function()
    assert.matches("<html", files.own("operations/server/page/index.html"), 1, true)
    assert.is_nil(files.own("operations/nowhere.txt"))
    assert.is_nil(files.own("operations/server"))
  end)
end)
