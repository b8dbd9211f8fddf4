local template = require("operations.mcp.server.template")

local function match(text, uri)
  return assert(template.compile(text)):match(uri)
end

describe("a URI template", function()
  it("has variables, in order", function()
    assert.same({ "id", "path", "page", "size.x" }, template.compile("n://{id}/{+path}{?page,size.x}").variables)
    assert.same({}, template.compile("n://a").variables)
  end)

  it("matches parts between slashes", function()
    assert.same({ id = "7" }, match("n://{id}/x", "n://7/x"))
    for _, uri in ipairs({ "n:///x", "n://7/y", "n://7/8/x", "n://7?a/x", "n://7#a/x", "xn://7/x", "n://7/xx" }) do
      assert.is_nil(match("n://{id}/x", uri))
    end
  end)

  it("matches anything where it says so, and that is not nothing", function()
    assert.same({ path = "a/b?c#d" }, match("f:///{+path}", "f:///a/b?c#d"))
    assert.is_nil(match("f:///{+path}", "f:///"))
    assert.same({ a = "1", path = "2/3" }, match("f://{a}/{+path}", "f://1/2/3"))
  end)

  it("takes its other characters as they are", function()
    assert.same({ x = "1" }, match("a.b-c+(d)[e]*^$%{x}", "a.b-c+(d)[e]*^$%1"))
    assert.is_nil(match("a.b{x}", "acb1"))
    assert.same({}, match("n://a", "n://a"))
    assert.is_nil(match("n://a", "n://ab"))
    assert.same({ x = "1" }, match("{x}?y", "1?y"))
  end)

  it("decodes its variables, which are UTF-8", function()
    assert.same({ x = "a b/\195\188" }, match("n://{x}", "n://a%20b%2F%c3%bc"))
    assert.is_nil(match("n://{x}", "n://%ff"))
  end)

  it("may have a query: some of its variables, in any order, each once", function()
    local text = "n://{x}{?a,b}"
    assert.same({ x = "1" }, match(text, "n://1"))
    assert.same({ x = "1" }, match(text, "n://1?"))
    assert.same({ x = "1", a = "2" }, match(text, "n://1?a=2"))
    assert.same({ x = "1", a = "2 3", b = "" }, match(text, "n://1?b&a=2+3"))
    assert.same({ x = "1", a = "2?=3" }, match(text, "n://1?a=2?=3"))
    assert.same({ x = "1", a = "2" }, match(text, "n://1?%61=2"))
    for _, uri in ipairs({ "n://1?c=2", "n://1?a=1&a=2", "n://1?a=%ff", "n://1/2?a=1" }) do
      assert.is_nil(match(text, uri))
    end
    assert.same({ a = "1" }, match("{?a}", "?a=1"))
  end)

  it("is refused where an expression or a brace is wrong", function()
    for _, expression in ipairs({ "", "a,b", "+a,b", "#a", "a b", "a*", "?", "?a b", "/a" }) do
      local compiled, problem = template.compile("n://{" .. expression .. "}")
      assert.is_nil(compiled)
      assert.equal(('"n://{%s}": an expression such as {id}, {+path} or, at the end, {?page,size} expected, got {%s}')
        :format(expression, expression), problem)
    end
    assert.is_nil((template.compile("n://{?a}/b")))
    for _, text in ipairs({ "n://{a", "n://a}", "n://{a}}", "{", "a{b{c}" }) do
      local compiled, problem = template.compile(text)
      assert.is_nil(compiled)
      assert.equal(("%q: unbalanced braces"):format(text), problem)
    end
  end)

  it("has 30 expressions at most", function()
    assert.is_not_nil((template.compile(("{a}/"):rep(30))))
    local longer = ("{a}/"):rep(31)
    assert.same({ nil, ("%q has too many expressions"):format(longer) }, { template.compile(longer) })
    assert.is_not_nil((template.compile(("{a}/"):rep(30) .. "{?b}")))
  end)
end)
