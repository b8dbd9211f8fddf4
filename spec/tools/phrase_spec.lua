local phrase = require("operations.tools.phrase")

describe("what a subset cannot say", function()
  it("follows the description, in brackets", function()
    assert.equal("A name (at least 1 character; at most 3 characters)",
      phrase.of({ description = "A name", minLength = 1, maxLength = 3 }, {}))
    assert.equal("(matches the pattern ^a%d)", phrase.of({ pattern = "^a%d" }, {}))
  end)

  it("leaves out what the subset says itself", function()
    assert.equal("A name", phrase.of({ description = "A name", minLength = 1 }, { minLength = true }))
    assert.is_nil(phrase.of({ type = "string" }, {}))
  end)

  it("tells of which schema a JSON text is", function()
    assert.equal('Any (JSON text of a value of this JSON Schema: {"type":"object"})',
      phrase.of_text({ description = "Any", type = "object" }))
    assert.equal("(JSON text of any value)", phrase.of_text(true))
  end)
end)
