local prose = require("operations.offer.prose")

describe("a description", function()
  it("has no marks of HTML and Markdown", function()
    assert.equal("Make it bold, see the page & code.\n\nTitle\nNext",
      prose.unmarked("<p>Make it **bold**, see [the page](http://a.example/x) &amp; `code`.</p># Title\nNext"))
    assert.equal("a < b and snake_case_name", prose.unmarked("a &lt; b and snake_case_name"))
  end)

  it("is wrapped, the items of lists apart", function()
    assert.equal("  one two\n  three\n\n  - four\n  - five\n",
      prose.wrap("one two three\n\n- four\n- five", 11, "  "))
    assert.equal("unbreakable\nx\n", prose.wrap("unbreakable x", 5))
  end)
end)
