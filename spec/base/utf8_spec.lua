local utf8 = require("operations.base.utf8")

describe("the beginning of a text", function()
  it("is all of it where there is room", function()
    assert.equal("\195\169", utf8.cut("\195\169", 2))
    assert.equal("", utf8.cut("", 0))
  end)

  it("has no part of a character", function()
    for most = 0, 8 do
      local cut = utf8.cut("a\195\169\226\130\172\240\159\142\178", most)
      assert.is_true(#cut <= most)
      assert.is_truthy(require("operations.base.json").encode(cut))
    end
  end)
end)
