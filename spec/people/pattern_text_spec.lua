local operations = require("operations")
local pattern_text = require("operations.people.pattern_text")

describe("a text for a pattern", function()
  it("matches it", function()
    for _, pattern in ipairs({ "^[A-Z]{3}-\\d{4}$", "^ssh-(rsa|dss) ", "^v?\\d+(\\.\\d+)*$", "[^a-z]+",
      "^\\w+@\\w+\\.test$",
      "^(?:\\p{L}|_)+$", "^#[0-9a-f]{6}$", "^\\u0041\\x42$", "^.{2,}$", "\\bword\\b", "^a|b$", "" }) do
      local schema = assert(operations.schema.compile({ type = "string", pattern = pattern }))
      assert.is_true(schema:check(pattern_text.of(pattern, 1)), pattern)
    end
  end)

  it("has at least the wanted length where the pattern may repeat", function()
    assert.equal(8, #pattern_text.of("^[a-z]+$", 8))
    assert.equal(8, #pattern_text.of("^ab*$", 8))
    assert.equal(2, #pattern_text.of("^ab?$", 8))
  end)
end)
