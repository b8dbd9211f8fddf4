local idn = require("operations.base.idn")

describe("an international host name", function()
  -- RFC 3492, section 7.1, and registered names.
  for host, ascii in pairs({
    ["bücher.example"] = "xn--bcher-kva.example", ["münchen.de"] = "xn--mnchen-3ya.de",
    ["straße.de"] = "xn--strae-oqa.de",
    ["例え.テスト"] = "xn--r8jz45g.xn--zckzah", ["россия.рф"] = "xn--h1alffa9f.xn--p1ai",
    ["他们为什么不说中文"] = "xn--ihqwcrb4cv8a8dqg056pqjye", ["ليهمابتكلموشعربي؟"] = "xn--egbpdaj6bu4bxfgehfvwxn",
    ["pročprostěnemluvíčesky"] = "xn--proprostnemluvesky-uyb24dma41a",
    ["安室奈美恵-with-super-monkeys"] = "xn---with-super-monkeys-pc58ag80a8qai00g7n9n", ["☃.net"] = "xn--n3h.net",
    ["😀.example"] = "xn--e28h.example",
  }) do
    it("is in Punycode for DNS: " .. host, function()
      assert.equal(ascii, idn.ascii(host))
    end)
  end

  it("is in small letters, and may have other dots", function()
    assert.equal("xn--bcher-kva.xn--p1ai", idn.ascii("BÜCHER。РФ"))
    assert.equal("a.xn--4ca.", idn.ascii("a．ä."))
  end)

  it("in ASCII stays unchanged", function()
    for _, host in ipairs({ "a.test", "", "A.Test", "xn--bcher-kva.example", "[::1]", "127.0.0.1" }) do
      assert.equal(host, idn.ascii(host))
    end
  end)

  it("is nil for a name that is not UTF-8, or too long for DNS", function()
    for _, host in ipairs({ "\255.test", "\195", "\237\160\128", "\192\128", ("ä"):rep(70), ("ä"):rep(1000) }) do
      assert.is_nil(idn.ascii(host))
    end
  end)
end)
