local html = require("spec.doc.pictures.html")

describe("a screen as HTML", function()
  for screen, expected in pairs({
    ["a <b> & c"] = "a &lt;b&gt; &amp; c",
    ["\27[31mred\27[0m plain"] = '<span style="color:#ff7b72">red</span> plain',
    ["\27[1;94mx\27[22my\27[39mz"] = '<span style="color:#a5d6ff;font-weight:bold">x</span>'
      .. '<span style="color:#a5d6ff">y</span>z',
    ["\27[38;5;196mx\27[m."] = '<span style="color:#ff0000">x</span>.',
    ["\27[48;5;240mx"] = '<span style="background:#585858">x</span>',
    ["\27[38;2;1;2;3mx"] = '<span style="color:#010203">x</span>',
    ["\27[7mx\27[27my"] = '<span style="color:#1c2128;background:#d7dde4">x</span>y',
    ["\27[1ma\nb"] = '<span style="font-weight:bold">a</span>\n<span style="font-weight:bold">b</span>',
    ["\27[4;3mx"] = '<span style="font-style:italic;text-decoration:underline">x</span>',
  }) do
    it(("has the colours of %q"):format(screen), function()
      assert.equal(expected, html.text(screen))
    end)
  end

  it("is a page of its own", function()
    assert.matches('<pre id="screen">x</pre>', html.page("x"), 1, true)
  end)
end)
