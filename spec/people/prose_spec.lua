local prose = require("operations.people.prose")

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

describe("the marks of a description", function()
  for marked, plain in pairs({ ["a<br>b<br/>c<br />d"] = "a\nb\nc\nd", ["<p>x</p><p>y</p>"] = "x\n\ny",
    ["[text](url) ![img](u)"] = "text img", ["a<!-- c -->b"] = "ab",
    ["**b** __u__ *i* a*b*c 2 * 3"] = "b u i abc 2 * 3",
    ["# Title\n## Sub\nbody"] = "Title\nSub\nbody", ["> [!NOTE]\n> quoted\n>more"] = "quoted\nmore",
    ["`code` ``x``"] = "code x", ["&lt;&gt;&amp;&quot;&apos;&nbsp;&other;"] = "<>&\"' &other;",
    ["  x \n"] = "x", ["a_b_c __a__b"] = "a_b_c ab" }) do
    it("are left out of " .. marked:gsub("\n", " "), function()
      assert.equal(plain, prose.unmarked(marked))
    end)
  end
end)

describe("wrapping", function()
  it("fills lines up to the width, the indent counted", function()
    assert.equal("a b\nc d\n", prose.wrap("a b c d", 3))
    assert.equal("a b\nc d\n", prose.wrap("a b c d", 4))
    assert.equal("a b c\nd\n", prose.wrap("a b c d", 5))
    assert.equal("  a b\n  c d\n", prose.wrap("a b c d", 5, "  "))
    assert.equal("東京\n東京\n", prose.wrap("東京 東京", 8))
    assert.equal("東京 東京\n", prose.wrap("東京 東京", 9))
  end)

  it("joins the lines of a paragraph, and keeps one blank line between two", function()
    assert.equal("one two\n\nthree\n", prose.wrap("one\ntwo\n\n\nthree", 80))
    assert.equal("\na\n", prose.wrap("\n\na", 10))
    assert.equal("\n", prose.wrap("", 10))
  end)

  it("begins a line for each item of a list", function()
    assert.equal("x\n- a b\n* c\n1. d\n2) e f\n", prose.wrap("x\n- a\n  b\n* c\n1. d\n2) e\nf", 80))
    assert.equal("x -y 1.z\n", prose.wrap("x\n-y\n1.z", 80))
  end)
end)

describe("a help text", function()
  it("is as it is where it fits", function()
    assert.equal("Usage: x\n\n  -a  one two\n", prose.fitted("Usage: x\n\n  -a  one two\n", 20))
  end)

  it("continues below its last column where the terminal is narrower", function()
    assert.equal("  -a, --all  every\n             page\n", prose.fitted("  -a, --all  every page\n", 22))
    assert.equal("  0  a   1  the\n            handler\n", prose.fitted("  0  a   1  the handler\n", 20))
    assert.equal("the rest of\nit\n", prose.fitted("the rest of it\n", 12))
  end)

  it("continues at the left where that column would be too narrow", function()
    assert.equal("  --document-header one\n  two three\n", prose.fitted("  --document-header  one two three\n", 24))
  end)
end)
