local target = require("operations.server.target")

describe("a request's target", function()
  it("splits into path and query, in origin and absolute form", function()
    local function split(raw)
      return { target.split(raw) }
    end
    assert.same({ "/a/b", "x=1" }, split("/a/b?x=1"))
    assert.same({ "/a" }, split("/a"))
    assert.same({ "/a", "" }, split("/a?"))
    assert.same({ "/a", "b?c" }, split("/a?b?c"))
    assert.same({ "/a", "x=1" }, split("http://localhost:80/a?x=1"))
    assert.same({ "/", "x=1" }, split("http://localhost?x=1"))
    assert.same({ "/" }, split("http://localhost"))
    assert.same({ "*" }, split("*"))
  end)

  it("decodes segments once and collapses nothing", function()
    assert.same({ "a", "b" }, target.segments("/a/b"))
    assert.same({ "a/b", "%41" }, target.segments("/a%2Fb/%2541"))
    assert.same({ "a", "", "b", "" }, target.segments("/a//b/"))
    assert.same({ "a", "..", "." }, target.segments("/a/../."))
    assert.same({ "ü" }, target.segments("/%C3%BC"))
  end)

  it("refuses escapes that are malformed, and what is not UTF-8", function()
    for _, text in ipairs({ "%", "%4", "%zz", "%4g", "a%", "%C3", "%FF", "%ED%A0%80", "\255" }) do
      assert.is_nil(target.decode(text), text)
      assert.is_nil(target.segments("/" .. text), text)
      local next_pair, state = target.pairs("a=1&b=" .. text)
      assert.equal("a", (next_pair(state)))
      assert.equal("b=" .. text, select(3, next_pair(state)))
    end
  end)

  it("reads a query as forms write it", function()
    local function all(query)
      local list = {}
      for name, value in target.pairs(query) do
        list[#list + 1] = { name, value }
      end
      return list
    end
    assert.same({ { "a", "1" }, { "a", "2" }, { "b c", "d&e" }, { "f", "" }, { "g", "" } },
      all("a=1&&a=2&b+c=d%26e&f=&g"))
    assert.same({ { "a", "b=c" } }, all("a=b=c"))
    assert.same({ { "", "x" }, { "a", "1" } }, all("=x&a=1&"))
    assert.same({}, all(nil))
    assert.same({}, all(""))
    assert.same({}, all("&&"))
  end)
end)
