local request_head = require("operations.server.request_head")

describe("a request's target", function()
  it("splits into path and query, in origin and absolute form", function()
    local function split(raw)
      return { request_head.split(raw) }
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

  it("is named by a template whose parameters are whole segments", function()
    assert.is_true(request_head.is_template("/a/{id}/b%20c"))
    assert.is_false(request_head.is_template("/a/{id}.json"))
    assert.is_false(request_head.is_template(nil))
  end)

  it("is refused with a dot segment, however that is written", function()
    for _, path in ipairs({ "/.", "/..", "/a/../b", "/a/%2e", "/a/.%2E/b", "/a/..%2Fb", "/a/b%2f..%2fc", "/%2e%2e%2f",
      "/a/%2f..%2f" }) do
      assert.equal("the path: a dot segment", request_head.path_flaw(path), path)
    end
    for _, path in ipairs({ "/", "*", "/a.b", "/...", "/..a", "/a..", "/.well-known/x", "/a%2e%2e", "/%252e%252e",
      "/a%2fb", "/a/.%2fb" }) do
      assert.is_nil(request_head.path_flaw(path), path)
    end
  end)

  it("decodes segments once and collapses nothing", function()
    assert.same({ "a", "b" }, request_head.segments("/a/b"))
    assert.same({ "a/b", "%41" }, request_head.segments("/a%2Fb/%2541"))
    assert.same({ "a", "", "b", "" }, request_head.segments("/a//b/"))
    assert.same({ "a", "..", "." }, request_head.segments("/a/../."))
    assert.same({ "ü" }, request_head.segments("/%C3%BC"))
  end)

  it("refuses malformed escapes and bytes other than UTF-8", function()
    for _, text in ipairs({ "%", "%4", "%zz", "%4g", "a%", "%C3", "%FF", "%ED%A0%80", "\255" }) do
      assert.is_nil(request_head.decode(text), text)
      assert.is_nil(request_head.segments("/" .. text), text)
      assert.same({ nil, "b=" .. text }, { request_head.query("a=1&b=" .. text .. "&c=2") })
    end
  end)

  it("reads a query as forms write it", function()
    assert.same({ "a", "1", "a", "2", "b c", "d&e", "f", "", "g", "" }, request_head.query("a=1&&a=2&b+c=d%26e&f=&g"))
    assert.same({ "a", "b=c" }, request_head.query("a=b=c"))
    assert.same({ "", "x", "a", "1" }, request_head.query("=x&a=1&"))
    assert.same({ ("ä"):rep(2000), ("x"):rep(600) }, request_head.query(("%C3%A4"):rep(2000) .. "=" .. ("x"):rep(600)))
    assert.same({}, request_head.query(""))
    assert.same({}, request_head.query("&&"))
  end)

  it("decodes each pair of hexadecimal digits, and no other pair", function()
    for high = 0, 255 do
      local digits = ("%02x"):format(high)
      for _, text in ipairs({ digits, digits:upper() }) do
        local plain = high < 128 and string.char(high) or nil
        assert.equal(plain, request_head.decode("%" .. text), text)
        assert.equal(plain and "a" .. plain .. "b", request_head.decode("a%" .. text .. "b"), text)
      end
      local char = string.char(high)
      if not char:find("%x") then
        assert.is_nil(request_head.decode("%" .. char .. "0"))
        assert.is_nil(request_head.decode("%0" .. char))
      end
    end
    assert.equal("+", request_head.decode("+"))
    assert.equal("\0a", request_head.decode("%00a"))
  end)

  it("is decoded whole, however long it is", function()
    for length = 0, 1100 do
      local text = ("x"):rep(length)
      assert.equal(text, request_head.decode(text))
      assert.equal(text .. "é", request_head.decode(text .. "%C3%A9"))
      assert.is_nil(request_head.decode(text .. "%C3"))
      assert.same({ "a" .. text, "", "b", text }, request_head.query("&a" .. text .. "&b=" .. text))
    end
  end)
end)
