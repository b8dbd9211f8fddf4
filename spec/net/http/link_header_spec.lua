local link_header = require("operations.net.http.link_header")

describe("a Link header field", function()
  for text, target in pairs({
    ['<https://x/y?p=2>; rel="next"'] = "https://x/y?p=2",
    ["<a>;rel=next"] = "a",
    ['<a>; rel="prev", <b>; rel="next"'] = "b",
    ['<a>; rel="prev"  ,  ,<b,c;d>  ;  rel = "first NEXT"'] = "b,c;d",
    ['<a>; title="x; rel=\\"next\\", <z>; "; rel=prev, <b>; rel=next'] = "b",
    ["<a>; flag; REL=Next"] = "a",
    ['<a>; rel="prev"; rel="next", <b>; rel="next"'] = "b",
    ['<a>; rel="next"; anchor="/other", <b>; rel="next"'] = "b",
    ["<>; rel=next"] = "",
    ["<a>;; rel=next;"] = "a",
  }) do
    it("has this one for the next page: " .. text, function()
      assert.equal(target, link_header.target(text, "next"))
    end)
  end

  for _, text in ipairs({ "", "a; rel=next", "<a", '<a>; rel="next', "<a>; title=next", '<a>; rel="nextish"',
    "<a>; rel=prev <b>; rel=next", '<a>; rel="prev\\' }) do
    it("has none: " .. text, function()
      assert.is_nil((link_header.target(text, "next")))
    end)
  end

  it("is read in one go, however long it is", function()
    local text = ('<a>; rel="x"; title="' .. ("\\\\"):rep(1000) .. '",'):rep(500) .. "<b>; rel=next"
    assert.equal("b", link_header.target(text, "next"))
    assert.equal(501, #link_header.parse(text))
  end)
end)
